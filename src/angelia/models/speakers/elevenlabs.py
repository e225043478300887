"""Words to sound by ElevenLabs, which has a wire of its own (ElevenLabs, "Create speech", "List voices")."""

from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec
from msgspec import Struct

from angelia.models.port import Credential
from angelia.models.speakers.port import Speaker, SpokenSound, VoiceName
from angelia.models.speakers.registry import SpeakerContext
from angelia.models.speakers.vendor_request import asked, sound_of

if TYPE_CHECKING:
    import httpx2

MODEL = "eleven_multilingual_v2"
"""The model where none is named: 29 languages, 10,000 characters (ElevenLabs, "Models")."""

MOST = 10_000

VOICE = "JBFqnCBsd6RMkjVDRZzb"
"""The voice where none is named: George, which every account has (ElevenLabs, "Quickstart")."""


class _Wanted(Struct, frozen=True):
    text: str
    model_id: str


class _Voice(Struct, frozen=True):
    voice_id: str
    name: str = ""
    labels: dict[str, str] = {}


class _Voices(Struct, frozen=True):
    voices: tuple[_Voice, ...]


class ElevenLabs:
    """One model there; see `port.Speaker`. A voice is named by its id, or by its name."""

    most = MOST

    def __init__(self, context: SpeakerContext) -> None:
        self._context = context
        self._model = context.rest or MODEL

    async def speak(self, text: str, voice: str, language: str) -> SpokenSound:
        """See the port. The model finds out the language by itself."""
        voice_id = quote(await self._id_of(voice), safe="")
        body = msgspec.json.encode(_Wanted(text, self._model))

        async def once(http: "httpx2.AsyncClient", key: Credential) -> "httpx2.Response":
            headers = {"xi-api-key": key.secret, "content-type": "application/json"}
            query = {"output_format": "mp3_44100_128"}
            return await http.post(f"text-to-speech/{voice_id}", content=body, headers=headers, params=query)

        return SpokenSound(sound_of(await asked(self._context, once), self._context.spec), -1)

    async def voices(self) -> tuple[VoiceName, ...]:
        """See the port: those of the account."""

        async def once(http: "httpx2.AsyncClient", key: Credential) -> "httpx2.Response":
            return await http.get("voices", headers={"xi-api-key": key.secret})

        found = msgspec.json.decode((await asked(self._context, once)).content, type=_Voices)
        named = [VoiceName(one.voice_id, one.labels.get("language", ""), one.name) for one in found.voices]
        return tuple(sorted(named, key=lambda one: one.name != VOICE))

    async def close(self) -> None:
        """See the port: nothing is kept."""

    async def _id_of(self, voice: str) -> str:
        if not voice or (len(voice) == len(VOICE) and voice.isalnum()):
            return voice or VOICE
        wanted = voice.lower()
        for one in await self.voices():
            if one.about.lower() == wanted or one.about.lower().startswith(f"{wanted} "):
                return one.name
        return voice


def open_speaker(context: SpeakerContext) -> Speaker:
    """See `registry.OpenSpeaker`."""
    return ElevenLabs(context)
