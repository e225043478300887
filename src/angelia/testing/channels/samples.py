"""Small files of every kind, in the shapes that trouble chat networks."""

import msgspec

from angelia.channels.capabilities import Kind, NativeMethod
from angelia.testing.channels.network import Sample
from angelia.testing.model.pictures import one_colour

ODD_NAMES = (
    'it\'s "two;\nlines" 50%22 \\ <b>&amp;.pdf',
    "\u202eright to left 🦊 é 漢字.pdf",
    "é" * 125 + ".pdf",
    ".pdf",
)
"""The third has 254 bytes, and file systems take 255."""

SHAPES = ("tiny", "at the limit", "over the limit", "empty", "no extension", *ODD_NAMES)

_OPUS = b"OggS\0\2" + bytes(8) + b"\1" + bytes(11) + b"\1\x13OpusHead\1\1\x38\1\x80\xbb\0\0\0\0\0"
_MP4 = b"\0\0\0\x18ftypisom\0\0\2\0isommp41\0\0\0\x08free\0\0\0\x08mdat"
_MP3 = b"ID3\4\0\0\0\0\0\0\xff\xfb\x90\x64" + bytes(413)
_PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n%%EOF\n"


def samples() -> tuple[Sample, ...]:
    """One file of each kind and type, the most usual type first; of recordings just their head."""
    return (
        Sample(Kind.PHOTO, "red.jpg", "image/jpeg", one_colour("red", form="JPEG")),
        Sample(Kind.PHOTO, "red.png", "image/png", one_colour("red")),
        Sample(Kind.ANIMATION, "blink.gif", "image/gif", one_colour("blue", form="GIF")),
        Sample(Kind.ANIMATION, "blink.mp4", "video/mp4", _MP4),
        Sample(Kind.VOICE, "voice.ogg", "audio/ogg", _OPUS),
        Sample(Kind.AUDIO, "song.mp3", "audio/mpeg", _MP3),
        Sample(Kind.VIDEO, "film.mp4", "video/mp4", _MP4),
        Sample(Kind.DOCUMENT, "report.pdf", "application/pdf", _PDF),
    )


def sample_of(kind: Kind, way: NativeMethod | None = None) -> Sample:
    """A file of that kind, of a type that `way` takes."""
    mimes = way.mimes if way else ()
    return next(one for one in samples() if one.kind is kind and (not mimes or one.mime in mimes))


def shaped(sample: Sample, shape: str, limit: int) -> Sample:
    """The sample in one of `SHAPES`, where `limit` is bytes; longer ones have zeros behind what is read of them."""
    match shape:
        case "tiny":
            return sample
        case "at the limit":
            return msgspec.structs.replace(sample, data=sample.data.ljust(limit, b"\0"))
        case "over the limit":
            return msgspec.structs.replace(sample, data=sample.data.ljust(limit + 1, b"\0"))
        case "empty":
            return msgspec.structs.replace(sample, data=b"")
        case "no extension":
            return msgspec.structs.replace(sample, name="Makefile")
        case name:
            return msgspec.structs.replace(sample, name=name)
