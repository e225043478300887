"""The strict server with people on it, for the conformance checks."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from angelia.channels.capabilities import Kind
from angelia.channels.irc.channel import IrcChannel
from angelia.channels.irc.settings import IrcSettings, IrcWaits
from angelia.channels.port import ChannelContext
from angelia.channels.settings import Secret
from angelia.core.entry import Address
from angelia.testing.channels.network import ArrivedMessage, ChannelTimeouts, Thing, Trouble, Who
from tests.channels.irc import server as s


class IrcNetwork:
    """See `FakeNetwork`. IRC keeps nothing; what it repeats comes as from a bouncer, when we join again."""

    secrets: Mapping[str, str] = {"IRC_PASSWORD": s.PASSWORD, "IRC_SERVER_PASSWORD": s.SERVER_PASSWORD}
    here, group, topic = Address("", "ann"), Address("", s.CHANNEL), Address("")
    nowhere = Address("", "nobody")
    broken = ""
    keeps = takes_empty = forwards = False

    def __init__(self) -> None:
        self.server = s.Server()
        self.settings: dict[str, Any] = {
            "token": Secret(env="IRC_PASSWORD"),
            "server_password": Secret(env="IRC_SERVER_PASSWORD"),
            "login": s.LOGIN,
            "join": (s.CHANNEL,),
            "line_seconds": 0,
        }
        self._brought: list[str] = []

    @property
    def arrived(self) -> list[ArrivedMessage]:
        """See `FakeNetwork.arrived`."""
        return self.server.arrived

    def open(self, context: ChannelContext, patience: ChannelTimeouts) -> IrcChannel:
        """See `FakeNetwork.open`."""
        settings = IrcSettings(server="127.0.0.1", port=self.server.port, tls=False, **self.settings)
        return IrcChannel(settings, context, IrcWaits(patience.answer, patience.silence, patience.pause))

    def called(self, name: str) -> str:
        """See `FakeNetwork.called`."""
        return name

    def lower(self, limits: Mapping[Kind, int]) -> None:
        """See `FakeNetwork.lower`: there are no files."""

    def misbehave(self, *troubles: Trouble) -> None:
        """See `FakeNetwork.misbehave`."""
        self.server.troubles = list(troubles)

    async def bring(self, *things: Thing) -> tuple[str, ...]:
        """See `FakeNetwork.bring`; people speak when we are there."""
        await self.when(lambda: self.server.client is not None)
        return tuple([self._say(thing) for thing in things])

    async def repeat(self) -> None:
        """See `FakeNetwork.repeat`."""
        self.server.playback = self._brought[::-1]

    async def down(self) -> None:
        """See `FakeNetwork.down`."""
        await self.server.down()

    async def up(self) -> None:
        """See `FakeNetwork.up`."""
        if self.server.mute:
            self.server.mute = False
        else:
            await self.server.up()

    async def swallow(self) -> None:
        """See `FakeNetwork.swallow`."""
        self.server.mute = True

    def revoke(self) -> None:
        """See `FakeNetwork.revoke`."""
        self.server.revoked = True

    async def when(self, holds: Callable[[], bool]) -> None:
        """See `FakeNetwork.when`."""
        await self.server.changes.when(holds)

    def _say(self, thing: Thing) -> str:
        number, private = self.server.new_id(), thing.where == self.here
        nick = {Who.FRIEND: "ann", Who.BOT: "robot", Who.OURSELVES: s.NICK}[thing.who]
        tags = f"@account={s.PEOPLE.get(nick, s.LOGIN)};msgid={number};time=2026-01-02T03:04:05.678Z"
        tags += ";bot" if thing.who is Who.BOT else ""
        words = f"{s.NICK}: {thing.text}" if thing.to_us else thing.text
        line = f"{tags} :{nick}!~{nick}@host.example.net PRIVMSG {s.NICK if private else s.CHANNEL} :{words}"
        self._brought.append(line)
        self.server.tell(line)
        return number


@asynccontextmanager
async def irc_network() -> AsyncIterator[IrcNetwork]:
    """A fresh one; nothing that was said on it broke the rules."""
    network = IrcNetwork()
    await network.server.up()
    try:
        yield network
    finally:
        network.server.mute = False
        await network.server.down()
    assert not network.server.faults
