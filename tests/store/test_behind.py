"""What is taken behind comes whole, in order, and is over when its context is."""

import asyncio
import threading

import pytest

from angelia.store.media.write_behind import AHEAD, SMALL, WriteBehind

pytestmark = pytest.mark.anyio

SAFETY_NET = 60.0


@pytest.mark.parametrize("size", [0, 1, SMALL, SMALL + 1, 3 * AHEAD + 7])
@pytest.mark.parametrize("piece", [1000, SMALL * 3, AHEAD * 2])
async def test_all_is_taken_in_order(size: int, piece: int) -> None:
    content, taken = bytes(range(256)) * (size // 256 + 1), bytearray()
    async with WriteBehind(taken.extend) as behind:
        for begin in range(0, size, piece):
            await behind.write(content[begin : min(begin + piece, size)])
    assert taken == content[:size]


async def test_who_gives_faster_than_is_taken_waits() -> None:
    slow, taken = threading.Event(), list[int]()

    def take(chunk: bytes) -> None:
        assert slow.wait(SAFETY_NET)
        taken.append(len(chunk))

    async with WriteBehind(take) as behind:
        await behind.write(bytes(AHEAD))
        giving = asyncio.ensure_future(behind.write(bytes(AHEAD)))
        done, _ = await asyncio.wait([giving], timeout=0)
        assert not done, "more is gathered than there is room for"
        slow.set()
        await giving
    assert taken == [AHEAD, AHEAD]


async def test_what_cannot_be_taken_is_told_and_ends_it() -> None:
    taken = list[bytes]()

    def take(chunk: bytes) -> None:
        taken.append(chunk)
        raise OSError("no room")

    async def give() -> None:
        async with WriteBehind(take) as behind:
            while True:
                await behind.write(bytes(SMALL + 1))

    with pytest.raises(OSError, match="no room"):
        await give()
    assert len(taken) == 1, "it went on after that"


async def test_nothing_is_taken_any_more_when_a_cancelled_one_leaves() -> None:
    begun, slow, ended = asyncio.Event(), threading.Event(), list[bool]()
    loop = asyncio.get_running_loop()

    def take(chunk: bytes) -> None:
        loop.call_soon_threadsafe(begun.set)
        assert slow.wait(SAFETY_NET)
        ended.append(True)

    async def give() -> None:
        async with WriteBehind(take) as behind:
            await behind.write(bytes(SMALL + 1))
            await asyncio.get_running_loop().create_future()

    giving = asyncio.ensure_future(give())
    async with asyncio.timeout(SAFETY_NET):
        await begun.wait()
    giving.cancel()
    await asyncio.wait([giving], timeout=0)
    assert not giving.done(), "it left while it was still written"
    slow.set()
    with pytest.raises(asyncio.CancelledError):
        await giving
    assert ended == [True]
