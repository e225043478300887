"""Recordings to words by a program of this machine: the owner's own, or Whisper in a process for itself."""

import asyncio
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from angelia.core.errors import ConfigError
from angelia.held_folder import HeldFolder
from angelia.models.program import run_program
from angelia.models.speech.port import TranscribedWords, file_name

PLACE, LANGUAGE = "{file}", "{language}"
"""Stand for the recording's path in a configured command, and for the language in which it is said."""

Argv = Callable[[Path, str], Sequence[str]]
"""The command for a recording at this path, said in this language."""


class CommandListener:
    """Runs one program for each recording; what it prints is the transcript. Cancelled, it is ended."""

    def __init__(self, argv: Argv) -> None:
        self._argv = argv

    async def listen(self, recording: Path, mime: str, language: str) -> TranscribedWords:
        """See `models.speech.port.Listener`. The program gets a copy with the right ending, in a folder of its own.

        Raises:
            ProgramFailed: it failed, with the last line that it complained with, or took too long.
        """
        with HeldFolder() as folder:
            copy = folder / file_name(mime)
            await asyncio.to_thread(shutil.copyfile, recording, copy)
            printed = await run_program(self._argv(copy, language), b"", "listens")
            return TranscribedWords(printed.decode(errors="replace").strip())


def configured(line: str) -> CommandListener:
    """The owner's own command, such as `whisper-cli -nt -l {language} -f {file}`; what it prints is the transcript.
    A language that is not known stands there as `auto`.

    Raises:
        ConfigError: it does not say where the recording goes.
    """
    if PLACE not in line:
        raise ConfigError(
            f"The transcriber's command {line!r} does not name the recording.", then=f"Write {PLACE} where it belongs."
        )

    def argv(path: Path, language: str) -> Sequence[str]:
        filled = line.replace(LANGUAGE, shlex.quote(language or "auto")).replace(PLACE, shlex.quote(str(path)))
        return ("/bin/sh", "-c", filled)

    return CommandListener(argv)


def whisper(model: str) -> CommandListener:
    """Whisper on this machine; `model` is a size such as `base`, which is downloaded once, or a folder with weights."""
    module = (sys.executable, "-P", "-m", "angelia.models.speech.whisper", model)
    return CommandListener(lambda path, language: (*module, str(path), *((language,) if language else ())))
