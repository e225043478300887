"""A program of this machine that does one piece of work: it is begun, given its input, read to its end, and ended."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from angelia.beginning import persons_home
from angelia.core.errors import AngeliaError
from angelia.core.text import clean, one_line
from angelia.tied_program import TiedProgram

SECONDS = 900.0
"""How long one piece may take: an hour of speech on a slow machine, or a download of weights at the first use."""


class ProgramFailed(AngeliaError):
    """The program could not do its work."""


async def run_program(argv: Sequence[str], given: bytes, does: str, seconds: float = SECONDS) -> bytes:
    """What a program prints, to which `given` is handed on its input; `does` says what it is for: "listens".

    Cancelled, it is ended, with all that it began; so it is when we are killed.

    Raises:
        ProgramFailed: it failed, with the last line that it complained with, or took longer than `seconds`.
    """
    program = await begun(argv)
    try:
        async with asyncio.timeout(seconds):
            out, complaint = await program.process.communicate(given)
    except TimeoutError:
        said = f"The program that {does} ({Path(argv[0]).name}) was not done within {seconds:g} s."
        raise ProgramFailed(said) from None
    finally:
        await program.end()
    if status := program.process.returncode:
        last = clean(complaint.decode(errors="replace")).strip().rpartition("\n")[2]
        raise ProgramFailed(f"The program that {does} failed (exit status {status}).", one_line(last, 300))
    return out


async def begun(argv: Sequence[str]) -> TiedProgram:
    """A program that ends with us, begun in the person's home."""
    return await TiedProgram.begin(argv, persons_home())
