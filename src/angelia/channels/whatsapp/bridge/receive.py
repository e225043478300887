"""What the bridge tells, as envelopes."""

from typing import Literal

from msgspec import Struct, field

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.channels.incoming import (
    Confirmed,
    Envelope,
    IncomingMessage,
    IncomingSender,
    Noticed,
    OfferedFile,
    ReachedUpdate,
)
from angelia.core.entry import Address

_KINDS = {
    "photo": Kind.PHOTO,
    "video": Kind.VIDEO,
    "animation": Kind.ANIMATION,
    "audio": Kind.AUDIO,
    "voice": Kind.VOICE,
    "document": Kind.DOCUMENT,
    "sticker": Kind.PHOTO,
}


class ToldFile(Struct, frozen=True):
    """A file that came."""

    kind: str
    mime: str = ""
    name: str = ""
    size: int = -1
    seconds: float = 0.0


class Told(Struct, frozen=True, rename="camel"):
    """One thing, as `told.mjs` tells it. `at` is Unix seconds; `ours` says that our own account did it. `answered` is
    the file of the message `answers`.
    """

    what: Literal["said", "edit", "deletion", "reaction", "delivered", "read"]
    id: str
    chat: str
    from_: str = field(default="", name="from")
    name: str = ""
    ours: bool = False
    at: int = 0
    text: str = ""
    file: ToldFile | None = None
    answers: str = ""
    quoted: str = ""
    answered: ToldFile | None = None
    forwarded: bool = False
    to_us: bool = False
    about: str | None = ""


def envelope(told: Told, door: str) -> Envelope | None:
    """The envelope of one thing; None for what we did ourselves."""
    address = Address(door, told.chat)
    if told.what in ("delivered", "read"):
        key = f"{told.id}.{told.what}"
        return Envelope(address, key, IncomingSender(told.chat), Confirmed(told.id, ReachedUpdate(told.what)), told.id)
    if told.ours:
        return None
    private = not told.chat.endswith("@g.us")
    who = IncomingSender(told.from_.removesuffix("@s.whatsapp.net"), told.name)
    key = f"{told.chat}:{told.id}"
    return Envelope(address, key, who, _what(told), told.id, private, private or told.to_us, told.at * 1000)


def _what(told: Told) -> IncomingMessage | Noticed:
    about, name = told.about or "", told.name or "Somebody"
    match told.what:
        case "edit":
            return IncomingMessage(told.text, edits=about)
        case "deletion":
            return Noticed(IncomingKind.DELETION, f"{name} deleted a message.", about)
        case "reaction":
            words = f"{name} reacted with {told.text}." if told.text else f"{name} took their reaction back."
            return Noticed(IncomingKind.REACTION, words, about)
        case _:
            files, answered = _offers(told.file, told.id), _offers(told.answered, told.answers)
            if told.forwarded:
                return IncomingMessage("", files, shared=told.text, forwarded=True)
            quoted = told.quoted or ", ".join(f"({offer.kind.value})" for offer in answered)
            return IncomingMessage(told.text, (*files, *answered), quoted)


def _offers(file: ToldFile | None, message: str) -> tuple[OfferedFile, ...]:
    if file is None:
        return ()
    named = file.name or ("sticker.webp" if file.kind == "sticker" else "")
    mime = file.mime.partition(";")[0].strip()
    return (OfferedFile(_KINDS[file.kind], message, named, mime, file.size, file.seconds),)
