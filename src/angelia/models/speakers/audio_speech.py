"""Words to sound by a server that speaks OpenAI's `/audio/speech`."""

import asyncio
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from angelia.core.errors import ConfigError, ModelError
from angelia.core.failure import Failure, FailureKind
from angelia.models.port import Credential
from angelia.models.speakers.port import Speaker, SpokenSound, VoiceName
from angelia.models.speakers.registry import SpeakerContext
from angelia.models.speakers.vendor_request import asked, sound_of
from angelia.models.wires.wire import bearer

if TYPE_CHECKING:
    import httpx2

PATH, VOICES_PATH = "audio/speech", "audio/voices"
"""Below the base URL. The second is no part of OpenAI's API; self-hosted servers name their voices there."""

MOST = 4_096
"""Characters of `input` (OpenAI reference, "Create speech")."""

OPENAI_VOICES = (
    "alloy ash ballad coral echo fable onyx nova sage shimmer verse marin cedar".split()  # noqa: SIM905 - a list to read
)
"""Built-in voices (OpenAI reference, "Create speech", `voice`); the first one is used where none is named."""

_PRICES = {"tts-1": 15, "tts-1-hd": 30}
"""Dollars for a million characters (OpenAI, "Pricing"); others are paid by tokens, which the answer does not say."""


class _SpeechRequest(Struct, frozen=True):
    model: str
    input: str
    voice: str
    response_format: str = "wav"


class _Voices(Struct, frozen=True):
    voices: tuple[str | dict[str, object], ...] = ()


class AudioSpeech:
    """One model of one vendor; see `port.Speaker`."""

    most = MOST

    def __init__(self, context: SpeakerContext) -> None:
        self._context = context
        self._model = context.rest
        self._openai = context.spec.startswith("openai:")

    async def speak(self, text: str, voice: str, language: str) -> SpokenSound:
        """See the port. The model finds out the language by itself."""
        wanted = _SpeechRequest(self._model, text, voice or OPENAI_VOICES[0])

        async def once(http: "httpx2.AsyncClient", key: Credential) -> "httpx2.Response":
            headers = {**bearer(key), "content-type": "application/json"}
            return await http.post(PATH, content=msgspec.json.encode(wanted), headers=headers)

        response = await asked(self._context, once)
        return SpokenSound(sound_of(response, self._context.spec), self._price(len(text)))

    async def voices(self) -> tuple[VoiceName, ...]:
        """See the port: OpenAI's are known, other servers are asked."""
        if self._openai:
            return tuple(VoiceName(name) for name in OPENAI_VOICES)
        http, key = await self._context.reach()
        import httpx2

        try:
            async with asyncio.timeout(self._context.timeouts.connect):
                response = await http.get(VOICES_PATH, headers=dict(bearer(key)))
            named = msgspec.json.decode(response.content, type=_Voices) if response.is_success else _Voices()
        except (httpx2.RequestError, TimeoutError) as error:
            said = f"{http.base_url.host}: {type(error).__name__}"
            raise ModelError(Failure(FailureKind.UNREACHABLE, said=said)) from error
        except msgspec.MsgspecError:  # a page of a server that has no such list
            return ()
        names = [one if isinstance(one, str) else str(one.get("id") or one.get("name") or "") for one in named.voices]
        return tuple(VoiceName(name) for name in names if name)

    async def close(self) -> None:
        """See the port: nothing is kept."""

    def _price(self, characters: int) -> int:
        if self._context.free:
            return 0
        price = _PRICES.get(self._model) if self._openai else None
        return -1 if price is None else characters * price


def open_speaker(context: SpeakerContext) -> Speaker:
    """See `registry.OpenSpeaker`."""
    if not context.rest:
        raise ConfigError(
            f"The setting `speaker` is {context.spec!r}, which names no model.",
            then="Write vendor:model, such as openai:gpt-4o-mini-tts.",
        )
    return AudioSpeech(context)
