"""The room of one nick on one IRC network."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import NoReturn

import msgspec
from msgspec.structs import replace

from angelia.channels.abilities import Abilities
from angelia.channels.dialects import Dialect
from angelia.channels.failures import (
    CannotFetch,
    MessageGone,
    NotSent,
    Rejected,
)
from angelia.channels.health import State
from angelia.channels.incoming import Hear, Offer
from angelia.channels.irc.link import Link, Passwords, connected
from angelia.channels.irc.reading import Reader, Spoken
from angelia.channels.irc.settings import IrcSettings, Waits
from angelia.channels.irc.speaking import Speaker
from angelia.channels.irc.table import IrcMarks, abilities
from angelia.channels.irc.wire import Line, is_target
from angelia.channels.lanes import Lanes
from angelia.channels.outgoing import Outgoing, OutText
from angelia.channels.pauses import growing_pause
from angelia.channels.port import Outfit, Room
from angelia.channels.settings import Secret
from angelia.channels.standing import Standing
from angelia.core.entry import Address
from angelia.core.ids import sortable_id

_KEPT = "heard, not taken in"


class IrcChannel:
    """One nick. See `Channel`.

    IRC keeps nothing: what is said while we are away is lost, and the gap is told. A line is not acknowledged either;
    what cannot be taken in is kept by ourselves, and handed in again in a later life that follows an orderly end.
    """

    def __init__(self, settings: IrcSettings, outfit: Outfit, waits: Waits) -> None:
        self.door = outfit.door
        self.abilities: Abilities = abilities()
        self.dialect: Dialect = IrcMarks()
        self._settings, self._outfit, self._waits = settings, outfit, waits
        self._reader = Reader(outfit.door, settings.identity, tuple(outfit.commands))
        self._speaker = Speaker(settings, outfit, waits)
        self._link: Link | None = None
        self._tried = asyncio.Event()
        self._waiting: dict[str, Spoken] = {}
        self._standing = Standing(outfit, waits.pause, waits.silence, self._changed)

    # -- in -----------------------------------------------------------------------------------------------------

    async def run(self, hear: Hear) -> NoReturn:
        """See `Channel.run`."""
        lanes = Lanes(hear, self._standing.trouble, self._waits.pause)
        for spoken in msgspec.json.decode(await self._outfit.recall(_KEPT) or "[]", type=list[Spoken]):
            self._hand_in(spoken, lanes)
        try:
            await self._standing.hold(lambda: self._stay(lanes))
        finally:
            await lanes.close()
            await self._outfit.remember(_KEPT, msgspec.json.encode(list(self._waiting.values())).decode())

    async def _stay(self, lanes: Lanes) -> None:
        own = self._settings
        words = Passwords(await self._secret(own.server_password), await self._secret(own.token))
        async with connected(own, words, self._waits) as link:
            self._link = link
            try:
                async for line in link.heard():
                    self._connected(link)
                    self._take(line, link, lanes)
            finally:
                self._link = None

    def _take(self, line: Line, link: Link, lanes: Lanes) -> None:
        match [line.command, *line.words]:
            case ["PRIVMSG", _, _] if not link.is_us(line.nick):
                self._turn_away(line, link)
                named = replace(line, tags={"msgid": sortable_id(self._outfit.clock), **line.tags})
                if spoken := self._reader.envelope(named, link.nick, link.mapping):
                    self._hand_in(spoken, lanes)
            case ["NICK", nick]:
                self._speaker.renamed(line.nick, nick)
            case ["KICK", channel, nick, *_] if link.is_us(nick):
                lanes.begin(self._come_back(channel, f"{line.nick} has put us out of {channel}: {line.last}.", link))
            case [code, *words] if code.isdecimal() and "400" <= code < "600":
                self._standing.trouble(f"The IRC server says: {' '.join(words[1:])} ({code}).")
            case _:
                return

    async def _come_back(self, channel: str, why: str, link: Link) -> None:
        """Join a channel again that put us out: once, and late, since who comes back at once is banned."""
        seconds = growing_pause(self._waits.back, 0, self._waits.back)
        self._standing.trouble(f"{why} It is joined again in {seconds:.0f} s.")
        await asyncio.sleep(seconds)
        if link is self._link:
            link.say(f"JOIN {channel}")

    def _hand_in(self, spoken: Spoken, lanes: Lanes) -> None:
        if spoken.key not in self._waiting:
            self._waiting[spoken.key] = spoken
            taken = lanes.put(spoken.address.chat, f"message {spoken.key}", partial(self._read, spoken))
            taken.add_done_callback(lambda _: self._waiting.pop(spoken.key))

    async def _read(self, spoken: Spoken) -> Spoken:
        if self._settings.identity == "account":
            await self._speaker.met(spoken.sender.id, spoken.sender.name)
        return spoken

    def _turn_away(self, line: Line, link: Link) -> None:
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

    async def _ready_link(self) -> Link:
        """The connection; one that is being tried may still come to be."""
        if not (self._link and self._link.ready) and not self._standing.refused:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._waits.answer):
                    await self._tried.wait()
        if self._standing.refused:
            raise self._standing.refused
        if self._link is None or not self._link.ready:
            raise NotSent("There is no connection to the IRC server now.")
        return self._link

    def fetch(self, offer: Offer) -> AsyncIterator[bytes]:
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
        return await self._outfit.secret(where) if where else ""

    def _connected(self, link: Link) -> None:
        wanted = self._settings.nick
        if link.ready:
            self._standing.well("" if link.is_us(wanted) else f"The nick {wanted} is in use; here I am {link.nick}.")

    def _changed(self, before: State, state: State) -> None:
        lost = before is State.CONNECTED and state is State.WAITING
        if state is not State.CONNECTING and not lost:  # a try to connect has ended, and another will
            self._tried.set()
            self._tried = asyncio.Event()


ROOM = Room(IrcSettings, partial(IrcChannel, waits=Waits()))
