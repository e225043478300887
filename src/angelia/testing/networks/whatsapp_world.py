"""Chats, people, messages and files of the fake WhatsApp, and how what people do becomes webhooks."""

import hashlib
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.channels.outgoing import Button
from angelia.core.entry import Address
from angelia.testing.channels.network import CONTACT, PLACE, ArrivedMessage, Sample, Thing, Who
from angelia.testing.networks.whatsapp_graph import GraphApiError, GraphOutgoing, GraphRead
from angelia.testing.networks.whatsapp_markup import shown

PHONE = "106540352242922"
"""The id of our number."""
OURS = "15550783881"
ANN = "16505551234"

HERE = Address("", ANN)
GROUP = Address("", "Y2FwaV9ncm91cDoxNzA1NTU1MDEzOToxMjAzNjM0MDQ2OTQyMzM4MjAZD")
NOWHERE = Address("", "19999999999")
LATE = Address("", "16505550024")
"""Somebody whose last message is more than 24 hours old."""
HIDDEN = Address("", "US.13491208655302741918")
"""Somebody who hides their number behind a name."""

_PEOPLE = (HERE.chat, GROUP.chat, LATE.chat, HIDDEN.chat)
_BEGAN = 1_790_000_000
"""Unix seconds at which its clock begins; each message is a second later."""

_KINDS = {"image": Kind.PHOTO, "audio": Kind.AUDIO, "video": Kind.VIDEO, "document": Kind.DOCUMENT}
_FIELDS = {
    IncomingKind.PHOTO: "image",
    IncomingKind.VOICE: "audio",
    IncomingKind.AUDIO: "audio",
    IncomingKind.VIDEO: "video",
}


class Stored(Struct, frozen=True):
    """A file on WhatsApp's side."""

    data: bytes
    mime: str


