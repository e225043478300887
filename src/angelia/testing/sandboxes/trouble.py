"""Claims about trouble: a target that is full or cannot be written, a sandbox that dies in the middle of a transfer.

A test of a sandbox arranges it, since nothing inside a sandbox could.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from angelia.sandboxes.port import AccessRefused, FileChanged, OutOfSpace, Sandbox, SandboxGone, Unreachable
from angelia.testing.claims import expect
from angelia.testing.sandboxes.acts import MB, Make, arrives, names_in, pieces, place, refused, sha256, shell

Kill = Callable[[], Awaitable[None]]
"""Ends the sandbox, or the way to it, at once; returns when it is dead."""
MakeMortal = Callable[[], AbstractAsyncContextManager[tuple[Sandbox, Kill]]]
"""Gives a fresh sandbox with an empty workspace, and what kills it."""

SECONDS = 120.0
"""A claim that takes longer hangs."""
_LARGE = 24 * MB


async def check_targets(make: Make) -> None:
    """`make` gives a workspace with a folder `full`, whose file system has less than 2 MB of space, and one called
    `read-only` that nobody can write, with a `file` in it that says `old`.

    Raises:
        CheckFailed, TimeoutError: the sandbox does not keep its promise.
    """
    async with asyncio.timeout(SECONDS), make() as sandbox:
        await place(sandbox, "full/old", b"old")
        for name in ("full/new", "full/old"):
            await refused(place(sandbox, name, bytes(3 * MB)), OutOfSpace)
            expect(await names_in(sandbox, "full") == {"old"}, f"left: {await names_in(sandbox, 'full')}")
        expect(await arrives(sandbox, "full/old") == b"old", "the old file did not stand")
        await place(sandbox, "full/new", b"the space was given back")
        for name in ("read-only/file", "read-only/other", "read-only/deep/file"):
            await refused(place(sandbox, name, b"new"), AccessRefused)
        expect(await names_in(sandbox, "read-only") == {"file"}, "something was left in a folder that is read-only")
        expect(await arrives(sandbox, "read-only/file") == b"old", "the old file did not stand")


async def check_deaths(make: MakeMortal) -> None:
    """A sandbox that dies while a file moves out or in is said to be gone, and no part passes for a whole.

    Raises:
        CheckFailed, TimeoutError: the sandbox does not keep its promise.
    """
    async with asyncio.timeout(SECONDS), make() as (sandbox, kill):
        await shell(sandbox, f"truncate -s {_LARGE} large")
        came = 0
        getting = sandbox.get("large", limit=_LARGE)
        came += len(await anext(getting))
        await kill()
        error = await refused(_rest(getting), SandboxGone, Unreachable, FileChanged)
        expect(came < _LARGE, f"all of it came, and then {error}")
    async with asyncio.timeout(SECONDS), make() as (sandbox, kill):
        data = bytes(_LARGE)
        putting = sandbox.put("large", _dying(data, kill), size=len(data), sha256=sha256(data))
        await refused(putting, SandboxGone, Unreachable)


async def _rest(chunks: AsyncIterator[bytes]) -> int:
    return sum([len(chunk) async for chunk in chunks])


async def _dying(data: bytes, kill: Kill) -> AsyncIterator[bytes]:
    """Bytes, with a death after two thirds of them."""
    early = len(data) * 2 // 3
    async for piece in pieces(data[:early], MB):
        yield piece
    await kill()
    async for piece in pieces(data[early:], MB):
        yield piece
