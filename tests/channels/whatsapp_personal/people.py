"""The people of the fake WhatsApp, and how what they do looks to a linked device."""

import time
from typing import Any

from angelia.channels.capabilities import IncomingKind
from angelia.core.entry import Address
from angelia.testing.channels.network import CONTACT, PLACE, Sample, Thing, Who

OURS = "4915550783881"
ANN = "4366012345678@s.whatsapp.net"
HERE = Address("", ANN)
GROUP = Address("", "120363043211234567@g.us")
NOWHERE = Address("", "19999999999@s.whatsapp.net")

_FORWARDED = {"isForwarded": True, "forwardingScore": 1}
"""`ContextInfo` of what was passed on once."""

_FIELDS = {
    IncomingKind.PHOTO: "imageMessage",
    IncomingKind.VIDEO: "videoMessage",
    IncomingKind.AUDIO: "audioMessage",
    IncomingKind.VOICE: "audioMessage",
    IncomingKind.STICKER: "stickerMessage",
}


class People:
    """`files` are the bytes of what they sent, by their place; `quoted` is what any message says, by its id."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.quoted: dict[str, dict[str, Any]] = {}
        self._number = 0

    def message(self, thing: Thing) -> dict[str, Any]:
        """What arrives of something that somebody does."""
        self._number += 1
        key: dict[str, Any] = {"remoteJid": thing.where.chat, "id": f"3A{self._number:018}", "fromMe": False}
        if thing.who is Who.OURSELVES:
            key["fromMe"] = True
        if thing.who is Who.BOT:
            key["remoteJid"] = "867051314767696@bot"
        elif thing.where == GROUP:
            key |= {"participant": "55443322@lid", "participantPn": ANN}
        at = {"low": int(time.time()), "high": 0}
        content = self._content(thing)
        self.quoted[key["id"]] = content
        return {"key": key, "pushName": "Ann Example", "messageTimestamp": at["low"], "message": content}

    def _content(self, thing: Thing) -> dict[str, Any]:
        file = next(iter(thing.files), None)
        key = {"remoteJid": thing.where.chat, "id": thing.about}
        match thing.heard:
            case IncomingKind.LOCATION:
                return {"locationMessage": {"degreesLatitude": PLACE[0], "degreesLongitude": PLACE[1]}}
            case IncomingKind.CONTACT:
                card = f"BEGIN:VCARD\nVERSION:3.0\nFN:{CONTACT[0]}\nTEL;type=CELL;waid=1:{CONTACT[1]}\nEND:VCARD"
                return {"contactMessage": {"displayName": CONTACT[0], "vcard": card}}
            case IncomingKind.REACTION:
                return {"reactionMessage": {"key": key, "text": thing.text}}
            case IncomingKind.DELETION:
                return {"protocolMessage": {"key": key, "type": 0}}
            case IncomingKind.EDIT:
                return {"protocolMessage": {"key": key, "type": 14, "editedMessage": {"conversation": thing.text}}}
            case _ if file:
                return self._file(thing, file)
            case _:
                return self._words(thing)

    def _words(self, thing: Thing) -> dict[str, Any]:
        context: dict[str, Any] = {}
        if thing.answers:
            us = f"{OURS}@s.whatsapp.net"
            context |= {"stanzaId": thing.answers, "participant": us, "quotedMessage": self.quoted[thing.answers]}
        if thing.to_us and thing.where == GROUP:
            context |= {"mentionedJid": ["99887766@lid"]}
        if thing.forwarded:
            context |= _FORWARDED
        if not context:
            return {"conversation": thing.text}
        return {"extendedTextMessage": {"text": thing.text, "contextInfo": context}}

    def _file(self, thing: Thing, file: Sample) -> dict[str, Any]:
        path = f"/v/{len(self.files)}"
        self.files[path] = file.data
        about: dict[str, Any] = {"directPath": path, "mimetype": file.mime, "fileLength": str(len(file.data))}
        about |= {"ptt": True, "seconds": 1} if thing.heard is IncomingKind.VOICE else {}
        about |= {"caption": thing.text} if thing.text else {}
        about |= {"contextInfo": _FORWARDED} if thing.forwarded else {}
        field = _FIELDS.get(thing.heard, "documentMessage")
        return {field: about | ({"fileName": file.name} if field == "documentMessage" else {})}
