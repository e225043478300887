"""A program of this machine that does one piece of work: it is begun, given its input, read to its end, and ended."""

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from angelia.beginning import persons_home
from angelia.core.errors import AngeliaError
from angelia.core.text import clean, one_line

SECONDS = 900.0
"""How long one piece may take: an hour of speech on a slow machine, or a download of weights at the first use."""


class ProgramFailed(AngeliaError):
    """The program could not do its work."""


async def run_program(argv: Sequence[str], given: bytes, does: str, seconds: float = SECONDS) -> bytes:
    """What a program prints, to which `given` is handed on its input; `does` says what it is for: "listens".

    Cancelled, it is ended, with all that it began.

    Raises:
        ProgramFailed: it failed, with the last line that it complained with, or took longer than `seconds`.
    """
    process = await begun(argv)
    try:
        async with asyncio.timeout(seconds):
            out, complaint = await process.communicate(given)
    except TimeoutError:
        said = f"The program that {does} ({Path(argv[0]).name}) was not done within {seconds:g} s."
        raise ProgramFailed(said) from None
    finally:
        await _ended(process)
    if process.returncode:
        last = clean(complaint.decode(errors="replace")).strip().rpartition("\n")[2]
        raise ProgramFailed(f"The program that {does} failed (exit status {process.returncode}).", one_line(last, 300))
    return out


async def begun(argv: Sequence[str]) -> asyncio.subprocess.Process:
    """A program, begun whole or not at all: cancelled between its start and its pipes, asyncio waits for ever."""
    pipe = asyncio.subprocess.PIPE
    beginning = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *argv, stdin=pipe, stdout=pipe, stderr=pipe, cwd=persons_home(), start_new_session=True
        )
    )
    try:
        return await asyncio.shield(beginning)
    except asyncio.CancelledError:
        await _ended(await beginning)
        raise


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.communicate()
