"""Runs a hook's program: JSON on its standard input, whatever it writes back, and nothing of it left behind."""

import asyncio
from asyncio.subprocess import Process
from contextlib import suppress
from pathlib import Path

from angelia.core.errors import AngeliaError
from angelia.service.hooks.answers import MOST, ProgramEnd
from angelia.tied_program import SHELL, TiedProgram


class HookBroke(AngeliaError):
    """A hook's program could not be run to its end."""


async def run_hook(command: str, told: bytes, seconds: float, folder: Path) -> ProgramEnd:
    """What came of it. It is the person's own program, on this machine and outside of every sandbox, as a key command
    is; at its time-out, when this is cancelled and when we are killed, its whole process group is killed.

    Raises:
        HookBroke: it cannot be started, took too long, or wrote too much.
    """
    try:
        program = await TiedProgram.begin((*SHELL, command), folder)
    except OSError as error:
        raise HookBroke(f"it cannot be started: {error.strerror}") from error
    try:
        async with asyncio.timeout(seconds):
            return await _talk(program.process, told)
    except TimeoutError:
        raise HookBroke(f"it was not done after {seconds:g} s") from None
    finally:
        program.kill()
        await program.process.wait()


async def _talk(process: Process, told: bytes) -> ProgramEnd:
    assert process.stdin
    assert process.stdout
    assert process.stderr
    output, errors, _ = await asyncio.gather(
        _all_of(process.stdout), _all_of(process.stderr), _tell(process.stdin, told)
    )
    return ProgramEnd(await process.wait(), output, errors)


async def _tell(stdin: asyncio.StreamWriter, told: bytes) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):  # one that does not read need not
        stdin.write(told)
        await stdin.drain()
        stdin.close()
        await stdin.wait_closed()


async def _all_of(stream: asyncio.StreamReader) -> bytes:
    found = b""
    while piece := await stream.read(MOST):
        found += piece
        if len(found) > MOST:
            raise HookBroke(f"it wrote more than {MOST:,} bytes")
    return found
