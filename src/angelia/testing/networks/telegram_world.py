"""Chats, people, messages and files of the fake Telegram, and how what people do becomes updates."""

import time
from pathlib import Path
from typing import Any

from msgspec import Struct

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.core.entry import Address
from angelia.testing.channels.network import CONTACT, PLACE, ArrivedMessage, Sample, Thing, Who
from angelia.testing.networks.telegram_schema import BotApiError, check

BOT = {"id": 123456, "is_bot": True, "first_name": "Angelia", "username": "angelia_test_bot"}
ANN = {"id": 7001, "is_bot": False, "first_name": "Ann", "last_name": "Example"}
BEEP = {"id": 8001, "is_bot": True, "first_name": "Beep", "username": "beep_bot"}

HERE = Address("", "7001")
GROUP = Address("", "-1002000000001")
TOPIC = Address("", GROUP.chat, "77")
NOWHERE = Address("", "999999")
BLOCKED = Address("", "7403")
"""Somebody who has blocked the bot."""
MOVED = Address("", "-500")
"""A group that has become the supergroup `GROUP`."""

CHATS: dict[str, dict[str, Any]] = {
    HERE.chat: {"id": 7001, "type": "private", "first_name": "Ann", "last_name": "Example"},
    GROUP.chat: {"id": int(GROUP.chat), "type": "supergroup", "title": "Garden", "is_forum": True},
}

_FROM_EVE = {"type": "hidden_user", "sender_user_name": "Eve", "date": 1}
"""`MessageOriginHiddenUser`: somebody who does not let forwards link to their account."""
_WHO = {Who.FRIEND: ANN, Who.BOT: BEEP, Who.OURSELVES: BOT}


DRAFT_S = 30.0
"""How long a draft is seen ("sendMessageDraft")."""


class Drafted(Struct, frozen=True):
    """A draft under its number, and when it goes."""

    number: int
    text: str
    ends: float


