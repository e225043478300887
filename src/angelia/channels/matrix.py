"""Matrix: one account in plain rooms, by the client-server API (spec.matrix.org, version 1.11 or later)."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn
from urllib.parse import quote

import msgspec
from msgspec import Struct, structs

from angelia.channels.capabilities import FILES, Capabilities, IncomingKind, Kind, NativeMethod, Never, Units
from angelia.channels.connection_state import ConnectionState
from angelia.channels.exchange import ChannelRequest, Exchanges
from angelia.channels.failures import (
    CannotFetch,
    ChannelError,
    Later,
    LoginFailed,
    MessageGone,
    NotSent,
    Rejected,
    Unsure,
)
from angelia.channels.health import ConnectionHealth
from angelia.channels.incoming import Envelope, Hear, IncomingMessage, IncomingSender, Noticed, OfferedFile
from angelia.channels.kinds import refuse_too_large
from angelia.channels.lenient import within
from angelia.channels.markup.dialect import Dialect
from angelia.channels.markup.html import MatrixHtml
from angelia.channels.matrix_unread import words_of
from angelia.channels.multipart import CHUNK, pieces
from angelia.channels.outgoing import OutAlbum, OutFile, Outgoing, OutText
from angelia.channels.per_chat_queue import PerChatQueue
from angelia.channels.port import ChannelContext, ChannelProvider
from angelia.channels.settings import ChannelSettings, Secret
from angelia.core.entry import Address
from angelia.core.ids import sortable_id

if TYPE_CHECKING:
    import httpx2

Body = dict[str, Any]

TEXT = 8_000
"""Bytes: an edit says them three times, escaped to twice as many, and an event holds 65,536 ("Size limits")."""
LINGER = 15.0
"""Seconds that an answer may take longer than the server was asked to hold it back."""
TYPING = 20.0

_POSITION = "position in the sync"
_INSIDE = ("invite", "join")
_VOICE, _AUDIO = "org.matrix.msc3245.voice", "org.matrix.msc1767.audio"
_MXC = re.compile(r"mxc://([^/?#]+)/([\w-]+)")
_KINDS = {"m.image": Kind.PHOTO, "m.audio": Kind.AUDIO, "m.video": Kind.VIDEO, "m.file": Kind.DOCUMENT}
_TYPES = {kind: name for name, kind in _KINDS.items()} | {Kind.ANIMATION: "m.image", Kind.VOICE: "m.audio"}
_NONE = {"types": list[str]()}
_FILTER: Body = {
    "presence": _NONE,
    "account_data": _NONE,
    "room": {"ephemeral": _NONE, "account_data": _NONE, "state": _NONE},
}
_FAREWELL = "This room is encrypted. I read and write in plain rooms alone: please invite me to one of these."


class MatrixSettings(ChannelSettings, frozen=True, forbid_unknown_fields=True):
    """`server` is where the homeserver's client-server API is, `token` an access token of our account there, `upload`
    the bytes that a file may have there (Synapse: 50 MB unless it is told otherwise).
    """

    needed: ClassVar[tuple[str, ...]] = ("server",)
    server: str = "https://matrix.org"
    token: Secret = Secret(env="MATRIX_TOKEN")
    upload: int = 50_000_000


class MatrixTimeouts(Struct, frozen=True):
    """Seconds: for the next byte of an `answer` to what people see, in `silence` to anything else, until the connection
    is taken for dead (under 90), and as a `pause` between two tries.
    """

    answer: float = 60.0
    silence: float = 75.0
    pause: float = 1.0


def capabilities(settings: MatrixSettings) -> Capabilities:
    """The table."""
    no_buttons = Never("Matrix has no buttons that all clients show")
    return Capabilities(
        ways={
            **{kind: NativeMethod(_TYPES[kind], settings.upload, TEXT // 4) for kind in FILES},
            **{kind: NativeMethod(f"m.{kind}") for kind in (Kind.TEXT, Kind.TYPING, Kind.REACTION, Kind.THREAD)},
            Kind.EDIT: NativeMethod("m.replace"),
            Kind.DELETE: NativeMethod("m.room.redaction"),
            Kind.REPLY: NativeMethod("m.in_reply_to"),
            Kind.ALBUM: Never("a Matrix event holds one file"),
            Kind.DRAFT: Never("a preview is a message there"),
            Kind.BUTTONS: no_buttons,
        },
        hears={
            **dict.fromkeys(IncomingKind, NativeMethod("m.room.message")),
            IncomingKind.STICKER: NativeMethod("m.sticker"),
            IncomingKind.DELETION: NativeMethod("m.room.redaction"),
            IncomingKind.REACTION: NativeMethod("m.reaction"),
            IncomingKind.CONTACT: Never("Matrix shares no contacts"),
            IncomingKind.BUTTON: no_buttons,
        },
        text_limit=TEXT,
        units=Units.BYTES,
        idempotent=True,
        typing_seconds=TYPING,
    )


class _NotFound(Rejected):
    """M_NOT_FOUND."""


class _Forbidden(Rejected):
    """M_FORBIDDEN: of a room, we are not in it any more."""


class MatrixChannel:
    """One account. See `Channel`.

    Where a sync ended is kept when all of it is taken in. Of a room we hear what was said since we were invited. In an
    encrypted one we could neither read what is said nor keep secret what we say: we leave it, and say why.
    """

    def __init__(self, settings: MatrixSettings, context: ChannelContext, timeouts: MatrixTimeouts) -> None:
        self.door = context.door
        self.capabilities: Capabilities = capabilities(settings)
        self.dialect: Dialect = MatrixHtml()
        self._settings = settings
        self._context = context
        self._timeouts = timeouts
        self._exchanges = Exchanges("The homeserver", timeouts.answer)
        self._connection_state = ConnectionState(context, timeouts.pause, timeouts.silence)
        self._server, self._token = settings.server.rstrip("/"), ""
        self._us, self._since = "", ""
        self._people: dict[str, int] = {}

    # -- in -----------------------------------------------------------------------------------------------------

    async def run(self, hear: Hear) -> NoReturn:
        """See `Channel.run`."""
        queue = PerChatQueue(hear, self._connection_state.trouble, self._timeouts.pause)
        self._since = ""
        try:
            await self._connection_state.hold(lambda: self._stay(queue))
        finally:
            await queue.close()

    async def _stay(self, queue: PerChatQueue) -> NoReturn:
        self._us = _needed(await self._ask("GET", "account/whoami"), "user_id")
        kept = f"{_POSITION} of {self._us}"  # of another account it would be another one
        self._since = self._since or await self._context.recall(kept)
        longest = max(self._timeouts.silence - LINGER, 0)
        while True:
            hold = longest if self._connection_state.state is ConnectionHealth.CONNECTED else 0
            since = f"&since={quote(self._since)}" if self._since else ""
            place = f"sync?filter={quote(msgspec.json.encode(_FILTER))}&timeout={hold * 1000:.0f}{since}"
            told = await self._ask("GET", place)
            here, invited = (within(told, "rooms", name, default=Body()) for name in ("join", "invite"))
            news = [(room, one) for room in here if self._since for one in await self._news(room, here[room])]
            self._connection_state.well()
            parts = [queue.put(room, f"invitation to {room}", partial(self._join, room)) for room in invited]
            parts += [queue.put(room, f"{one.get('event_id')}", partial(self._read, room, one)) for room, one in news]
            self._since = _needed(told, "next_batch")
            queue.after(parts, partial(self._context.remember, kept, self._since))
            if not longest:
                await asyncio.sleep(self._timeouts.pause)

    async def _news(self, room: str, told: Body) -> list[Body]:
        """What happened in a room since the last sync, and since we were invited; the oldest first."""
        events: list[Body] = within(told, "timeline", "events", default=[])
        limited = within(told, "timeline", "limited", default=False)
        before = within(told, "timeline", "prev_batch", default="") if limited else ""
        while before and not any(map(self._begins, events)):
            place = f"{_at(room)}/messages?dir=b&limit=99&from={quote(before)}&to={quote(self._since)}"
            try:
                page = await self._ask("GET", place)
            except Rejected as error:
                self._connection_state.trouble(f"What was said in {room} meanwhile cannot be read. {error}")
                break
            events = [*reversed(within(page, "chunk", default=list[Body]())), *events]
            # a page may be empty, and not the last one ("GET /rooms/{roomId}/messages")
            before = end if (end := within(page, "end", default="")) != before else ""
        return events[max((n for n, one in enumerate(events) if self._begins(one)), default=0) :]

    def _begins(self, event: Body) -> bool:
        """Whether with it we were invited to a room, or came in uninvited."""
        now = within(event, "content", "membership", default="")
        before = within(event, "unsigned", "prev_content", "membership", default="")
        return event.get("state_key") == self._us and now in _INSIDE and before not in _INSIDE

    async def _join(self, room: str) -> None:
        try:
            await self._ask("POST", f"{_at(room)}/join", {})
            await self._leave_if_encrypted(room)
        except Rejected as error:
            self._connection_state.trouble(f"An invitation cannot be followed. {error}")

    async def _leave_if_encrypted(self, room: str) -> None:
        """Anybody may send what looks encrypted: only the room's own state counts."""
        try:
            if await self._is_encrypted(room):
                await self._ask("POST", f"{_at(room)}/leave", {"reason": _FAREWELL})
        except _Forbidden:
            return  # it was left before
        except Rejected as error:
            self._connection_state.trouble(f"An encrypted room cannot be left. {error}")

    async def _read(self, room: str, event: Body) -> Envelope | None:
        kind, sender, id_ = (_needed(event, name) for name in ("type", "sender", "event_id"))
        content = within(event, "content", default=Body())
        relation = within(content, "m.relates_to", default=Body())
        about, addressed, place = within(relation, "event_id", default=""), False, relation
        what: IncomingMessage | Noticed
        if kind in ("m.room.encrypted", "m.room.encryption"):
            await self._leave_if_encrypted(room)
        if kind == "m.room.member":
            self._people.pop(room, None)
        if sender == self._us:
            return None
        if relation.get("rel_type") == "m.replace":
            first = await self._event(room, about)
            if first.get("sender") != sender:  # clients show no such edit ("Validity of replacement events")
                return None
            place = within(first, "content", "m.relates_to", default=Body())
        thread = within(place, "event_id", default="") if place.get("rel_type") == "m.thread" else ""
        match kind:
            case "m.room.message" | "m.sticker" if content:
                what, addressed = await self._said(room, content, relation)
            case "m.reaction":
                what = Noticed(IncomingKind.REACTION, f"{sender} reacted with {relation.get('key')}.", about)
            case "m.room.redaction":
                gone = within({**content, **event}, "redacts", default="")
                what = Noticed(IncomingKind.DELETION, f"{sender} deleted a message.", gone)
            case _ if words := words_of(kind, event):
                what = IncomingMessage(words)
            case _:
                return None
        private = await self._is_private(room)
        return Envelope(
            address=Address(self.door, room, thread),
            key=id_,
            sender=IncomingSender(sender, sender, bot=content.get("msgtype") == "m.notice"),
            what=what,
            message=id_,
            private=private,
            addressed=addressed or private,
            sent_at=within(event, "origin_server_ts", default=0),
        )

    async def _is_private(self, room: str) -> bool:
        """Whether only one person reads there beside us."""
        if room not in self._people:
            try:
                told = await self._ask("GET", f"{_at(room)}/joined_members")
            except _Forbidden:
                return False
            self._people[room] = len(within(told, "joined", default=Body()))
        return self._people[room] <= 2

    async def _said(self, room: str, content: Body, relation: Body) -> tuple[IncomingMessage, bool]:
        """What is said, and whether it is said to us."""
        edits = within(relation, "event_id", default="") if relation.get("rel_type") == "m.replace" else ""
        shown = within(content, "m.new_content", default=content) if edits else content
        text, kind = within(shown, "body", default=""), within(shown, "msgtype", default="m.image")
        to_us = self._us in within(content, "m.mentions", "user_ids", default=list[str]()) or self._us in text
        answers, quoted = within(relation, "m.in_reply_to", "event_id", default=""), ""
        if answers and not relation.get("is_falling_back"):
            text = text.partition("\n\n")[2] if text.startswith("> <") else text  # as older clients quote
            first = await self._event(room, answers)
            quoted, to_us = within(first, "content", "body", default=""), to_us or first.get("sender") == self._us
        name, offers = within(shown, "filename", default=text), list[OfferedFile]()
        if kind in _KINDS:
            offers.append(_offer(kind, name, shown))
            text = "" if name == text else text
        elif kind == "m.location":
            text = f"{text} ({within(shown, 'geo_uri', default='').removeprefix('geo:')})"
        elif text.startswith("!") and text[1:].split(" ")[0] in self._context.commands:
            text = f"/{text[1:]}"  # what begins with a slash is for clients
        return IncomingMessage(text, tuple(offers), quoted, edits), to_us

    async def _event(self, room: str, event: str) -> Body:
        """An event, empty if it is not there for us."""
        try:
            return await self._ask("GET", _event_at(room, event))
        except Rejected:
            return {}

    async def fetch(self, offer: OfferedFile) -> AsyncIterator[bytes]:
        """See `Channel.fetch`."""
        place = _MXC.fullmatch(offer.handle)
        if place is None:
            raise CannotFetch("The file has no address on a homeserver; it may be encrypted.")
        request = ChannelRequest("GET", f"{self._server}/_matrix/client/v1/media/download/{quote(place[1])}/{place[2]}")
        try:
            async with self._exchange(request) as response:
                async for piece in response.aiter_bytes(CHUNK):
                    yield piece
        except Rejected as error:
            raise CannotFetch("The homeserver does not have this file, or not for us.", error.what) from error
        except (Unsure, Later) as error:
            raise NotSent(error.what) from error

    # -- out ----------------------------------------------------------------------------------------------------

    async def send(self, to: Address, outgoing: Outgoing, key: str) -> str:
        """See `Channel.send`."""
        if isinstance(outgoing, OutAlbum):
            raise Rejected("A Matrix event holds one file.")
        await self._must_be_plain(to.chat)
        if isinstance(outgoing, OutText):
            content = _words(outgoing)
        else:
            content = await self._uploaded(outgoing)
            await self._must_be_plain(to.chat)  # an upload may take minutes
        answers: Body = {"m.in_reply_to": {"event_id": outgoing.reply_to or to.thread}}
        if to.thread:
            content["m.relates_to"] = {"rel_type": "m.thread", "event_id": to.thread} | answers
            content["m.relates_to"]["is_falling_back"] = not outgoing.reply_to
        elif outgoing.reply_to:
            content["m.relates_to"] = answers
        return await self._put(to, "m.room.message", content, key)

    async def edit(self, to: Address, message: str, text: OutText) -> None:
        """See `Channel.edit`."""
        await self._must_be_plain(to.chat)
        await self._must_stand(to, message)
        new, relation = _words(text), {"rel_type": "m.replace", "event_id": message}
        shown = {"msgtype": "m.text", "body": f"* {text.plain}", "m.mentions": Body()}
        await self._put(to, "m.room.message", shown | {"m.new_content": new, "m.relates_to": relation}, sortable_id())

    async def delete(self, to: Address, message: str) -> None:
        """See `Channel.delete`."""
        await self._must_stand(to, message)
        await self._call("PUT", f"{_at(to.chat)}/redact/{quote(message, safe='')}/{sortable_id()}", {})

    async def typing(self, to: Address) -> None:
        """See `Channel.typing`."""
        place = f"{_at(to.chat)}/typing/{quote(self._us)}"
        await self._call("PUT", place, {"typing": True, "timeout": int(TYPING * 1000)})

    async def react(self, to: Address, message: str, emoji: str) -> None:
        """See `Channel.react`."""
        await self._must_be_plain(to.chat)
        mark = {"rel_type": "m.annotation", "event_id": message, "key": emoji}
        await self._put(to, "m.reaction", {"m.relates_to": mark}, sortable_id())

    async def close(self) -> None:
        """See `Channel.close`."""
        await self._exchanges.close()

    async def _put(self, to: Address, kind: str, content: Body, key: str) -> str:
        return _needed(
            await self._call("PUT", f"{_at(to.chat)}/send/{kind}/{quote(key, safe='')}", content), "event_id"
        )

    async def _uploaded(self, file: OutFile) -> Body:
        """The content of an event with a file, whose bytes are at the homeserver by now."""
        refuse_too_large(file, self.capabilities, "the homeserver")
        headers = {"content-type": file.mime, "content-length": str(file.size)}
        place = f"{self._server}/_matrix/media/v3/upload?filename={quote(file.name, safe='')}"
        with _repeatable():
            upload = ChannelRequest("POST", place, pieces(file.path), headers, self._timeouts.silence)
            url = _needed(await self._told(upload), "content_uri")
        long: Body = {"duration": int(file.seconds * 1000)} if file.seconds else {}
        wide: Body = {"w": file.width, "h": file.height} if file.width else {}
        caption = _words(file.caption or OutText(file.name))
        voice: Body = {_VOICE: {}, _AUDIO: long} if file.kind is Kind.VOICE else {}
        info = {"mimetype": file.mime, "size": file.size} | long | wide
        return caption | {"msgtype": _TYPES[file.kind], "filename": file.name, "url": url, "info": info} | voice

    async def _is_encrypted(self, room: str) -> bool:
        try:
            await self._ask("GET", f"{_at(room)}/state/m.room.encryption/")
        except _NotFound:
            return False
        return True

    async def _must_be_plain(self, room: str) -> None:
        if await self._is_encrypted(room):
            raise Rejected("The room is encrypted, and nothing readable is sent into it.", then="Use a room without.")

    async def _must_stand(self, to: Address, message: str) -> None:
        try:
            event = await self._ask("GET", _event_at(to.chat, message))
        except _NotFound as error:
            raise MessageGone(error.what) from error
        if within(event, "unsigned", "redacted_because", default=Body()):
            raise MessageGone("The message was deleted.")

    # -- calls --------------------------------------------------------------------------------------------------

    async def _ask(self, verb: str, what: str, body: Body | None = None) -> Body:
        """A call that shows nothing to anybody, so that it may be repeated."""
        with _repeatable():
            return await self._call(verb, what, body, wait=self._timeouts.silence)

    async def _call(self, verb: str, what: str, body: Body | None = None, *, wait: float = 0.0) -> Body:
        content = None if body is None else msgspec.json.encode(body)
        place = f"{self._server}/_matrix/client/v3/{what}"
        return await self._told(ChannelRequest(verb, place, content, {"content-type": "application/json"}, wait))

    async def _told(self, request: ChannelRequest) -> Body:
        async with self._exchange(request) as response:
            try:
                return msgspec.json.decode(await response.aread(), type=Body)
            except msgspec.MsgspecError as error:
                raise Unsure(f"The homeserver's answer cannot be read: {error}.") from error

    @asynccontextmanager
    async def _exchange(self, request: ChannelRequest) -> AsyncIterator["httpx2.Response"]:
        """A request and its response, if it is no refusal."""
        self._token = self._token or (await self._context.secret(self._settings.token)).strip()
        headers = {**request.headers, "authorization": f"Bearer {self._token}"}
        async with self._exchanges.exchange(structs.replace(request, headers=headers)) as response:
            if response.status_code != 200:
                raise _refusal(response, await response.aread())
            yield response


