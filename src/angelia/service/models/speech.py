"""What speaks for a home: a text made speakable, spoken, encoded as one voice note, and heard to be whole."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from angelia.core.content import BlobRef, Media, MediaKind
from angelia.core.entry import NO_PAYMENT, Payment
from angelia.core.errors import AngeliaError, ConfigError, KeyMissing, PerhapsPaid
from angelia.models.catalog.vendor import Vendor
from angelia.models.catalog.vendor_table import SPEECH_VENDORS
from angelia.models.port import Credential
from angelia.models.speakers.language_words import language_of
from angelia.models.speakers.port import Speaker, SpokenSound, VoiceName
from angelia.models.speakers.registry import WIRE, SpeakerContext, open_speaker
from angelia.models.speakers.speakable import pieces, speakable
from angelia.service.models.catalog import ModelCatalog
from angelia.store.media.blobs import BlobStore
from angelia.store.media.processes import MediaProcesses
from angelia.store.media.voice_notes import EncodedVoice

if TYPE_CHECKING:
    import httpx2

MOST_CHARACTERS = 10_000
"""Of one text: some twelve minutes of speech. What is longer nobody listens to, and it is not paid for."""

PIECE = 1_000
"""Characters that are spoken at once, so that a part that is missing is found where it is missing."""

FASTEST = 30
"""Characters a second that no voice speaks: people speak 15, a hurried voice 22."""

_SHORT = 20
"""Characters below which the length of a sound says nothing."""

_SILENT = 2
"""Of 255: what is never louder is no speech."""


class SpeechDeps(Struct, frozen=True):
    """What speech is made with. `redact` hides known secrets before anything leaves.

    `language` is that of words which do not show theirs; empty for English.
    """

    model_catalog: ModelCatalog
    voices: Path
    blobs: BlobStore
    processes: MediaProcesses
    redact: Callable[[str], str]
    language: str = ""


class VoiceNote(Struct, frozen=True):
    """A text that was spoken: the sound, with its words beside it, and what it cost."""

    media: Media
    paid: Payment
    why: str = ""


class NotSpoken(Struct, frozen=True):
    """A text that was not spoken: `why` is a sentence with a remedy. It may have been paid for all the same."""

    why: str
    paid: Payment
    media: None = None


class Speech:
    """The speaker of the setting `speaker`; opened with the first text."""

    def __init__(self, spec: str, voice: str, deps: SpeechDeps) -> None:
        self.spec = spec
        self._voice = voice
        self._deps = deps
        self._speaker: Speaker | None = None

    async def speak(
        self, text: str, voice: str, told: Callable[[str], None], language: str = ""
    ) -> VoiceNote | NotSpoken:
        """Speak a Markdown text as one voice note; `told` says how far it is, where it takes long. `language` is that
        of a text which does not show its own, empty for the usual one.

        Cancelled, it stops; what was begun may have been paid for.
        """
        if len(text) > MOST_CHARACTERS:
            why = f"The text has {len(text):,} characters, and {MOST_CHARACTERS:,} are spoken at most. Say less of it."
            return NotSpoken(why, NO_PAYMENT)
        text = self._deps.redact(text)
        language = language_of(text, language or self.language)
        sentences = speakable(text, language)
        if not sentences:
            return NotSpoken("There is nothing in the text that can be said. Give it words.", NO_PAYMENT)
        try:
            speaker = self._opened()
        except AngeliaError as error:
            return NotSpoken(str(error), NO_PAYMENT)
        return await self._spoken(speaker, sentences, (voice or self._voice, language), told)

    async def speak_answer(self, text: str, asked: str = "") -> VoiceNote | NotSpoken:
        """Speak a whole answer to the words `asked` in the usual voice, and in their language if it shows none."""
        return await self.speak(text, "", lambda _: None, language_of(asked, self.language))

    async def aloud(self, sentence: str, voice: str = "", language: str = "") -> SpokenSound:
        """Speak a sentence that is speakable, for whoever listens now: as WAV.

        Raises:
            AngeliaError: it could not be; it may have been paid for.
        """
        sound = await self._opened().speak(self._deps.redact(sentence), voice or self._voice, language)
        if sound.data.startswith(b"RIFF"):
            return sound
        if not sound.data:
            raise AngeliaError(_empty(self.spec))
        return SpokenSound(await self._deps.processes.as_wav(sound.data), sound.cost)

    async def as_note(self, sound: bytes) -> EncodedVoice:
        """A sound as a voice note.

        Raises:
            BadInput, MissingPart: see `MediaProcesses.encode_voice`.
        """
        return await self._deps.processes.encode_voice([sound])

    @property
    def language(self) -> str:
        """The language of words that do not show theirs."""
        return self._deps.language or "en"

    @property
    def free(self) -> bool:
        """Whether nothing is paid: it speaks on this machine, or on a server of one's own."""
        kind = self.spec.partition(":")[0]
        vendor = self._vendor
        return vendor.local if vendor else kind in ("local", "command")

    @property
    def leaves(self) -> bool:
        """Whether words leave the person's own machines: who speaks there wants to be paid."""
        return not self.free

    @property
    def may_cost(self) -> int:
        """What is owed for speech of which nobody hears how it ends: 0, or -1 for what nobody knows."""
        return 0 if self.free else -1

    async def voices(self) -> tuple[VoiceName, ...]:
        """See `Speaker.voices`.

        Raises:
            AngeliaError: as there, or the setting means no speaker.
        """
        return await self._opened().voices()

    async def close(self) -> None:
        """Give back what is loaded."""
        if self._speaker:
            await self._speaker.close()

    async def _spoken(
        self, speaker: Speaker, sentences: Sequence[str], how: tuple[str, str], told: Callable[[str], None]
    ) -> VoiceNote | NotSpoken:
        texts, costs, sounds = pieces(sentences, min(speaker.most, PIECE)), list[int](), list[bytes]()
        try:
            for number, text in enumerate(texts, 1):
                sound = await speaker.speak(text, *how)
                costs.append(sound.cost)
                sounds.append(sound.data)
                if len(texts) > 1:
                    told(f"spoken: {number} of {len(texts)} parts\n")
            if any(not sound for sound in sounds):
                return NotSpoken(_empty(self.spec), self._paid(costs))
            encoded = await self._deps.processes.encode_voice(sounds)
        except AngeliaError as error:
            costs += [self.may_cost] if isinstance(error, PerhapsPaid) else []
            return NotSpoken(f"{str(error).rstrip('.')}.", self._paid(costs))
        if why := fault(self.spec, texts, encoded):
            return NotSpoken(why, self._paid(costs))
        blob = await self._deps.blobs.put(encoded.data, mime="audio/ogg")
        return VoiceNote(_media(blob, encoded, " ".join(sentences)), self._paid(costs))

    def _paid(self, costs: Sequence[int]) -> Payment:
        cost = -1 if -1 in costs else sum(costs)
        return Payment(self.name, cost) if cost else NO_PAYMENT

    @property
    def name(self) -> str:
        """As people read it."""
        return "command" if self.spec.startswith("command:") else self.spec

    @property
    def _vendor(self) -> Vendor | None:
        kind = self.spec.partition(":")[0]
        return self._deps.model_catalog.rows.get(kind) or SPEECH_VENDORS.get(kind)

    def _opened(self) -> Speaker:
        if self._speaker is None:
            self._speaker = self._made()
        return self._speaker

    def _made(self) -> Speaker:
        if not self.spec:
            raise ConfigError("Nothing is set that speaks.", then=HOW)
        kind, _, rest = self.spec.partition(":")
        catalog, vendor = self._deps.model_catalog, self._vendor
        speaks_wire = kind in catalog.rows and kind not in ("local", *SPEECH_VENDORS)

        async def reach() -> "tuple[httpx2.AsyncClient, Credential]":
            assert vendor is not None
            client, pool = await catalog.client(vendor), await catalog.keyring.pool(vendor)
            if client is None or not pool:
                name = vendor.key_env[0] if vendor.key_env else "key_command"
                raise KeyMissing(f"There is no key for the speaker {self.spec}.", then=f"Set {name}, or name another.")
            return client, pool[0]

        context = SpeakerContext(self.spec, rest, self._deps.voices, catalog.timeouts, reach, self.free)
        return open_speaker(WIRE if speaks_wire else kind, context)


