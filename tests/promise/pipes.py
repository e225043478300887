"""Named pipes, by which a test waits for a command that runs in a workspace, and processes by their number."""

import asyncio
import os
import select
from contextlib import suppress
from pathlib import Path

from angelia.sandboxes.local.processes import facts

PATIENCE_S = 60.0
"""A command that does not say anything for so long fails its test."""


def pipes(folder: Path, *names: str) -> None:
    """Make named pipes."""
    for name in names:
        os.mkfifo(folder / name)


async def written(pipe: Path) -> str:
    """What a command writes into a pipe, as soon as it does.

    Raises:
        TimeoutError: nobody wrote.
    """
    handle = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    readable = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(handle, readable.set)
    try:
        async with asyncio.timeout(PATIENCE_S):
            await readable.wait()
        return os.read(handle, 4096).decode()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


async def write(pipe: Path, text: str) -> None:
    """Give a command that reads from a pipe what it waits for."""
    await asyncio.to_thread(pipe.write_text, text)


def ends(number: int) -> None:
    """Wait until a process is no more."""
    with suppress(ProcessLookupError):
        found = os.pidfd_open(number)
        try:
            assert select.select([found], [], [], 20)[0], "it goes on"
        finally:
            os.close(found)


def is_alive(number: int) -> bool:
    """Whether a process runs; one that ended and was not collected yet does not."""
    known = facts(number)
    return known is not None and known.alive
