"""What an update tells, as an envelope."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.channels.incoming import Envelope, IncomingMessage, IncomingSender, Noticed, OfferedFile, Pressed
from angelia.channels.telegram.payloads import (
    Chat,
    Left,
    Press,
    TelegramMark,
    TelegramMedia,
    TelegramMessage,
    TelegramReacted,
    TelegramSticker,
    TelegramUser,
    Update,
)
from angelia.core.counts import counted
from angelia.core.entry import Address

_UNREADABLE = {
    "story": "(a story, which Telegram does not show to bots)",
    "paid_media": "(media that have to be paid for, which Telegram does not show to bots)",
    "game": "(a game)",
    "invoice": "(an invoice)",
}


class TelegramReader:
    """Reads for the bot `me` behind `door`; `commands` are the verbs that it answers to."""

    def __init__(self, door: str, me: TelegramUser, commands: Collection[str]) -> None:
        self._door = door
        self._me = me
        self._commands = commands

    def envelope(self, updates: Sequence[Update]) -> Envelope | None:
        """The envelope of one update, or of the parts of one album; None for what nobody says to anybody: bots,
        ourselves, service messages, and places that are shared while they move.
        """
        first = updates[0]
        if first.callback_query:
            return self._press(first.update_id, first.callback_query)
        if first.message_reaction:
            return self._reaction(first.update_id, first.message_reaction)
        if first.unreadable:
            return self._unreadable(first.update_id, first.unreadable)
        messages = [one for update in updates if (one := update.message or update.edited_message)]
        return self._message(updates, messages, edited=first.message is None) if messages else None

    def _message(
        self, updates: Sequence[Update], messages: Sequence[TelegramMessage], *, edited: bool
    ) -> Envelope | None:
        first = messages[0]
        sender = self._sender(first.from_, first.sender_chat)
        parts = [said for message in messages if (said := self._said(message))]
        if sender is None or not parts or (edited and first.location):
            return None
        said = IncomingMessage(
            "\n".join(part.text for part in parts if part.text),
            (*(offer for part in parts for offer in part.offers), *_answered_files(first)),
            _quoted(first),
            str(first.message_id) if edited else "",
            "\n".join(part.shared for part in parts if part.shared),
            all(part.forwarded for part in parts),
        )
        ids = "-".join(str(update.update_id) for update in (updates[0], *updates[1:][-1:]))
        thread = str(first.message_thread_id) if first.is_topic_message else ""
        return Envelope(
            Address(self._door, str(first.chat.id), thread),
            f"{ids}:{first.chat.id}:{first.message_id}",
            sender,
            said,
            str(first.message_id),
            first.chat.type == "private",
            first.chat.type == "private" or any(map(self._to_us, messages)),
            (first.edit_date or first.date) * 1000,
        )

    def _press(self, update: int, press: Press) -> Envelope | None:
        sender, on = self._sender(press.from_, None), press.message
        if sender is None or on is None:
            return None
        thread = str(on.message_thread_id) if on.is_topic_message else ""
        where = Address(self._door, str(on.chat.id), thread)
        what = Pressed(press.data, str(on.message_id))
        key = f"{update}:{on.chat.id}:{on.message_id}"
        return Envelope(where, key, sender, what, str(on.message_id), on.chat.type == "private")

    def _reaction(self, update: int, reacted: TelegramReacted) -> Envelope | None:
        sender = self._sender(reacted.user, reacted.actor_chat)
        if sender is None:
            return None
        marks = " ".join(one.emoji or "an emoji of their own" for one in reacted.new_reaction)
        text = f"{sender.name} reacted with {marks}." if marks else f"{sender.name} took their reaction back."
        message, private = str(reacted.message_id), reacted.chat.type == "private"
        where, key = Address(self._door, str(reacted.chat.id)), f"{update}:{reacted.chat.id}:{message}"
        what = Noticed(IncomingKind.REACTION, text, message)
        return Envelope(where, key, sender, what, message, private, private, reacted.date * 1000)

    def _unreadable(self, update: int, left: Left) -> Envelope | None:
        """Nothing was said that can be read; in a group nobody knows whether it was said to us."""
        sender, private = self._sender(left.from_, None), left.chat.type == "private"
        where = Address(self._door, str(left.chat.id))
        return (
            Envelope(where, f"{update}:{left.chat.id}", sender, IncomingMessage(), "", private, private)
            if sender
            else None
        )

    def _sender(self, person: TelegramUser | None, chat: Chat | None) -> IncomingSender | None:
        """Who it was. An anonymous administrator and a linked channel speak as their chat; bots do not speak."""
        if chat:
            return IncomingSender(str(chat.id), chat.title)
        return None if person is None or person.is_bot else IncomingSender(str(person.id), person.name)

    def _said(self, message: TelegramMessage) -> IncomingMessage | None:
        offers, words = tuple(_offers(message)), _words(message)
        if not offers and not words:
            return None
        if message.of_others:
            return IncomingMessage("", offers, shared=words, forwarded=True)
        return IncomingMessage(self._without_our_name(words, message), offers)

    def _without_our_name(self, words: str, message: TelegramMessage) -> str:
        """A command in a group names the bot that it is for: `/status@our_bot`."""
        for mark in message.entities:
            if mark.type == "bot_command" and mark.offset == 0:
                command, _, name = _part(words, mark).partition("@")
                if name.lower() == self._me.username.lower():
                    return command + words[mark.length :]
        return words

    def _to_us(self, message: TelegramMessage) -> bool:
        """Whether it is a command or a mention of ours, or answers us. What is passed on says nothing to anybody."""
        if message.of_others:
            return False
        answers = message.reply_to_message
        if answers and answers.from_ and answers.from_.id == self._me.id:
            return True
        marked = [(mark, message.text) for mark in message.entities]
        marked += [(mark, message.caption) for mark in message.caption_entities]
        return any(self._names_us(mark, text) for mark, text in marked)

    def _names_us(self, mark: TelegramMark, text: str) -> bool:
        ours = self._me.username.lower()
        match mark.type:
            case "mention":
                return _part(text, mark).lower() == f"@{ours}"
            case "text_mention":
                return mark.user is not None and mark.user.id == self._me.id
            case "bot_command":
                command, _, name = _part(text, mark).removeprefix("/").partition("@")
                return name.lower() == ours if name else command in self._commands
            case _:
                return False


def _part(text: str, mark: TelegramMark) -> str:
    """The marked part of a text."""
    raw = text.encode("utf-16-le", "surrogatepass")
    return raw[mark.offset * 2 : (mark.offset + mark.length) * 2].decode("utf-16-le", "replace")


def _quoted(message: TelegramMessage) -> str:
    """What it answers; in a topic every message answers the one that opened it, which is no answer."""
    if message.quote:
        return message.quote.text
    answers = _answered(message)
    if answers is None:
        return ""
    return _words(answers) or ", ".join(f"({offer.kind.value})" for offer in _offers(answers))


def _answered(message: TelegramMessage) -> TelegramMessage | None:
    """The message that this one answers; in a topic, not the one that opened it."""
    answers = message.reply_to_message
    opens_topic = answers and message.is_topic_message and answers.message_id == message.message_thread_id
    return None if opens_topic else answers


def _answered_files(message: TelegramMessage) -> tuple[OfferedFile, ...]:
    """The files of what a message answers: who asks about a picture by answering it means that picture."""
    answers = _answered(message)
    return tuple(_offers(answers)) if answers else ()


def _offers(message: TelegramMessage) -> Iterator[OfferedFile]:
    """The files of a message; of a photo its largest size."""
    if message.photo:
        largest = max(message.photo, key=lambda size: size.width * size.height)
        yield OfferedFile(Kind.PHOTO, largest.file_id, mime="image/jpeg", size=largest.file_size)
    if message.voice:
        yield _offer(Kind.VOICE, message.voice, "audio/ogg")
    if message.audio:
        yield _offer(Kind.AUDIO, message.audio)
    if message.video:
        yield _offer(Kind.VIDEO, message.video)
    if message.video_note:
        yield _offer(Kind.VIDEO, message.video_note, "video/mp4")
    if message.animation:
        yield _offer(Kind.ANIMATION, message.animation)
    elif message.document:
        # an animation is told as a document besides, for old programs
        yield _offer(Kind.DOCUMENT, message.document)
    if message.sticker:
        yield _sticker(message.sticker)


def _offer(kind: Kind, media: TelegramMedia, mime: str = "") -> OfferedFile:
    return OfferedFile(kind, media.file_id, media.file_name, media.mime_type or mime, media.file_size, media.duration)


def _sticker(sticker: TelegramSticker) -> OfferedFile:
    kind, mime, name = Kind.PHOTO, "image/webp", "sticker.webp"
    if sticker.is_animated:
        kind, mime, name = Kind.DOCUMENT, "application/x-tgsticker", "sticker.tgs"
    elif sticker.is_video:
        kind, mime, name = Kind.VIDEO, "video/webm", "sticker.webm"
    return OfferedFile(kind, sticker.file_id, name, mime, sticker.file_size)


def _words(message: TelegramMessage) -> str:
    """A message's words; what has none is told in words."""
    if message.text or message.caption:
        return message.text or message.caption
    if message.venue and message.location:
        return f"{_place(message)} ({message.venue.title}, {message.venue.address})"
    if message.location:
        return _place(message)
    if message.contact:
        name = f"{message.contact.first_name} {message.contact.last_name}".strip()
        return f"Contact: {name}, {message.contact.phone_number}"
    if message.poll:
        return "\n".join((f"Poll: {message.poll.question}", *(f"• {one.text}" for one in message.poll.options)))
    if message.checklist:
        return "\n".join(
            (f"Checklist: {message.checklist.title}", *(f"• {one.text}" for one in message.checklist.tasks))
        )
    if message.dice:
        return f"{message.dice.emoji} {message.dice.value}"
    if message.sticker:
        return message.sticker.emoji and f"(sticker {message.sticker.emoji})"
    if message.rich_message is not None:
        return "\n".join(_texts(message.rich_message))
    known = next((words for name, words in _UNREADABLE.items() if getattr(message, name) is not None), "")
    if known or not message.unknown or any(_offers(message)):
        return known
    return f"(something of the kind “{message.unknown}”, which is not read here)"


def _place(message: TelegramMessage) -> str:
    place = message.location
    assert place is not None
    moving = f", shared for {counted(place.live_period // 60, 'minute')} while it moves" if place.live_period else ""
    return f"Location: {place.latitude}, {place.longitude}{moving}"


def _texts(value: Any) -> Iterator[str]:
    """Every text of a rich message, in its order ("RichBlock", "RichText")."""
    if isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name == "text" and (line := "".join(_inline(inner))):
                yield line
            elif isinstance(inner, list | dict):
                yield from _texts(inner)


def _inline(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _inline(one)
    elif isinstance(value, dict):
        yield from _inline(value.get("text", ""))