HOW = (
    "Set `speaker` to local (a voice of this machine), command:LINE, elevenlabs:MODEL, "
    "or vendor:model such as openai:gpt-4o-mini-tts."
)
"""What to do where there is none."""


def fault(speaker: str, texts: Sequence[str], encoded: EncodedVoice) -> str:
    """What is wrong with a sound, judged by its length and loudness against its words; empty for nothing.

    A server that stops in the middle answers as one that has said everything.
    """
    if max(encoded.peaks, default=0) < _SILENT:
        return _empty(speaker)
    for number, (text, seconds) in enumerate(zip(texts, encoded.lengths, strict=True), 1):
        if len(text) >= _SHORT and seconds * FASTEST < len(text):
            part = f"Part {number} of {len(texts)}, " if len(texts) > 1 else "The text, "
            return (
                f"{part}{len(text):,} characters, came back as {seconds:.1f} s of sound: {speaker} did not say all of "
                "it, so nothing was sent. Try again with a shorter text, or use another speaker."
            )
    return ""


def _empty(speaker: str) -> str:
    return f"{speaker} answered with silence, so nothing was sent. Try another voice, or another speaker."


def _media(blob: BlobRef, encoded: EncodedVoice, words: str) -> Media:
    return Media(blob, MediaKind.VOICE, "voice.ogg", seconds=encoded.seconds, peaks=encoded.peaks, words=words)
