"""How a bot hears: it stays connected to the gateway, resumes its session, and reads what it missed."""

import asyncio
import hashlib
import logging
import re
from functools import partial
from typing import NoReturn

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from angelia.channels.connection_state import ConnectionState
from angelia.channels.discord import payloads as s
from angelia.channels.discord.answers import Answers
from angelia.channels.discord.api import DiscordApi, DiscordCall
from angelia.channels.discord.history import read_missed
from angelia.channels.discord.ledger import DiscordLedger, id_at
from angelia.channels.discord.places import Places
from angelia.channels.discord.receive import DiscordReader
from angelia.channels.discord.settings import DiscordSettings, DiscordWaits
from angelia.channels.discord.socket import DiscordLost, DiscordStart, opened
from angelia.channels.failures import ChannelError
from angelia.channels.incoming import Hear
from angelia.channels.lenient import read
from angelia.channels.missed import HandIn, MissedMessages
from angelia.channels.per_chat_queue import PerChatQueue
from angelia.channels.port import ChannelContext

log = logging.getLogger(__name__)

MOST_CHATS = 200
"""Chats that are remembered, to ask them what was missed: direct messages are not listed anywhere."""

HEARD = frozenset({"MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_REACTION_ADD", "INTERACTION_CREATE"})

_GUILDS, _GUILD_MESSAGES, _GUILD_REACTIONS = 1 << 0, 1 << 9, 1 << 10
_DIRECT_MESSAGES, _DIRECT_REACTIONS, _CONTENT = 1 << 12, 1 << 13, 1 << 15
INTENTS = _GUILDS | _GUILD_MESSAGES | _GUILD_REACTIONS | _DIRECT_MESSAGES | _DIRECT_REACTIONS
"""What we ask to be told ("Gateway Intents"); the content of other people's messages only for `groups = "all"`."""

_COMMAND = re.compile(r"[-_a-z0-9]{1,32}", re.ASCII)
_MEMORY = "connection"

NOTED = 10_000
"""Milliseconds after which the memory is written again: what a killed process had not noted comes twice."""

STALE = 10
"""Tries after which a session is given up: by then Discord has forgotten it."""


class DiscordMemory(Struct, frozen=True):
    """What outlives a restart: the session, who we are, the last message before which all were taken in, the chats that
    spoke to us (each behind its server and a slash), and the menu that Discord was given.
    """

    session: s.DiscordSession | None = None
    me: str = ""
    message: int = 0
    chats: tuple[str, ...] = ()
    menu: str = ""


class Where(Struct, frozen=True):
    """In which channel something happened, and to which message."""

    id: str = ""
    channel_id: str = ""
    guild_id: str | None = None


