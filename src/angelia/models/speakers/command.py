"""Words to sound by a program of the owner's: it reads the text, and writes sound into a file or to its output."""

import asyncio
import shlex

from angelia.core.errors import ConfigError
from angelia.held_folder import HeldFolder
from angelia.models.program import run_program
from angelia.models.speakers.port import Speaker, SpokenSound, VoiceName
from angelia.models.speakers.registry import SpeakerContext

FILE, VOICE, LANGUAGE = "{file}", "{voice}", "{language}"
"""Stand in a configured line for the path of the sound, the voice that is wanted and the text's language."""


class CommandSpeaker:
    """Runs one program for each text, which it finds on its input; see `port.Speaker`. Cancelled, it is ended."""

    most = 100_000

    def __init__(self, line: str) -> None:
        self._line = line

    async def speak(self, text: str, voice: str, language: str) -> SpokenSound:
        """See the port."""
        with HeldFolder() as folder:
            path = folder / "sound.wav"
            line = self._line
            for place, value in ((FILE, str(path)), (VOICE, voice), (LANGUAGE, language)):
                line = line.replace(place, shlex.quote(value))
            printed = await run_program(("/bin/sh", "-c", line), text.encode(), "speaks")
            if FILE not in self._line:
                return SpokenSound(printed)
            return SpokenSound(await asyncio.to_thread(path.read_bytes) if path.is_file() else b"")

    async def voices(self) -> tuple[VoiceName, ...]:
        """See the port: nobody says."""
        return ()

    async def close(self) -> None:
        """See the port: nothing is kept."""


def open_speaker(context: SpeakerContext) -> Speaker:
    """See `registry.OpenSpeaker`."""
    if not context.rest.strip():
        raise ConfigError(
            "The setting `speaker` is 'command:' without a command.",
            then="Such as command:espeak-ng --stdout; the text comes on its input.",
        )
    return CommandSpeaker(context.rest)
