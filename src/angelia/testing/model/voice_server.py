"""A scripted voice behind real HTTP on loopback: OpenAI's `/v1/audio/speech`, and ElevenLabs' wire.

It is strict: a request that the vendors' references do not allow is refused as they refuse it, and a request is counted
as paid from the moment in which it is read.
"""

import io
import math
import wave
from array import array
from collections.abc import Callable
from urllib.parse import parse_qs, unquote

import msgspec
from msgspec import Struct

from angelia.testing.model.http1 import Answering, HttpRequest
from angelia.testing.model.loopback import ScriptedHttpServer
from angelia.testing.model.speech_server import SpeechFailure

FORMATS = {"mp3", "opus", "aac", "flac", "wav", "pcm"}
"""What may be asked for (OpenAI reference, "Create speech", `response_format`)."""

VOICES = {"alloy": "Alloy", "JBFqnCBsd6RMkjVDRZzb": "George"}
"""Voices that there are, by their names on OpenAI's wire and their ids on ElevenLabs'."""

_RATE = 22_050


class SpeechOrder(Struct, frozen=True):
    """One request as it arrived."""

    text: str
    voice: str
    model: str
    key: str


class _Order(Struct, frozen=True, forbid_unknown_fields=True):
    model: str
    input: str
    voice: str
    response_format: str = "mp3"
    speed: float = 1.0
    instructions: str = ""


class _ElevenOrder(Struct, frozen=True, forbid_unknown_fields=True):
    text: str
    model_id: str = "eleven_multilingual_v2"
    language_code: str = ""


class OddAnswer(Struct, frozen=True):
    """An answer of status 200 that is no sound, or no whole one."""

    data: bytes
    mime: str = "audio/wav"


Voicing = Callable[[SpeechOrder], bytes | OddAnswer | SpeechFailure]


def hum(text: str, per_second: int = 15, loudness: float = 0.3) -> bytes:
    """A sound as long as a person takes to say a text, as WAV; `loudness` is from 0 to 1."""
    samples = max(len(text) * _RATE // per_second, 1)
    wavelength = [int(32767 * loudness * math.sin(2 * math.pi * at / 100)) for at in range(100)]
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(_RATE)
        sound.writeframes(array("h", (wavelength * (samples // 100 + 1))[:samples]).tobytes())
    return file.getvalue()


def humming(order: SpeechOrder) -> bytes:
    """Says everything, as a hum."""
    return hum(order.text)


class VoiceServer(ScriptedHttpServer):
    """A server for the length of an `async with`; what `speak` says of each request is its answer."""

    def __init__(self, speak: Voicing = humming) -> None:
        super().__init__()
        self.speak = speak
        self.orders: list[SpeechOrder] = []

    async def answer(self, given: HttpRequest, out: Answering) -> None:
        """See `ScriptedHttpServer`."""
        match given.method, given.path.removeprefix("/v1/"):
            case "POST", "audio/speech":
                order = _order(given)
            case "GET", "audio/voices":
                await out.whole(200, msgspec.json.encode({"voices": sorted(VOICES)}))
                return
            case "GET", "voices":
                listed = [{"voice_id": voice, "name": name} for voice, name in VOICES.items() if len(voice) == 20]
                await out.whole(200, msgspec.json.encode({"voices": listed}))
                return
            case "POST", path if path.startswith("text-to-speech/"):
                order = _eleven_order(given, unquote(path.removeprefix("text-to-speech/")))
            case _:
                order = SpeechFailure(404, f"Invalid URL ({given.method} {given.path})")
        if isinstance(order, SpeechOrder):
            self.orders.append(order)
        said = order if isinstance(order, SpeechFailure) else self.speak(order)
        match said:
            case bytes():
                await out.whole(200, said, mime="audio/wav")
            case OddAnswer(data=data, mime=mime):
                await out.whole(200, data, mime=mime)
            case SpeechFailure(status=status, said=words, retry_after=after):
                wait = {"retry_after": str(after)} if after else {}
                await out.whole(status, msgspec.json.encode({"error": {"message": words}}), **wait)


def _order(given: HttpRequest) -> SpeechOrder | SpeechFailure:
    try:
        order = msgspec.json.decode(given.body, type=_Order)
    except msgspec.MsgspecError as error:
        return SpeechFailure(400, str(error))
    if given.headers.get("content-type") != "application/json":
        return SpeechFailure(400, "Send JSON.")
    if not order.input or len(order.input) > 4096:
        return SpeechFailure(400, f"input has {len(order.input)} characters; 1 to 4096 are allowed.")
    if order.response_format not in FORMATS or not 0.25 <= order.speed <= 4:
        return SpeechFailure(400, "response_format or speed is not allowed.")
    if order.voice not in VOICES:
        return SpeechFailure(400, f"There is no voice {order.voice!r}.")
    return SpeechOrder(order.input, order.voice, order.model, given.headers.get("authorization", "")[7:])


def _eleven_order(given: HttpRequest, voice: str) -> SpeechOrder | SpeechFailure:
    try:
        order = msgspec.json.decode(given.body, type=_ElevenOrder)
    except msgspec.MsgspecError as error:
        return SpeechFailure(422, str(error))
    if voice not in VOICES:
        return SpeechFailure(404, f"A voice with the voice_id {voice} was not found.")
    if not parse_qs(given.query).get("output_format", ["mp3_44100_128"])[0].startswith(("mp3_", "opus_", "pcm_")):
        return SpeechFailure(400, "output_format is not known.")
    if not (key := given.headers.get("xi-api-key", "")):
        return SpeechFailure(401, "Missing xi-api-key.")
    return SpeechOrder(order.text, voice, order.model_id, key)
