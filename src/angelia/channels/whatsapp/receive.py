"""What a webhook tells, as envelopes."""

import hashlib
import logging
from collections.abc import Iterator
from typing import TypeVar

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.channels.incoming import (
    Confirmed,
    Envelope,
    IncomingMessage,
    IncomingSender,
    Noticed,
    OfferedFile,
    Pressed,
    ReachedUpdate,
)
from angelia.channels.whatsapp import refusals
from angelia.channels.whatsapp.memory import Remembered, WhatsAppMemory
from angelia.channels.whatsapp.payloads import (
    Bare,
    Card,
    Metadata,
    Status,
    Value,
    WhatsAppContact,
    WhatsAppContent,
    WhatsAppFile,
    WhatsAppMessage,
    WhatsAppPlace,
)
from angelia.core.entry import Address

log = logging.getLogger(__name__)

T = TypeVar("T")

_FILES = {
    "image": Kind.PHOTO,
    "audio": Kind.AUDIO,
    "video": Kind.VIDEO,
    "document": Kind.DOCUMENT,
    "sticker": Kind.PHOTO,
}

_SILENT = frozenset({"system", "request_welcome"})
"""What nobody says to anybody: somebody has another number, or has opened the chat."""

_REACHED = {
    "delivered": ReachedUpdate.DELIVERED,
    "read": ReachedUpdate.READ,
    "played": ReachedUpdate.READ,
    "failed": ReachedUpdate.FAILED,
}


class WhatsAppReader:
    """Reads for the door; `memory` knows what is answered."""

    def __init__(self, door: str, memory: WhatsAppMemory) -> None:
        self._door, self._memory = door, memory

    def envelopes(self, value: Value) -> Iterator[Envelope]:
        """Everything that one change tells, in its order; nothing of what nobody says to anybody."""
        contacts = [one for raw in value.contacts if (one := _read(raw, WhatsAppContact))]
        names = {one.wa_id or one.user_id: one.profile.name for one in contacts}
        for raw in value.messages:
            message = _message(raw)
            if message is None or message.type in _SILENT or not (message.from_ or message.from_user_id):
                continue
            if message.from_ != _digits(value.metadata.display_phone_number):
                yield self._envelope(message, message.id or _digest(raw), names, value.metadata)
        for raw in value.statuses:
            status = _read(raw, Status)
            if status and (reached := _REACHED.get(status.status)):
                yield self._confirmed(status, reached)

    def _envelope(self, message: WhatsAppMessage, key: str, names: dict[str, str], ours: Metadata) -> Envelope:
        who = message.from_ or message.from_user_id
        chat = message.group_id or who
        what = self._what(message, names.get(who, who))
        if message.id and not isinstance(what, Noticed):
            self._memory.heard(message.id, chat, Remembered(_words(message), tuple(_offers(message))))
        return Envelope(
            Address(self._door, chat),
            key,
            IncomingSender(who, names.get(who, "")),
            what,
            message.id,
            not message.group_id,
            not message.group_id or self._to_us(message, ours),
            _milliseconds(message.timestamp),
        )

    def _what(self, message: WhatsAppMessage, name: str) -> IncomingMessage | Pressed | Noticed:
        if message.reaction:
            emoji, about = message.reaction.emoji, message.reaction.message_id
            told = f"{name} reacted with {emoji}." if emoji else f"{name} took their reaction back."
            return Noticed(IncomingKind.REACTION, told, about)
        if message.revoke:
            return Noticed(IncomingKind.DELETION, f"{name} deleted a message.", message.revoke.original_message_id)
        if message.edit:
            now = message.edit.message
            return IncomingMessage(_words(now), tuple(_offers(now)), edits=message.edit.original_message_id)
        if message.interactive and (reply := message.interactive.button_reply or message.interactive.list_reply):
            return Pressed(reply.id, message.context.id)
        if message.context.forwarded or message.context.frequently_forwarded:
            return IncomingMessage("", tuple(_offers(message)), shared=_words(message), forwarded=True)
        said = IncomingMessage(_words(message), tuple(_offers(message)))
        return self._answering(said, message.context.id) if said != IncomingMessage() else said

    def _answering(self, said: IncomingMessage, answered: str) -> IncomingMessage:
        """The same with what it answers: who asks about a picture by answering it means that picture."""
        if not answered:
            return said
        about = self._memory.message(answered)
        if about is None:
            return replace(said, quoted="(an earlier message, which is not at hand any more)")
        quoted = about.words or ", ".join(f"({offer.kind.value})" for offer in about.offers)
        return replace(said, offers=(*said.offers, *about.offers), quoted=quoted)

    def _to_us(self, message: WhatsAppMessage, ours: Metadata) -> bool:
        """Whether a message in a group names our number, or answers us."""
        if self._memory.is_ours(message.context.id):
            return True
        if message.context.forwarded or message.context.frequently_forwarded:
            return False
        return f"@{_digits(ours.display_phone_number)}" in _words(message)

    def _confirmed(self, status: Status, reached: ReachedUpdate) -> Envelope:
        why = refusals.why(status.errors[0]) if status.errors else ""
        if any(error.code == refusals.WINDOW for error in status.errors):
            reached, why = ReachedUpdate.TOO_LATE, refusals.window_closed("").what
        return Envelope(
            Address(self._door, status.recipient_id),
            f"{status.id}.{reached}",
            IncomingSender(status.recipient_id),
            Confirmed(status.id, reached, why),
            status.id,
            sent_at=_milliseconds(status.timestamp),
        )