class DiscordConnection:
    """The receiving half of the channel.

    Each event is handed in, chat by chat in order. A session that broke off is resumed behind the last event before
    which all were taken in, also by the next life. Where Discord has forgotten the session, what was said since is read
    from the chats. What comes twice has the same key.
    """

    def __init__(
        self,
        settings: DiscordSettings,
        context: ChannelContext,
        api: DiscordApi,
        places: Places,
        timeouts: DiscordWaits,
    ) -> None:
        self._settings = settings
        self._context = context
        self._api = api
        self._places = places
        self._timeouts = timeouts
        self._memory, self._remembered = DiscordMemory(), 0
        self._ledger = DiscordLedger(0, 0)
        self._reader = self._reader_as("")
        self._connection_state = ConnectionState(context, timeouts.pause, timeouts.silence)
        self._missed, self._read = 0, set[str]()

    def _reader_as(self, me: str) -> DiscordReader:
        return DiscordReader(me, self._places, self._settings.cdn, sees_all=self._settings.groups == "all")

    async def run(self, hear: Hear) -> NoReturn:
        """See `Channel.run`."""
        self._memory = memory = _memory(await self._context.recall(_MEMORY))
        self._ledger = DiscordLedger(memory.session.seq if memory.session else 0, memory.message)
        self._reader = self._reader_as(memory.me)
        queue = PerChatQueue(hear, self._connection_state.trouble, self._timeouts.pause)
        try:
            missed = MissedMessages(queue, self._connection_state.trouble, self._timeouts.pause)
            await self._connection_state.hold(lambda: self._stay(missed), self._lost)
        finally:
            await queue.close()
            await self._remember()

    async def _stay(self, missed: MissedMessages) -> NoReturn:
        token, session = await self._api.token(), self._memory.session
        intents = INTENTS | (_CONTENT if self._settings.groups == "all" else 0)
        opening = DiscordStart(token, intents, session.id if session else "", self._ledger.seq)
        url = session.url if session else (await self._api.call(DiscordCall("GET", "/gateway/bot"), s.GatewayBot)).url
        async with opened(url, self._timeouts.silence, lambda: self._ledger.seq) as socket:
            async for frame in socket.frames(opening):
                await self._take(s.DiscordEvent(frame.t or "", bytes(frame.d), frame.s or 0), missed)
                if self._context.steady() - self._remembered > NOTED:
                    await self._remember()
        raise DiscordLost("it ended")

    async def _take(self, event: s.DiscordEvent, missed: MissedMessages) -> None:
        """Do what an event asks for. What is not handed in is passed at once."""
        try:
            match event.name:
                case "READY":
                    self._begin(read(event.data, s.DiscordReady), missed)
                case "RESUMED":
                    self._connection_state.well()
                case "GUILD_CREATE":
                    self._places.hear(event.name, event.data, self._memory.me)
                    self._catch_up(read(event.data, s.Guild), missed)
                case name if name in HEARD:
                    self._hand_in(event, missed.put, missed.queue)
                    return
                case name:
                    self._places.hear(name, event.data, self._memory.me)
        except msgspec.MsgspecError as error:
            log.warning("an event %s cannot be read: %s", event.name, error)
            self._connection_state.trouble(
                f"Discord told something in a form that is not known ({event.name}): {error}."
            )
        self._ledger.passed(event.seq)

    def _begin(self, ready: s.DiscordReady, missed: MissedMessages) -> None:
        """A new session: what was said since the last one is read, as far as it is known where."""
        self._ledger.begin()
        self._missed, self._read = self._ledger.message, set()
        if not self._missed:
            self._ledger = DiscordLedger(0, id_at(self._context.clock()))
        session = s.DiscordSession(ready.session_id, ready.resume_gateway_url)
        self._memory = replace(self._memory, session=session, me=ready.user.id)
        self._reader = self._reader_as(ready.user.id)
        self._connection_state.well()
        missed.queue.begin(self._show_menu(ready.application.id))
        for chat in self._memory.chats:
            guild, _, channel = chat.partition("/")
            self._read_missed(channel, guild, missed)

    def _catch_up(self, guild: s.Guild, missed: MissedMessages) -> None:
        """A server can be seen: what was said in it is read where something was."""
        for one in (*guild.channels, *guild.threads):
            if int(one.last_message_id or 0) > self._missed:
                self._read_missed(one.id, guild.id, missed)

    def _read_missed(self, channel: str, guild: str, missed: MissedMessages) -> None:
        if not self._missed or channel in self._read:
            return
        self._read.add(channel)

        def take(raw: bytes) -> asyncio.Future[str]:
            return self._hand_in(s.DiscordEvent("MESSAGE_CREATE", raw, 0), missed.put_missed, missed.queue, guild)

        if done := missed.read(channel, "", partial(read_missed, self._api, channel, self._missed, take)):
            self._ledger.note(0, self._missed + 1, done)

    def _hand_in(self, event: s.DiscordEvent, put: HandIn, queue: PerChatQueue, guild: str = "") -> asyncio.Future[str]:
        try:
            where = msgspec.json.decode(event.data, type=Where)
        except msgspec.MsgspecError:
            where = Where()  # reading it fails too, and is told there
        server = guild or where.guild_id or ""
        taken = put(where.channel_id, f"{event.name} {where.id}", partial(self._reader.envelope, event, guild))
        self._ledger.note(event.seq, int(where.id) if event.name == "MESSAGE_CREATE" and where.id else 0, taken)
        if event.name == "INTERACTION_CREATE":
            answers = Answers(self._api, self._timeouts.longer)
            queue.begin(answers.answer(event.data, taken))
        self._know(f"{server}/{where.channel_id}")
        return taken

    def _know(self, chat: str) -> None:
        """Remember a chat, to ask it what was missed; what spoke last is last."""
        if self._memory.chats[-1:] != (chat,) and not chat.endswith("/"):
            others = tuple(one for one in self._memory.chats if one != chat)
            self._memory = replace(self._memory, chats=(*others, chat)[-MOST_CHATS:])

    async def _show_menu(self, application: str) -> None:
        """Offer our verbs as commands of the application ("Bulk Overwrite Global Application Commands")."""
        text = {"type": 3, "name": "text", "description": "what it is about", "required": False}
        menu = [
            {"name": name, "description": told[:100] or name, "type": 1, "options": [text], "contexts": [0, 1]}
            for name, told in self._context.commands.items()
            if _COMMAND.fullmatch(name)
        ]
        shown = hashlib.sha256(msgspec.json.encode((application, menu))).hexdigest()
        if shown == self._memory.menu:
            return
        try:
            await self._api.call(DiscordCall("PUT", f"/applications/{application}/commands", menu), object)
        except ChannelError as error:
            log.warning("Discord does not take the menu of commands: %s", error)
        else:
            self._memory = replace(self._memory, menu=shown)

    async def _remember(self) -> None:
        self._remembered = self._context.steady()
        session = self._memory.session
        noted = replace(session, seq=self._ledger.seq) if session else None
        kept = replace(self._memory, session=noted, message=self._ledger.message)
        await self._context.remember(_MEMORY, msgspec.json.encode(kept).decode())

    def _lost(self, error: ChannelError) -> None:
        if self._connection_state.failures >= STALE or (isinstance(error, DiscordLost) and error.forgotten):
            self._memory = replace(self._memory, session=None)


def _memory(noted: str) -> DiscordMemory:
    """What an earlier life noted; nothing if it was another version that did."""
    try:
        return msgspec.json.decode(noted or "{}", type=DiscordMemory)
    except msgspec.MsgspecError:
        return DiscordMemory()