class TelegramWorld:
    """Everything that lasts, and drafts. `updates` are those that have not been acknowledged, in the order in which
    they go out. `folder` is where a server of one's own puts files, None for a server that is not. `clock` tells
    seconds.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder, self.clock = folder, time.monotonic
        self.arrived: list[ArrivedMessage] = []
        self.updates: list[dict[str, Any]] = []
        self.brought: list[dict[str, Any]] = []
        self.messages: dict[tuple[str, int], dict[str, Any]] = {}
        self.drafts: dict[tuple[str, str], Drafted] = {}
        self.files: dict[str, bytes] = {}
        self.answers: list[tuple[str, str]] = []
        self.menu: list[dict[str, str]] = []
        self.limits: dict[Kind, int] = {}
        self._number, self._message = 5_000, 100

    def chat(self, chat: str) -> dict[str, Any]:
        """A chat that the bot may write to.

        Raises:
            BotApiError: there is none of that id, or it may not.
        """
        if chat == BLOCKED.chat:
            raise BotApiError(403, "Forbidden: bot was blocked by the user")
        if chat == MOVED.chat:
            moved = "Bad Request: group chat was upgraded to a supergroup chat"
            raise BotApiError(400, moved, migrate_to_chat_id=int(GROUP.chat))
        if chat not in CHATS:
            raise BotApiError(400, "Bad Request: chat not found")
        return CHATS[chat]

    def post(self, where: Address, author: dict[str, Any], **more: Any) -> dict[str, Any]:
        """A new message in a chat, as the API shows it."""
        self._message += 1
        message = {
            "message_id": self._message,
            "date": int(time.time()),
            "chat": CHATS[where.chat],
            "from": author,
            **more,
        }
        if where.thread:
            message |= {"message_thread_id": int(where.thread), "is_topic_message": True}
        check("Message", message)
        if author is BOT:
            self.drafts.pop((where.chat, where.thread), None)
        self.messages[where.chat, self._message] = message
        return message

    def draft(self, where: Address, number: int, text: str) -> None:
        """Show a draft in a chat, in the place of the one before."""
        self.drafts[where.chat, where.thread] = Drafted(number, text, self.clock() + DRAFT_S)

    def drafted(self, where: Address) -> str:
        """The draft that is seen in a chat now, empty for none."""
        draft = self.drafts.get((where.chat, where.thread))
        return draft.text if draft and self.clock() < draft.ends else ""

    def store(self, data: bytes) -> dict[str, Any]:
        """A file, as the fields that every kind of it has."""
        number = f"file-{len(self.files) + 1}"
        self.files[number] = data
        return {"file_id": number, "file_unique_id": f"unique-{number}", "file_size": len(data)}

    def happen(self, thing: Thing) -> str:
        """Let somebody do something; the id of its (first) message."""
        match thing.heard:
            case IncomingKind.DELETION:
                self.messages.pop((thing.where.chat, int(thing.about)))
                return thing.about
            case IncomingKind.EDIT:
                return self._edit(thing)
            case IncomingKind.REACTION:
                return self._react(thing)
            case IncomingKind.BUTTON:
                return self._press(thing)
            case _:
                return self._say(thing)

    def _say(self, thing: Thing) -> str:
        album = {"media_group_id": f"album-{self._number}"} if len(thing.files) > 1 else {}
        answered = self.messages.get((thing.where.chat, int(thing.answers))) if thing.answers else None
        reply = {"reply_to_message": answered} if answered else {}
        passed_on = {"forward_origin": _FROM_EVE} if thing.forwarded else {}
        first = ""
        for at, file in enumerate(thing.files or (None,)):
            text = "" if at else thing.text
            said = self._content(thing, text, file)
            message = self.post(thing.where, _WHO[thing.who], **said, **album, **reply, **passed_on)
            self._tell(message=message)
            first = first or str(message["message_id"])
        return first

    def _content(self, thing: Thing, text: str, file: Sample | None) -> dict[str, Any]:
        match thing.heard:
            case IncomingKind.LOCATION:
                return {"location": {"latitude": PLACE[0], "longitude": PLACE[1]}}
            case IncomingKind.CONTACT:
                first, _, last = CONTACT[0].partition(" ")
                return {"contact": {"phone_number": CONTACT[1], "first_name": first, "last_name": last}}
            case _ if file:
                caption = {"caption": text} if text else {}
                return {**media_fields(thing.heard.value, self.store(file.data), file), **caption}
            case _:
                return _spoken(thing, text)

    def _edit(self, thing: Thing) -> str:
        old = self.messages[thing.where.chat, int(thing.about)]
        new = {**old, "text": thing.text, "edit_date": old["date"] + 1}
        self.messages[thing.where.chat, int(thing.about)] = new
        self._tell(edited_message=new)
        return thing.about

    def _react(self, thing: Thing) -> str:
        marks = [{"type": "emoji", "emoji": thing.text}] if thing.text else []
        about = {"chat": CHATS[thing.where.chat], "message_id": int(thing.about), "user": _WHO[thing.who]}
        reacted = {**about, "date": int(time.time()), "old_reaction": [], "new_reaction": marks}
        self._tell(message_reaction=reacted)
        return thing.about

    def _press(self, thing: Thing) -> str:
        message = self.messages[thing.where.chat, int(thing.about)]
        press = {"id": f"press-{self._number}", "from": _WHO[thing.who], "message": message, "chat_instance": "1"}
        self._tell(callback_query={**press, "data": thing.value})
        return thing.about

    def _tell(self, **what: Any) -> None:
        self._number += 1
        update = {"update_id": self._number, **what}
        check("Update", update)
        self.updates.append(update)
        self.brought.append(update)


def media_fields(field: str, stored: dict[str, Any], file: Sample) -> dict[str, Any]:
    """A file as the field of a message that holds it."""
    named = {"file_name": file.name, "mime_type": file.mime}
    shape = {"width": 64, "height": 64}
    match field:
        case "photo":
            small = {**stored, "file_id": f"{stored['file_id']}-small", "file_size": 1, "width": 9, "height": 9}
            return {"photo": [small, {**stored, **shape}]}
        case "voice":
            return {"voice": {**stored, "duration": 1, "mime_type": file.mime}}
        case "audio":
            return {"audio": {**stored, **named, "duration": 1}}
        case "video" | "animation":
            return {field: {**stored, **named, **shape, "duration": 1}}
        case "sticker":
            flags = {"type": "regular", "is_animated": False, "is_video": False, "emoji": "🙂"}
            return {"sticker": {**stored, **shape, **flags}}
        case _:
            return {"document": {**stored, **named}}


def _spoken(thing: Thing, text: str) -> dict[str, Any]:
    """Words, with a mention of the bot in the way of a command or of a sentence."""
    name = f"@{BOT['username']}"
    if thing.heard is IncomingKind.COMMAND:
        command, space, rest = text.partition(" ")
        command += name if thing.to_us else ""
        entity = {"type": "bot_command", "offset": 0, "length": len(command)}
        return {"text": f"{command}{space}{rest}", "entities": [entity]}
    if not thing.to_us:
        return {"text": text}
    return {"text": f"{name} {text}", "entities": [{"type": "mention", "offset": 0, "length": len(name)}]}
