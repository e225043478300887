"""What the process that opens media is asked, what it answers, and how much it may take."""

from enum import StrEnum

from msgspec import Struct

from angelia.context.media_forms import Pixels, quoted, size_words
from angelia.core.errors import BadInput
from angelia.store.media.documents import Page
from angelia.store.media.pictures import Drawn
from angelia.store.media.voice_notes import EncodedVoice


class MediaType(StrEnum):
    """What decodes it: each has a library, limits and processes of its own, so that neither waits for the other."""

    PICTURE = "picture"
    PDF = "PDF"
    SOUND = "sound"


class MediaLimits(Struct, frozen=True):
    """What opening one medium may take: `seconds` on the clock and of a processor, `memory` in bytes of address space,
    `at_once` such processes beside each other.
    """

    seconds: float
    memory: int
    at_once: int


LIMITS = {
    MediaType.PICTURE: MediaLimits(seconds=30, memory=2_500_000_000, at_once=2),
    MediaType.PDF: MediaLimits(seconds=30, memory=1_500_000_000, at_once=2),
    MediaType.SOUND: MediaLimits(seconds=120, memory=1_500_000_000, at_once=2),
}
"""Measured with Pillow 12 and PDFium 7: the largest picture that is opened (120 million pixels, transparent and lying
on its side) takes 1.6 GB and 6 s, a photo of 12 million a quarter of a second, with the start of the process.
Twelve minutes of speech, the longest text that is spoken, are encoded in some 20 s.
"""


class MeasurePicture(Struct, frozen=True, tag=True):
    """Decode it to its end: `store.media.pictures.check`."""

    name: str


class FindTransparency(Struct, frozen=True, tag=True):
    """`store.media.pictures.is_transparent`."""

    name: str


class RedrawPicture(Struct, frozen=True, tag=True):
    """`store.media.pictures.redraw`."""

    long_edge: int
    name: str


class CountPages(Struct, frozen=True, tag=True):
    """`store.media.documents.count_pages`."""

    name: str


class ReadPages(Struct, frozen=True, tag=True):
    """`store.media.documents.read_pages`."""

    long_edge: int
    most_text: int
    most_pictures: int
    name: str


class EncodeVoice(Struct, frozen=True, tag=True):
    """`store.media.voice_notes.encode_voice`, of sounds that lie behind each other; `sizes` are their bytes."""

    sizes: tuple[int, ...]
    name: str = ""


class DecodeSound(Struct, frozen=True, tag=True):
    """`store.media.voice_notes.as_wav`."""

    name: str = ""


MediaJob = MeasurePicture | FindTransparency | RedrawPicture | CountPages | ReadPages | EncodeVoice | DecodeSound

ANSWERS: dict[type, object] = {
    MeasurePicture: Pixels,
    FindTransparency: bool,
    RedrawPicture: Drawn,
    CountPages: int,
    ReadPages: tuple[Page, ...],
    EncodeVoice: EncodedVoice,
    DecodeSound: bytes,
}
"""What each is answered with, where it can be opened."""

TAKEN, ANSWERED, REFUSED, NO_MEMORY = b"t", b"a", b"r", b"m"
"""One byte each: the job has arrived; then the answer, why it cannot be opened, or that memory was not enough."""

LENGTH = 8
"""Bytes, big-endian, that say how long the following message is."""


class JobRefusal(Struct, frozen=True):
    """The three parts of a `BadInput`."""

    what: str
    why: str
    then: str


class MediaLimitMet(BadInput):
    """Opening a medium took more than it may, and was ended; to try it again would end the same way. `took` says what,
    with the number: `took more than 30 s to open`.
    """

    def __init__(self, job: MediaJob, took: str) -> None:
        self.took = took
        called = f"The {media_type(job)} {quoted(job.name)}".rstrip()
        super().__init__(
            f"{called} {took}, and opening it was ended.",
            "It is damaged, made to do harm, or far larger than it looks.",
            "Save or print it once more as a new file, or give the part that matters.",
        )


def over_time(job: MediaJob, limits: MediaLimits) -> MediaLimitMet:
    """It was not done in time."""
    return MediaLimitMet(job, f"took more than {limits.seconds:g} s to open")


def over_memory(job: MediaJob, limits: MediaLimits) -> MediaLimitMet:
    """It asked for more memory than there is for it."""
    return MediaLimitMet(job, f"took more than {size_words(limits.memory)} of memory to open")


def broke_down(job: MediaJob, limits: MediaLimits) -> MediaLimitMet:
    """The process ended without a word: what decodes ends itself where it gets no memory, or finds itself broken."""
    most = size_words(limits.memory)
    return MediaLimitMet(job, f"took more than {most} of memory to open, or broke the program that opens it")


def media_type(job: MediaJob) -> MediaType:
    """What decodes it."""
    if isinstance(job, EncodeVoice | DecodeSound):
        return MediaType.SOUND
    return MediaType.PICTURE if isinstance(job, MeasurePicture | FindTransparency | RedrawPicture) else MediaType.PDF
