"""Words to sound on this machine: Piper with a voice that lies here; Pico or espeak-ng where there is none."""

import asyncio
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec
from msgspec import Struct

from angelia.core.errors import BadInput, ConfigError, MissingPart
from angelia.installation import installing
from angelia.models.speakers.piper_process import PiperProcess
from angelia.models.speakers.port import Speaker, SpokenSound, VoiceName
from angelia.models.speakers.registry import SpeakerContext
from angelia.models.speakers.system_voices import (
    ESPEAK,
    SystemVoice,
    installed_programs,
    system_voices,
    voice_for,
    voice_named,
)

_PACKAGED = "*piper_voice*/**/*.onnx"
"""Where packages bring voices for Piper: in a folder with these words in its name."""


class _Language(Struct, frozen=True):
    voice: str = ""


class _PiperConfig(Struct, frozen=True):
    espeak: _Language = _Language()


class PiperVoiceFile(Struct, frozen=True):
    """A voice for Piper: weights, with the settings beside them (`NAME.onnx`, `NAME.onnx.json`)."""

    path: Path

    @property
    def name(self) -> str:
        """As it is called in settings: `en_US-joe-medium`."""
        return self.path.stem

    @property
    def language(self) -> str:
        """By its settings, else by its name."""
        try:
            config = msgspec.json.decode(self._settings.read_bytes(), type=_PiperConfig)
        except (OSError, msgspec.MsgspecError):
            config = _PiperConfig()
        return (config.espeak.voice or self.name)[:2].lower()

    @property
    def whole(self) -> bool:
        """Whether both files are there."""
        return self.path.is_file() and self._settings.is_file()

    @property
    def _settings(self) -> Path:
        return self.path.with_name(f"{self.path.name}.json")


def piper_voices(folder: Path) -> tuple[PiperVoiceFile, ...]:
    """Voices of the folder first, then those of packages; each by its name once."""
    found: dict[str, PiperVoiceFile] = {}
    places = [folder.glob("*.onnx"), *(Path(one).glob(_PACKAGED) for one in sys.path if one)]
    for place in places:
        for path in sorted(place):
            voice = PiperVoiceFile(path)
            if voice.whole:
                found.setdefault(voice.name, voice)
    return tuple(found.values())


class LocalSpeaker:
    """See `port.Speaker`. A voice is one of Piper's by its name, or one of a program's: `pico:de-DE`, `espeak-ng:de`.

    Where a text's language has no voice of Piper's, Pico speaks it if it can, else espeak-ng.
    """

    most = 1_000

    def __init__(self, voice: str, folder: Path) -> None:
        self._usual = voice
        self._folder = folder
        self._piper: PiperProcess | None = None

    async def speak(self, text: str, voice: str, language: str) -> SpokenSound:
        """See the port."""
        match await asyncio.to_thread(self._chosen, voice or self._usual, language):
            case PiperVoiceFile() as found:
                return SpokenSound(await self._loaded(found).speak(text))
            case SystemVoice() as found:
                return SpokenSound(await found.speak(text))

    async def voices(self) -> tuple[VoiceName, ...]:
        """See the port.

        Raises:
            ConfigError: there is none.
        """
        piper = await asyncio.to_thread(piper_voices, self._folder) if find_spec("piper") else ()
        named = [VoiceName(one.name, one.language, "Piper") for one in piper]
        named += await system_voices()
        if not named:
            raise _no_voice(self._folder)
        return tuple(sorted(named, key=lambda one: one.name != self._usual))

    async def close(self) -> None:
        """See the port."""
        if self._piper:
            await self._piper.close()
            self._piper = None

    def _chosen(self, voice: str, language: str) -> PiperVoiceFile | SystemVoice:
        if named := voice_named(voice, language):
            return named
        known = piper_voices(self._folder) if find_spec("piper") else ()
        if voice:
            own = PiperVoiceFile(Path(voice).expanduser())
            fitting = own if own.whole else next((one for one in known if one.name == voice), None)
            if fitting is None:
                names = ", ".join(one.name for one in known) or "none of Piper's"
                raise BadInput(
                    f"There is no voice {voice!r} on this machine.",
                    f"There are {names}, and {ESPEAK}:LANGUAGE." if find_spec("piper") else "Piper is not installed.",
                    "`angelia voices` lists them." if find_spec("piper") else f"Run: {installing('speech')}",
                )
            if find_spec("piper") is None:
                raise MissingPart("Speaking with a voice of Piper's", "speech")
            return fitting
        same = [one for one in known if not language or one.language == language]
        if same:
            return same[0]
        if of_system := voice_for(language):
            return of_system
        if known:
            return known[0]
        raise _no_voice(self._folder)

    def _loaded(self, voice: PiperVoiceFile) -> PiperProcess:
        if self._piper is None:
            self._piper = PiperProcess()
        self._piper.use(voice.path)
        return self._piper


def _no_voice(folder: Path) -> ConfigError:
    return ConfigError(
        "There is no voice on this machine.",
        f"Piper speaks with voices in {folder} (NAME.onnx and NAME.onnx.json), and neither Pico nor {ESPEAK} is "
        "installed.",
        f"Install {ESPEAK}, or run {installing('speech')} and put a voice there.",
    )


def can_speak(folder: Path) -> str:
    """What speaks on this machine, in a few words; empty for nothing."""
    piper = piper_voices(folder) if find_spec("piper") else ()
    by = [f"Piper with {', '.join(one.name for one in piper)}"] if piper else []
    return " and ".join([*by, *installed_programs()])


def open_speaker(context: SpeakerContext) -> Speaker:
    """See `registry.OpenSpeaker`."""
    return LocalSpeaker(context.rest, context.voices)