class WhatsAppWorld:
    """Everything that lasts. `brought` are the changes of every webhook so far."""

    def __init__(self) -> None:
        self.arrived: list[ArrivedMessage] = []
        self.brought: list[dict[str, Any]] = []
        self.files: dict[str, Stored] = {}
        self.limits: dict[Kind, int] = {}
        self.templates: list[tuple[str, str]] = []
        self._ours: dict[str, ArrivedMessage] = {}
        self._theirs: dict[str, str] = {}
        self._number = 100

    # -- what we send -------------------------------------------------------------------------------------------

    def take(self, message: GraphOutgoing | GraphRead) -> str:
        """A message of ours reaches whom it is for; its id.

        Raises:
            GraphApiError: it cannot.
        """
        if isinstance(message, GraphRead):
            self._marked_read(message)
            return ""
        chat = message.to or message.recipient
        if chat not in _PEOPLE:
            raise GraphApiError(400, 131030, "Recipient phone number not in allowed list")
        if (message.recipient_type == "group") != (chat == GROUP.chat):
            raise GraphApiError(400, 100, "Invalid parameter: recipient_type")
        if message.template:
            self.templates.append((chat, message.template.name))
            return self._next()
        if chat == LATE.chat:
            raise GraphApiError(400, 131047, "Message failed to send because more than 24 hours have passed")
        arrived = self._arrived(message, chat)
        self.arrived.append(arrived)
        if arrived.kind is not Kind.REACTION:
            self._ours[arrived.message] = arrived
        return arrived.message

    def _marked_read(self, mark: GraphRead) -> None:
        if mark.message_id not in self._theirs:
            raise GraphApiError(400, 100, "Invalid parameter: there is no such message")
        if mark.typing_indicator:
            self.arrived.append(ArrivedMessage("typing_indicator", Kind.TYPING, self._theirs[mark.message_id]))

    def _arrived(self, message: GraphOutgoing, chat: str) -> ArrivedMessage:
        reply_to = message.context.message_id if message.context else ""
        if message.reaction:
            return ArrivedMessage(
                "reaction", Kind.REACTION, chat, message.reaction.message_id, text=message.reaction.emoji
            )
        if message.text:
            return ArrivedMessage(
                "text", Kind.TEXT, chat, self._next(), text=shown(message.text.body), reply_to=reply_to
            )
        if message.interactive:
            if chat == GROUP.chat:
                raise GraphApiError(400, 131051, "Message type is not supported in groups")
            pressed = tuple(Button(title, value) for title, value in message.interactive.choices)
            body = shown(message.interactive.body.text)
            return ArrivedMessage("text", Kind.TEXT, chat, self._next(), text=body, reply_to=reply_to, buttons=pressed)
        return self._file(message, chat, reply_to)

    def _file(self, message: GraphOutgoing, chat: str, reply_to: str) -> ArrivedMessage:
        media = message.media
        assert media is not None
        stored = self.files.get(media.id)
        if stored is None:
            raise GraphApiError(400, 131052, "Media upload not found")
        kind = Kind.VOICE if media.voice else _KINDS[message.type]
        if len(stored.data) > self.limits[kind]:
            raise GraphApiError(400, 131053, f"File is too large: {len(stored.data)} bytes")
        return ArrivedMessage(
            "audio with voice" if media.voice else message.type,
            kind,
            chat,
            self._next(),
            text=shown(media.caption),
            name=media.filename,
            mime=stored.mime,
            data=stored.data,
            reply_to=reply_to,
        )

    # -- what they do -------------------------------------------------------------------------------------------

    def happen(self, thing: Thing) -> str:
        """Let somebody do something, and remember the change that tells it; the message's id."""
        number = self._next()
        if thing.who is not Who.FRIEND:
            self._tell_of_machines(thing, number)
            return number
        said = {"id": number, "timestamp": str(_BEGAN + self._number), **self._content(thing)}
        who = ANN if thing.where == GROUP else thing.where.chat
        known = {"from_user_id": who} if "." in who else {"from": who}
        contact = {"profile": {"name": "Ann Example"}, **({"user_id": who} if "." in who else {"wa_id": who})}
        group = {"group_id": GROUP.chat} if thing.where == GROUP else {}
        context: dict[str, Any] = {"context": {"from": OURS, "id": thing.answers}} if thing.answers else {}
        if thing.forwarded:
            context = {"context": {"forwarded": True}}
        self._theirs[number] = thing.where.chat
        self.tell(contacts=[contact], messages=[{**known, **said, **group, **context}])
        return number

    def confirm(self, message: str, chat: str, status: str, **more: Any) -> None:
        """WhatsApp tells what became of a message of ours."""
        told = {"id": message, "status": status, "timestamp": str(_BEGAN), "recipient_id": chat, **more}
        self.tell(statuses=[told])

    def tell(self, *, field: str = "messages", phone: str = PHONE, **value: Any) -> None:
        """One change."""
        metadata = {"display_phone_number": f"+{OURS}", "phone_number_id": phone}
        self.brought.append({"field": field, "value": {"messaging_product": "whatsapp", "metadata": metadata, **value}})

    def store(self, data: bytes, mime: str) -> str:
        """A file; its id."""
        number = f"{len(self.files) + 1_000_000}"
        self.files[number] = Stored(data, mime)
        return number

    def _tell_of_machines(self, thing: Thing, number: str) -> None:
        """There are no bots; what our own app sends is echoed, and the system speaks of numbers that change."""
        if thing.who is Who.OURSELVES:
            echo = {"from": OURS, "to": thing.where.chat, "id": number, "type": "text", "text": {"body": thing.text}}
            self.tell(field="smb_message_echoes", message_echoes=[echo])
            self.tell(messages=[{"from": OURS, "id": number, "type": "text", "text": {"body": thing.text}}])
        else:
            system = {"body": thing.text, "type": "user_changed_number", "wa_id": "16505559999"}
            self.tell(messages=[{"from": ANN, "id": number, "type": "system", "system": system}])

    def _content(self, thing: Thing) -> Mapping[str, Any]:
        file = next(iter(thing.files), None)
        match thing.heard:
            case IncomingKind.LOCATION:
                return _typed("location", {"latitude": PLACE[0], "longitude": PLACE[1], "name": "The garden"})
            case IncomingKind.CONTACT:
                phone = {"phone": CONTACT[1], "wa_id": CONTACT[1].lstrip("+"), "type": "CELL"}
                return _typed("contacts", [{"name": {"formatted_name": CONTACT[0]}, "phones": [phone]}])
            case IncomingKind.REACTION:
                return _typed("reaction", {"message_id": thing.about, **({"emoji": thing.text} if thing.text else {})})
            case IncomingKind.DELETION:
                return _typed("revoke", {"original_message_id": thing.about})
            case IncomingKind.EDIT:
                now = _typed("text", {"body": thing.text})
                return _typed("edit", {"original_message_id": thing.about, "message": now})
            case IncomingKind.BUTTON:
                return self._pressed(thing)
            case _ if file:
                return self._sent(thing, file)
            case _:
                text = f"@{OURS} {thing.text}" if thing.where == GROUP and thing.to_us else thing.text
                return _typed("text", {"body": text})

    def _pressed(self, thing: Thing) -> Mapping[str, Any]:
        button = next(one for one in self._ours[thing.about].buttons if one.value == thing.value)
        reply = {"type": "button_reply", "button_reply": {"id": button.value, "title": button.label}}
        return {**_typed("interactive", reply), "context": {"from": OURS, "id": thing.about}}

    def _sent(self, thing: Thing, file: Sample) -> Mapping[str, Any]:
        field = "sticker" if thing.heard is IncomingKind.STICKER else _FIELDS.get(thing.heard, "document")
        media: dict[str, Any] = {
            "id": self.store(file.data, file.mime),
            "mime_type": f"{file.mime}; codecs=opus" if thing.heard is IncomingKind.VOICE else file.mime,
            "sha256": hashlib.sha256(file.data).hexdigest(),
        }
        media |= {"filename": file.name} if field == "document" else {}
        media |= {"voice": thing.heard is IncomingKind.VOICE} if field == "audio" else {}
        media |= {"caption": thing.text} if thing.text else {}
        return _typed(field, media)

    def _next(self) -> str:
        self._number += 1
        return f"wamid.HBgLMTY1MDU1NTEyMzQVAgARGBI{self._number:010}"


def _typed(kind: str, content: Any) -> dict[str, Any]:
    return {"type": kind, kind: content}
