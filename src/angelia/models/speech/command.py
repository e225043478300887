"""Recordings to words by a program of this machine: the owner's own, or Whisper in a process for itself."""

import asyncio
import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from angelia.core.errors import AngeliaError, ConfigError
from angelia.core.text import clean, one_line
from angelia.models.speech.port import TranscribedWords, file_name

SECONDS = 900.0
"""How long one recording may take: an hour of speech on a slow machine, or a download of weights at the first use."""

PLACE = "{file}"
"""Stands for the recording's path in a configured command."""

Argv = Callable[[Path], Sequence[str]]


class ProgramFailed(AngeliaError):
    """The program could not write a recording down, or could not speak."""


class CommandListener:
    """Runs one program for each recording; what it prints is the transcript. Cancelled, it is ended."""

    def __init__(self, argv: Argv) -> None:
        self._argv = argv

    async def listen(self, recording: Path, mime: str) -> TranscribedWords:
        """See `models.speech.port.Listener`. The program gets a copy with the right ending, in a folder of its own.

        Raises:
            ProgramFailed: it failed, with the last line that it complained with, or took too long.
        """
        with tempfile.TemporaryDirectory(prefix="angelia-speech-") as folder:
            copy = Path(folder) / file_name(mime)
            await asyncio.to_thread(shutil.copyfile, recording, copy)
            printed = await run_program(self._argv(copy), b"", "listens")
            return TranscribedWords(printed.decode(errors="replace").strip())


def configured(line: str) -> CommandListener:
    """The owner's own command, such as `whisper-cli -nt -f {file}`; what it prints on stdout is the transcript.

    Raises:
        ConfigError: it does not say where the recording goes.
    """
    if PLACE not in line:
        raise ConfigError(
            f"The transcriber's command {line!r} does not name the recording.", then=f"Write {PLACE} where it belongs."
        )
    return CommandListener(lambda path: ("/bin/sh", "-c", line.replace(PLACE, shlex.quote(str(path)))))


def whisper(model: str) -> CommandListener:
    """Whisper on this machine; `model` is a size such as `base`, which is downloaded once, or a folder with weights."""
    return CommandListener(lambda path: (sys.executable, "-m", "angelia.models.speech.whisper", model, str(path)))


async def run_program(argv: Sequence[str], given: bytes, does: str) -> bytes:
    """What a program prints, to which `given` is handed on its input; `does` says what it is for: "listens".

    Raises:
        ProgramFailed: it failed, with the last line that it complained with, or took too long.
    """
    process = await begun(argv)
    try:
        async with asyncio.timeout(SECONDS):
            out, complaint = await process.communicate(given)
    except TimeoutError:
        raise ProgramFailed(f"{Path(argv[0]).name} was not done within {SECONDS:g} s.") from None
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
        asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
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
