"""What the checks of sandboxes have in common: how they are made, run, and say what they found."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from msgspec import Struct

from angelia.sandboxes.port import Command, Exit, Sandbox, SandboxError
from angelia.testing.claims import CheckFailed, expect

MB = 1_000_000

Make = Callable[[], AbstractAsyncContextManager[Sandbox]]
"""Gives a fresh sandbox with an empty workspace, and takes it away again."""


class Sizes(Struct, frozen=True):
    """How much a check moves: bytes, and numbers of files, of commands at once, and of reads of what is swapped."""

    sparse: int = 64 * MB
    real: int = 8 * MB
    output: int = 64 * MB
    files: int = 500
    at_once: int = 20
    races: int = 200


FULL = Sizes(sparse=1 << 30, real=200 * MB, output=1000 * MB, files=10_000)
"""What this machine, a container, an instance of Apptainer and a machine over SSH meet in `make soak`; some seconds
when it is calm. A sandbox at Modal meets smaller ones.
"""


@dataclass(frozen=True, slots=True)
class SandboxCheck:
    """One claim about a sandbox. `run` raises `CheckFailed`, or `TimeoutError` when something hangs."""

    name: str
    claim: Callable[[Make, Sizes], Awaitable[None]]
    sizes: Sizes
    seconds: float = 300.0

    async def run(self, make: Make) -> None:
        """Put the claim to a test."""
        async with asyncio.timeout(self.seconds):
            await self.claim(make, self.sizes)


def script(line: str, *, cwd: str = "", stdin: bytes = b"", seconds: float = 0.0) -> Command:
    """A line for the shell."""
    return Command(shell=line, cwd=cwd, stdin=stdin, seconds=seconds)


async def said(sandbox: Sandbox, command: Command) -> tuple[bytes, Exit]:
    """Run a command: its whole output, and how it ended."""
    running = await sandbox.start(command)
    output = b"".join([chunk async for chunk in running.output()])
    return output, await running.wait()


async def shell(sandbox: Sandbox, line: str) -> str:
    """Run a line that must succeed; its output without the white space around it."""
    output, end = await said(sandbox, script(line))
    expect(end.status == 0, f"{line!r} should succeed, and ended with {end}: {output[-2000:]!r}")
    return output.decode(errors="surrogateescape").strip()


async def arrives(sandbox: Sandbox, path: str, *, limit: int = 1 << 40) -> bytes:
    """A file's bytes."""
    return b"".join([chunk async for chunk in sandbox.get(path, limit=limit)])


async def place(sandbox: Sandbox, path: str, data: bytes, *, mode: int = 0o644, modified: float | None = None) -> None:
    """Put bytes at a path."""
    await sandbox.put(path, pieces(data), size=len(data), sha256=sha256(data), mode=mode, modified=modified)


async def pieces(data: bytes, size: int = 100_000) -> AsyncIterator[bytes]:
    """Bytes as a stream."""
    for at in range(0, len(data), size):
        yield data[at : at + size]


def sha256(data: bytes) -> str:
    """Its hash in hex."""
    return hashlib.sha256(data).hexdigest()


async def refused(deed: Awaitable[object], *kinds: type[SandboxError]) -> SandboxError:
    """The error that `deed` must end with."""
    wanted = " or ".join(kind.__name__ for kind in kinds)
    try:
        outcome = await deed
    except kinds as error:
        return error
    except SandboxError as error:
        raise CheckFailed(f"{wanted} was expected, and {error!r} came") from error
    raise CheckFailed(f"{wanted} was expected, and this came: {outcome!r:.200}")


async def names_in(sandbox: Sandbox, folder: str) -> set[str]:
    """The names in a folder."""
    return {entry.path.rpartition("/")[2] async for entry in sandbox.list(folder)}
