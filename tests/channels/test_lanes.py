"""How far the news were heard is kept when all before it is taken in, and never earlier."""

import asyncio
from collections.abc import Awaitable
from functools import partial

import pytest

from angelia.channels.incoming import Envelope, Said, Sender
from angelia.channels.lanes import Lanes
from angelia.core.entry import Address
from angelia.testing.changes import Changes

pytestmark = pytest.mark.anyio


class House:
    """Takes in what it was told to, and remembers how far it heard."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self.troubles: list[str] = []
        self.changes = Changes()
        self.doors = {key: asyncio.Event() for key in "abc"}
        self.lanes = Lanes(self._hear, self.troubles.append, 0.001)

    async def _hear(self, envelope: Envelope) -> str:
        await self.doors[envelope.key].wait()
        return ""

    async def _read(self, key: str) -> Envelope:
        return Envelope(Address("door", key), key, Sender("7"), Said(key))

    def put(self, key: str) -> asyncio.Future[str]:
        """Begin to hand something in, on a lane of its own."""
        return self.lanes.put(key, key, partial(self._read, key))

    async def keep(self, position: str) -> None:
        """Remember a position."""
        self.kept.append(position)
        self.changes.tell()


async def _settled(done: Awaitable[object]) -> None:
    """What is taken in by now has had every consequence that it will have."""
    await done
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_position_waits_for_all_that_came_before_it() -> None:
    house = House()
    first, second, third = map(house.put, "abc")
    house.lanes.after([first, second], partial(house.keep, "two"))
    house.lanes.after([third], partial(house.keep, "three"))
    house.doors["c"].set()
    await _settled(third)
    assert house.kept == [], "the third is taken in, and two before it are not"
    house.doors["a"].set()
    await _settled(first)
    assert house.kept == []
    house.doors["b"].set()
    await house.changes.when(lambda: house.kept == ["two", "three"])
    await house.lanes.close()


async def test_a_position_that_cannot_be_kept_is_told_and_holds_up_none_after_it() -> None:
    house = House()

    async def full() -> None:
        raise OSError("no space left")

    house.lanes.after([], full)
    house.lanes.after([], partial(house.keep, "later"))
    await house.changes.when(lambda: house.kept == ["later"])
    assert house.troubles == ["How far was heard cannot be kept: OSError: no space left."]
    await house.lanes.close()


async def test_a_house_that_closes_keeps_no_position_of_what_it_did_not_take_in() -> None:
    house = House()
    house.lanes.after([house.put("a")], partial(house.keep, "one"))
    await asyncio.sleep(0)
    await house.lanes.close()
    house.doors["a"].set()
    for _ in range(20):
        await asyncio.sleep(0)
    assert house.kept == []


async def test_a_fault_that_nobody_foresaw_leaves_its_trace_once(caplog: pytest.LogCaptureFixture) -> None:
    house, tries = House(), iter(["no", "no", "no", "no", "no"])

    async def read() -> Envelope | None:
        if word := next(tries, ""):
            raise KeyError(word)
        return None

    await house.lanes.put("a", "update 7", read)
    traces = [record.exc_info[1] for record in caplog.records if record.exc_info]
    assert [repr(trace) for trace in traces] == ["KeyError('no')"]
    await house.lanes.close()
