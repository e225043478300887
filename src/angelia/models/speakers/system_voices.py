"""Voices of programs that the system brings: Pico with six that are easy to follow; espeak-ng with 100."""

import asyncio
import shutil

from msgspec import Struct

from angelia.core.errors import ConfigError
from angelia.held_folder import HeldFolder
from angelia.models.program import run_program
from angelia.models.speakers.port import VoiceName

ESPEAK = "espeak-ng"
PICO = "pico2wave"
PICO_PACKAGE = "libttspico-utils"
"""Debian's name of it (of its non-free part) and Ubuntu's."""

_PICO_LANGUAGES = ("en-US", "en-GB", "de-DE", "es-ES", "fr-FR", "it-IT")
_PICO_PREFIX, _ESPEAK_PREFIX = "pico:", "espeak-ng:"
_SPEED = "165"
"""Words a minute of espeak-ng, whose usual 175 are hard to follow."""


class SystemVoice(Struct, frozen=True):
    """A voice of a program, by that program's own name for it."""

    program: str
    voice: str

    async def speak(self, text: str) -> bytes:
        """A WAV file.

        Raises:
            ConfigError: the program is not installed.
            ProgramFailed: it could not.
        """
        program = shutil.which(self.program)
        if program is None:
            package = PICO_PACKAGE if self.program == PICO else self.program
            raise ConfigError(f"{self.program} is not installed.", then=f"Install the package `{package}`.")
        if self.program == ESPEAK:
            argv = (program, "--stdout", "--stdin", "-s", _SPEED, "-v", self.voice)
            return await run_program(argv, text.encode(), "speaks")
        with HeldFolder() as folder:
            sound = folder / "sound.wav"  # by its ending Pico knows what to write
            await run_program((program, "-l", self.voice, "-w", str(sound)), text.encode(), "speaks")
            return await asyncio.to_thread(sound.read_bytes) if sound.is_file() else b""


def voice_named(name: str, language: str) -> SystemVoice | None:
    """What a setting names: `pico:de-DE`, `espeak-ng:de`, or `espeak-ng` for the language of the text.

    >>> voice_named("pico:de-DE", "en"), voice_named("espeak-ng", "fr"), voice_named("joe", "en")
    (SystemVoice(program='pico2wave', voice='de-DE'), SystemVoice(program='espeak-ng', voice='fr'), None)
    """
    if name.startswith(_PICO_PREFIX):
        return SystemVoice(PICO, name.removeprefix(_PICO_PREFIX))
    if name == ESPEAK or name.startswith(_ESPEAK_PREFIX):
        return SystemVoice(ESPEAK, name.partition(":")[2] or language or "en")
    return None


def voice_for(language: str) -> SystemVoice | None:
    """The best one for a language (`de`; English, if it is empty) that is installed."""
    pico = [one for one in _PICO_LANGUAGES if one.startswith(f"{language or 'en'}-")]
    if pico and shutil.which(PICO):
        return SystemVoice(PICO, pico[0])
    return SystemVoice(ESPEAK, language or "en") if shutil.which(ESPEAK) else None


async def system_voices() -> list[VoiceName]:
    """Those that are installed."""
    named = list[VoiceName]()
    if shutil.which(PICO):
        named += [VoiceName(f"{_PICO_PREFIX}{one}", one[:2], "Pico") for one in _PICO_LANGUAGES]
    if program := shutil.which(ESPEAK):
        listed = (await run_program((program, "--voices"), b"", "speaks")).decode(errors="replace")
        rows = [row.split() for row in listed.splitlines()[1:]]
        named += [
            VoiceName(f"{_ESPEAK_PREFIX}{row[1]}", row[1][:2], row[3].replace("_", " ")) for row in rows if row[3:]
        ]
    return named


def installed_programs() -> list[str]:
    """Which of them there are."""
    return [program for program in (PICO, ESPEAK) if shutil.which(program)]
