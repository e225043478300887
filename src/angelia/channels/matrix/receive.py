"""What happened in a room, as an envelope: who, where, and whether we are meant."""

from collections.abc import Collection

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.channels.failures import Rejected
from angelia.channels.incoming import Envelope, IncomingMessage, IncomingSender, Noticed, OfferedFile
from angelia.channels.lenient import within
from angelia.channels.matrix.api import MatrixApi, path_of
from angelia.channels.matrix.other_events import words_of
from angelia.channels.matrix.payloads import MEDIA_KINDS, VOICE, Body, is_edit, needed, thread_of
from angelia.channels.matrix.refusals import MatrixForbidden
from angelia.core.entry import Address


class MatrixReader:
    """Reads for the account of `api`. `verbs` are the commands that people may give with an exclamation mark."""

    def __init__(self, door: str, api: MatrixApi, verbs: Collection[str]) -> None:
        self._door = door
        self._api = api
        self._verbs = verbs
        self._members: dict[str, int] = {}

    async def envelope(self, chat: str, event: Body) -> Envelope | None:
        """The envelope of an event; None for what nobody says to anybody: ourselves, and the room's own doings.

        Raises:
            ChannelError: something that it refers to could not be asked for.
        """
        kind, sender, id_ = (needed(event, name) for name in ("type", "sender", "event_id"))
        content = within(event, "content", default=Body())
        relation = within(content, "m.relates_to", default=Body())
        if kind == "m.room.member":
            self._members.pop(chat, None)
        if sender == self._api.user:
            return None
        place = relation
        if is_edit(relation):
            first = await self._event(chat, within(relation, "event_id", default=""))
            if first.get("sender") != sender:  # clients show no such edit ("Validity of replacement events")
                return None
            place = within(first, "content", "m.relates_to", default=Body())
        what, to_us = await self._what(chat, event)
        if what is None:
            return None
        private = await self._is_private(chat)
        return Envelope(
            address=Address(self._door, chat, thread_of(place)),
            key=id_,
            sender=IncomingSender(sender, sender, bot=content.get("msgtype") == "m.notice"),
            what=what,
            message=id_,
            private=private,
            addressed=to_us or private,
            sent_at=within(event, "origin_server_ts", default=0),
        )

    async def _what(self, chat: str, event: Body) -> tuple[IncomingMessage | Noticed | None, bool]:
        """What an event says, None for nothing, and whether it says it to us."""
        sender, content = event["sender"], within(event, "content", default=Body())
        match event["type"]:
            case "m.room.message" | "m.sticker" if content:
                return await self._said(chat, content)
            case "m.reaction":
                relation = within(content, "m.relates_to", default=Body())
                told = f"{sender} reacted with {relation.get('key')}."
                return Noticed(IncomingKind.REACTION, told, within(relation, "event_id", default="")), False
            case "m.room.redaction":
                gone = within({**content, **event}, "redacts", default="")
                return Noticed(IncomingKind.DELETION, f"{sender} deleted a message.", gone), False
            case kind:
                words = words_of(kind, event)
                return (IncomingMessage(words) if words else None), False

    async def _said(self, chat: str, content: Body) -> tuple[IncomingMessage, bool]:
        """What is said, and whether it is said to us."""
        relation = within(content, "m.relates_to", default=Body())
        edits = within(relation, "event_id", default="") if is_edit(relation) else ""
        shown = within(content, "m.new_content", default=content) if edits else content
        text, kind = within(shown, "body", default=""), within(shown, "msgtype", default="m.image")
        us = self._api.user
        to_us = us in within(content, "m.mentions", "user_ids", default=list[str]()) or us in text
        answers, about = within(relation, "m.in_reply_to", "event_id", default=""), IncomingMessage()
        if answers and not relation.get("is_falling_back"):
            text = text.partition("\n\n")[2] if text.startswith("> <") else text  # as older clients quote
            first = await self._event(chat, answers)
            about = _answered(first)
            to_us = to_us or first.get("sender") == us
        offers: tuple[OfferedFile, ...] = ()
        if kind in MEDIA_KINDS:
            text, offer = _captioned(kind, text, shown)
            offers = (offer,)
        elif kind == "m.location":
            text = f"{text} ({within(shown, 'geo_uri', default='').removeprefix('geo:')})"
        elif text.startswith("!") and text[1:].split(" ")[0] in self._verbs:
            text = f"/{text[1:]}"  # what begins with a slash is for clients
        return IncomingMessage(text, (*offers, *about.offers), about.text, edits), to_us

    async def _event(self, chat: str, event: str) -> Body:
        """An event, empty if it is not there for us."""
        try:
            return await self._api.event(chat, event)
        except Rejected:
            return {}

    async def _is_private(self, chat: str) -> bool:
        """Whether only one person reads there beside us."""
        if chat not in self._members:
            try:
                told = await self._api.ask("GET", f"{path_of(chat)}/joined_members")
            except MatrixForbidden:
                return False
            self._members[chat] = len(within(told, "joined", default=Body()))
        return self._members[chat] <= 2


def _answered(event: Body) -> IncomingMessage:
    """The words and files of what is answered: who asks about a picture by answering it means that picture."""
    content = within(event, "content", default=Body())
    if not content:
        return IncomingMessage("(an earlier message, which is not to be had)")
    text, kind = within(content, "body", default=""), within(content, "msgtype", default="m.image")
    if kind not in MEDIA_KINDS:
        return IncomingMessage(text)
    text, offer = _captioned(kind, text, content)
    return IncomingMessage(text or f"({offer.kind.value})", (offer,))


def _captioned(kind: str, text: str, content: Body) -> tuple[str, OfferedFile]:
    """The words beneath a file, and the file; its name stands in their place where there are none."""
    name = within(content, "filename", default=text)
    return "" if name == text else text, _offer(kind, name, content)


def _offer(kind: str, name: str, content: Body) -> OfferedFile:
    mime, size = within(content, "info", "mimetype", default=""), within(content, "info", "size", default=-1)
    seconds = within(content, "info", "duration", default=0) / 1000
    as_ = Kind.ANIMATION if mime == "image/gif" else Kind.VOICE if VOICE in content else MEDIA_KINDS[kind]
    return OfferedFile(as_, within(content, "url", default=""), name, mime, size, seconds)
