"""One nick on one IRC network as a channel."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import NoReturn

import msgspec
from msgspec.structs import replace

from angelia.channels.backoff import growing_pause
from angelia.channels.capabilities import Capabilities
from angelia.channels.connection_state import ConnectionState
from angelia.channels.failures import (
    CannotFetch,
    MessageGone,
    NotSent,
    Rejected,
)
from angelia.channels.health import ConnectionHealth
from angelia.channels.incoming import Hear, OfferedFile
from angelia.channels.irc.capabilities import IrcMarks, capabilities
from angelia.channels.irc.connection import IrcLink, Passwords, connected
from angelia.channels.irc.receive import IrcReader, IrcSpoken
from angelia.channels.irc.send import IrcWriter
from angelia.channels.irc.settings import IrcSettings, IrcWaits
from angelia.channels.irc.wire import IrcLine, is_target
from angelia.channels.markup.dialect import Dialect
from angelia.channels.outgoing import Outgoing, OutText
from angelia.channels.per_chat_queue import PerChatQueue
from angelia.channels.port import ChannelContext, ChannelProvider
from angelia.channels.settings import Secret
from angelia.core.entry import Address
from angelia.core.ids import sortable_id

_KEPT = "heard, not taken in"


class IrcChannel:
    """One nick. See `Channel`.

    IRC keeps nothing: what is said while we are away is lost, and the gap is told. A line is not acknowledged either;
    what cannot be taken in is kept by ourselves, and handed in again in a later life that follows an orderly end.
    """

    def __init__(self, settings: IrcSettings, context: ChannelContext, timeouts: IrcWaits) -> None:
        self.door = context.door
        self.capabilities: Capabilities = capabilities()
        self.dialect: Dialect = IrcMarks()
        self._settings = settings
        self._context = context
        self._timeouts = timeouts
        self._reader = IrcReader(context.door, settings.identity, tuple(context.commands))
        self._speaker = IrcWriter(settings, context, timeouts)
        self._link: IrcLink | None = None
        self._tried = asyncio.Event()
        self._waiting: dict[str, IrcSpoken] = {}
        self._connection_state = ConnectionState(context, timeouts.pause, timeouts.silence, self._changed)

    # -- in -----------------------------------------------------------------------------------------------------

    async def run(self, hear: Hear) -> NoReturn:
        """See `Channel.run`."""
        queue = PerChatQueue(hear, self._connection_state.trouble, self._timeouts.pause)
        for spoken in msgspec.json.decode(await self._context.recall(_KEPT) or "[]", type=list[IrcSpoken]):
            self._hand_in(spoken, queue)
        try:
            await self._connection_state.hold(lambda: self._stay(queue))
        finally:
            await queue.close()
            await self._context.remember(_KEPT, msgspec.json.encode(list(self._waiting.values())).decode())

    async def _stay(self, queue: PerChatQueue) -> None:
        own = self._settings
        words = Passwords(await self._secret(own.server_password), await self._secret(own.token))
        async with connected(own, words, self._timeouts) as link:
            self._link = link
            try:
                async for line in link.heard():
                    self._connected(link)
                    self._take(line, link, queue)
            finally:
                self._link = None

    def _take(self, line: IrcLine, link: IrcLink, queue: PerChatQueue) -> None:
        match [line.command, *line.words]:
            case ["PRIVMSG", _, _] if not link.is_us(line.nick):
                self._turn_away(line, link)
                named = replace(line, tags={"msgid": sortable_id(self._context.clock), **line.tags})
                if spoken := self._reader.envelope(named, link.nick, link.mapping):
                    self._hand_in(spoken, queue)
            case ["NICK", nick]:
                self._speaker.renamed(line.nick, nick)
            case ["KICK", channel, nick, *_] if link.is_us(nick):
                queue.begin(self._come_back(channel, f"{line.nick} has put us out of {channel}: {line.last}.", link))
            case [code, *words] if code.isdecimal() and "400" <= code < "600":
                self._connection_state.trouble(f"The IRC server says: {' '.join(words[1:])} ({code}).")
            case _:
                return

    async def _come_back(self, channel: str, why: str, link: IrcLink) -> None:
        """Join a channel again that put us out: once, and late, since who comes back at once is banned."""
        seconds = growing_pause(self._timeouts.back, 0, self._timeouts.back)
        self._connection_state.trouble(f"{why} It is joined again in {seconds:.0f} s.")
        await asyncio.sleep(seconds)
        if link is self._link:
            link.say(f"JOIN {channel}")

    def _hand_in(self, spoken: IrcSpoken, queue: PerChatQueue) -> None:
        if spoken.key not in self._waiting:
            self._waiting[spoken.key] = spoken
            taken = queue.put(spoken.address.chat, f"message {spoken.key}", partial(self._read, spoken))
            taken.add_done_callback(lambda _: self._waiting.pop(spoken.key))

    async def _read(self, spoken: IrcSpoken) -> IrcSpoken:
        if self._settings.identity == "account":
            await self._speaker.met(spoken.sender.id, spoken.sender.name)
        return spoken

    def _turn_away(self, line: IrcLine, link: IrcLink) -> None:
        """Tell somebody whom nobody vouches for why they are not heard, at the pace of everything that we say."""
        if self._reader.person(line, link.mapping) or not link.is_us(line.words[0]) or "!" not in line.source:
            return
        if not self._speaker.pace.wait_for(1) and is_target(line.nick):
            self._speaker.pace.add(1)
            link.say(f"NOTICE {line.nick} :I hear only people who are logged in to this network's services.")

    # -- out ----------------------------------------------------------------------------------------------------

    async def send(self, to: Address, outgoing: Outgoing, key: str) -> str:
        """See `Channel.send`. Every line of it has arrived, or it fails."""
        if not isinstance(outgoing, OutText):
            raise Rejected("IRC carries words alone, and no files.")
        return await self._speaker.say(await self._ready_link(), to, outgoing, key)

    async def probe(self) -> None:
        """See `HasProbe.probe`: a connection is ready once the server has answered on it."""
        await self._ready_link()

    async def _ready_link(self) -> IrcLink:
        """The connection; one that is being tried may still come to be."""
        if not (self._link and self._link.ready) and not self._connection_state.refused:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._timeouts.answer):
                    await self._tried.wait()
        if self._connection_state.refused:
            raise self._connection_state.refused
        if self._link is None or not self._link.ready:
            raise NotSent("There is no connection to the IRC server now.")
        return self._link

    def fetch(self, offer: OfferedFile) -> AsyncIterator[bytes]:
        """See `Channel.fetch`: nothing is ever offered."""
        raise CannotFetch("IRC carries words alone, and no files.")

    async def edit(self, to: Address, message: str, text: OutText) -> None:
        """See `Channel.edit`: never."""
        raise MessageGone("What was said on IRC stays as it was said.")

    async def delete(self, to: Address, message: str) -> None:
        """See `Channel.delete`: never."""
        raise MessageGone("What was said on IRC stays as it was said.")

    async def typing(self, to: Address) -> None:
        """See `Channel.typing`: never."""
        raise Rejected("IRC has no sign of typing that all servers pass on.")

    async def react(self, to: Address, message: str, emoji: str) -> None:
        """See `Channel.react`: never."""
        raise Rejected("IRC has no marks on messages.")

    async def close(self) -> None:
        """See `Channel.close`; the connection ended with `run`."""

    # -- how it is ----------------------------------------------------------------------------------------------

    async def _secret(self, where: Secret | None) -> str:
        return await self._context.secret(where) if where else ""

    def _connected(self, link: IrcLink) -> None:
        wanted = self._settings.nick
        if link.ready:
            self._connection_state.well(
                "" if link.is_us(wanted) else f"The nick {wanted} is in use; here I am {link.nick}."
            )

    def _changed(self, before: ConnectionHealth, state: ConnectionHealth) -> None:
        lost = before is ConnectionHealth.CONNECTED and state is ConnectionHealth.WAITING
        if state is not ConnectionHealth.CONNECTING and not lost:  # a try to connect has ended, and another will
            self._tried.set()
            self._tried = asyncio.Event()


CHANNEL = ChannelProvider(IrcSettings, partial(IrcChannel, timeouts=IrcWaits()))