def _read(raw: Raw, kind: type[T]) -> T | None:
    """What it is, or nothing for what cannot be read: it is logged, and spoils nothing that came with it."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        log.warning("a %s that WhatsApp brought cannot be read: %s", kind.__name__, error)
        return None


def _message(raw: Raw) -> WhatsAppMessage | None:
    """A message; one that cannot be read is one without words, so that whoever sent it is told. Nothing where even that
    cannot be read.
    """
    try:
        return msgspec.json.decode(raw, type=WhatsAppMessage)
    except msgspec.ValidationError:
        if (left := _read(raw, Bare)) is None:
            return None
        return WhatsAppMessage(
            id=left.id,
            type="unsupported",
            timestamp=left.timestamp,
            from_=left.from_,
            from_user_id=left.from_user_id,
            group_id=left.group_id,
        )


def _digest(raw: Raw) -> str:
    """The key of a message without an id: the same when it is brought again."""
    return hashlib.sha256(raw).hexdigest()


def _offers(content: WhatsAppContent) -> Iterator[OfferedFile]:
    for name, kind in _FILES.items():
        file: WhatsAppFile | None = getattr(content, name)
        if file is None or not file.id:
            continue
        mime = file.mime_type.partition(";")[0].strip()
        named = file.filename or ("sticker.webp" if name == "sticker" else "")
        yield OfferedFile(Kind.VOICE if file.voice else kind, file.id, named, mime)


def _words(content: WhatsAppContent) -> str:
    """A message's words; what has none is told in words."""
    if content.text:
        return content.text.body
    if content.button:
        return content.button.text
    if content.location:
        return _place(content.location)
    if content.contacts:
        return "\n".join(_card(card) for card in content.contacts)
    files = (content.image, content.video, content.document)
    return next((file.caption for file in files if file and file.caption), "")


def _place(place: WhatsAppPlace) -> str:
    named = ", ".join(part for part in (place.name, place.address) if part)
    where = f"Location: {place.latitude}, {place.longitude}"
    return f"{where} ({named})" if named else where


def _card(card: Card) -> str:
    numbers = ", ".join(phone.phone or phone.wa_id for phone in card.phones)
    return f"Contact: {card.name.formatted_name}, {numbers}"


def _digits(number: str) -> str:
    return "".join(sign for sign in number if sign.isdigit())


def _milliseconds(seconds: int | str) -> int:
    """0 for a time that is none: what came with it is not held up by that."""
    try:
        return int(seconds) * 1000
    except ValueError:
        return 0
