"""As which kind a medium goes out to a network, and why not as another."""

from pathlib import PurePosixPath

from msgspec import Struct

from angelia.channels.capabilities import As, Capabilities, Kind, NativeMethod
from angelia.channels.failures import Rejected
from angelia.channels.outgoing import OutFile
from angelia.context.media_forms import size_words
from angelia.core.content import Media, MediaKind

UNKNOWN = "application/octet-stream"

WORDS = {
    Kind.PHOTO: "photo",
    Kind.ANIMATION: "animation",
    Kind.VOICE: "voice message",
    Kind.AUDIO: "recording",
    Kind.VIDEO: "video",
    Kind.DOCUMENT: "file",
}
"""What people call the kinds."""

_PICTURES = frozenset({"image/jpeg", "image/png", "image/webp"})

NAMED = {
    ".gif": Kind.ANIMATION,
    **dict.fromkeys((".jpg", ".jpeg", ".png", ".webp"), Kind.PHOTO),
    **dict.fromkeys((".ogg", ".oga", ".opus", ".mp3", ".wav", ".m4a", ".flac", ".aac"), Kind.AUDIO),
    **dict.fromkeys((".mp4", ".mov", ".avi", ".mkv", ".3gp", ".webm"), Kind.VIDEO),
}
"""Kinds by extension, for bytes that nobody recognised."""

ENDINGS = {
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/webp": ".webp",
    "image/gif": ".gif",
    "audio/ogg": ".ogg",
    "audio/opus": ".ogg",
    "audio/mpeg": ".mp3",
    "audio/mp4": ".m4a",
    "audio/wav": ".wav",
    "video/mp4": ".mp4",
    "video/webm": ".webm",
    "application/pdf": ".pdf",
    "text/plain": ".txt",
}
"""How names of files end, by their type."""

_SPOKEN = frozenset({"audio/ogg", "audio/opus"})
_NOT_SPOKEN = "a voice message has to be Ogg with Opus"

_NEXT = {Kind.VOICE: Kind.AUDIO} | dict.fromkeys((Kind.AUDIO, Kind.VIDEO, Kind.ANIMATION, Kind.PHOTO), Kind.DOCUMENT)
"""What is tried when the network has a kind, and this medium does not fit it."""


class ChosenKind(Struct, frozen=True):
    """It goes as `kind`; `note` tells people if that is not what it is."""

    kind: Kind
    way: NativeMethod
    note: str = ""


class Misfit(Struct, frozen=True):
    """It goes as nothing, `because`: the last thing that was tried, with its numbers."""

    because: str


def fit(media: Media, capabilities: Capabilities) -> ChosenKind | Misfit:
    """The best kind for a medium: its own, else along the network's table, else the next plainer kind."""
    kind: Kind | None = wanted(media)
    reasons: list[str] = []
    seen: set[Kind] = set()
    while kind and kind not in seen:
        seen.add(kind)
        way = capabilities.ways[kind]
        reason = _misfit(media, kind, way) if isinstance(way, NativeMethod) else way.because
        if isinstance(way, NativeMethod) and not reason:
            return ChosenKind(kind, way, f"sent as a {WORDS[kind]}: {reasons[0]}" if reasons else "")
        reasons.append(reason)
        kind = way.kind if isinstance(way, As) else _NEXT.get(kind)
    return Misfit(reasons[-1])


def refuse_too_large(file: OutFile, capabilities: Capabilities, network: str) -> None:
    """See that a file is within its kind's limit, before a byte of it leaves.

    Raises:
        Rejected: it is not.
    """
    way = capabilities.ways[file.kind]
    if isinstance(way, NativeMethod) and way.limit and file.size > way.limit:
        raise Rejected(
            f"{file.name} is {size_words(file.size)}, and {network} takes at most {size_words(way.limit)}.",
            then="Ask for a smaller file, or for a link.",
        )


def wanted(media: Media) -> Kind:
    """What a medium is: as somebody asked for it, else by its content, else by its name."""
    mime = media.blob.mime.partition(";")[0]
    if media.media is MediaKind.DOCUMENT:
        return Kind.DOCUMENT
    if media.media is MediaKind.VOICE:
        return Kind.VOICE
    if mime in ("", UNKNOWN):
        return NAMED.get(PurePosixPath(media.name.lower()).suffix, Kind.DOCUMENT)
    if mime == "image/gif":
        return Kind.ANIMATION
    if mime in _PICTURES:
        return Kind.PHOTO
    return {"audio": Kind.AUDIO, "video": Kind.VIDEO}.get(mime.partition("/")[0], Kind.DOCUMENT)


def _misfit(media: Media, kind: Kind, way: NativeMethod) -> str:
    """Why a medium is none of this kind for this network; empty if it is one."""
    word, mime, size = WORDS[kind], media.blob.mime.partition(";")[0], media.blob.size
    if way.limit and size > way.limit:
        return f"too large for a {word} ({size_words(size)}, at most {size_words(way.limit)})"
    if kind is Kind.VOICE and mime not in (way.mimes or _SPOKEN):
        return _NOT_SPOKEN
    if way.mimes and mime not in way.mimes:
        return f"{mime or 'an unknown type'} is not taken as a {word}"
    if kind is not Kind.PHOTO:
        return ""
    long, short = max(media.width, media.height), min(media.width, media.height)
    if way.longest and long + short > way.longest:
        return f"too many pixels for a photo ({media.width} × {media.height}, at most {way.longest} for both together)"
    if way.ratio and long > short * way.ratio:
        return f"too narrow for a photo ({media.width} × {media.height}, at most {way.ratio:g} to 1)"
    return ""
