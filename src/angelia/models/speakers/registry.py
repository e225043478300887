"""Opens the speaker that a setting means; third-party ones are found by entry point."""

from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from msgspec import Struct

from angelia.core.errors import ConfigError
from angelia.models.context import WireTimeouts
from angelia.models.port import Credential
from angelia.models.speakers.port import Speaker

if TYPE_CHECKING:
    import httpx2

GROUP = "angelia.speakers"
"""The entry point group: the name is what stands before the colon, the value an `OpenSpeaker`."""

WIRE = "audio-speech"
"""What every vendor speaks that is not named here: OpenAI's `/audio/speech`."""

OURS = {
    "local": "angelia.models.speakers.local",
    "command": "angelia.models.speakers.command",
    "elevenlabs": "angelia.models.speakers.elevenlabs",
    WIRE: "angelia.models.speakers.audio_speech",
}
"""Modules by kind, each with an `open_speaker`; imported when a speaker of theirs is used."""

Reach = Callable[[], Awaitable[tuple["httpx2.AsyncClient", Credential]]]
"""The vendor's client and key.

Raises:
    KeyMissing, ConfigError: there is none, or the address is of no use.
"""


class SpeakerContext(Struct, frozen=True):
    """What a speaker is opened with. `spec` is the setting, `rest` what stands behind its colon.

    `voices` is the folder in which people put voices of their own. `free` says that nothing is paid there.
    """

    spec: str
    rest: str
    voices: Path
    timeouts: WireTimeouts
    reach: Reach
    free: bool = False


class OpenSpeaker(Protocol):
    """How a speaker is opened; nothing is loaded or reached yet."""

    def __call__(self, context: SpeakerContext) -> Speaker:
        """Raises ConfigError for a setting that means nothing, MissingPart where an extra is needed."""
        ...


def open_speaker(kind: str, context: SpeakerContext) -> Speaker:
    """The speaker of that kind, as `known_kind` says which.

    Raises:
        ConfigError, MissingPart: see `OpenSpeaker`.
    """
    if kind not in OURS:
        return _third_party(kind)(context)
    return cast("OpenSpeaker", import_module(OURS[kind]).open_speaker)(context)


def _third_party(kind: str) -> OpenSpeaker:
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name=kind):
        return cast("OpenSpeaker", entry.load())
    raise ConfigError(
        f"The setting `speaker` names {kind!r}, which nobody here speaks by.",
        then="Write local, command:LINE, elevenlabs:MODEL, or vendor:model such as openai:gpt-4o-mini-tts.",
    )