@contextmanager
def _repeatable() -> Iterator[None]:
    try:
        yield
    except Unsure as error:
        raise NotSent(error.what) from error


def _needed(told: Body, name: str) -> str:
    value = within(told, name, default="")
    if not value:
        raise Unsure(f"The homeserver's answer has no {name}.")
    return value


def _at(room: str) -> str:
    return f"rooms/{quote(room, safe='')}"


def _event_at(room: str, event: str) -> str:
    """Where an event can be asked for; its name may have a slash in it ("Room version 3", Event IDs)."""
    return f"{_at(room)}/event/{quote(event, safe='')}"


def _words(text: OutText) -> Body:
    if (size := len((text.marked or text.plain).encode())) > TEXT:
        raise Rejected(f"The text has {size:,} bytes, and {TEXT:,} are taken at most.")
    marked = {"format": "org.matrix.custom.html", "formatted_body": text.marked} if text.marked else {}
    # without mentions, servers look for names among the words ("User and room mentions")
    return {"msgtype": "m.text", "body": text.plain, "m.mentions": {}, **marked}


def _offer(kind: str, name: str, content: Body) -> OfferedFile:
    mime, size = within(content, "info", "mimetype", default=""), within(content, "info", "size", default=-1)
    seconds = within(content, "info", "duration", default=0) / 1000
    as_ = Kind.ANIMATION if mime == "image/gif" else Kind.VOICE if _VOICE in content else _KINDS[kind]
    return OfferedFile(as_, within(content, "url", default=""), name, mime, size, seconds)


def _refusal(response: "httpx2.Response", body: bytes) -> ChannelError:
    """A refusal by what can be done about it ("Standard error response", "Rate limiting")."""
    try:
        told = msgspec.json.decode(body, type=Body)
    except msgspec.MsgspecError:
        told = {}
    status, code, words = response.status_code, told.get("errcode", ""), told.get("error", "")
    why = f"The homeserver says: {words or 'nothing'} ({code or status})."
    if status == 429:
        after = response.headers.get("retry-after", "")
        return Later(float(after) if after.isdigit() else within(told, "retry_after_ms", default=5000) / 1000)
    if status == 401:
        then = "Make a new access token, and put it where the channel's setting `token` points to."
        return LoginFailed("The homeserver does not let us in.", why, then)
    if status >= 500:
        return NotSent(why) if code else Unsure(why)
    match code:
        case "M_NOT_FOUND":
            return _NotFound(why)
        case "M_FORBIDDEN":
            return _Forbidden(why)
        case _:
            return Rejected(why)


CHANNEL = ChannelProvider(MatrixSettings, partial(MatrixChannel, timeouts=MatrixTimeouts()))
