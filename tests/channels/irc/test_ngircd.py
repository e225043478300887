"""The IRC channel on a real server, ngIRCd: TLS and passwords, words both ways, and a server that dies."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from angelia.channels.failures import LoginFailed, Rejected
from angelia.channels.health import ConnectionHealth
from angelia.channels.incoming import IncomingMessage
from angelia.channels.irc.capabilities import TEXT
from angelia.channels.irc.channel import IrcChannel
from angelia.channels.irc.settings import IrcSettings, IrcWaits
from angelia.channels.outgoing import OutText
from angelia.channels.settings import Secret
from angelia.core.entry import Address
from tests.channels.irc.ngircd import PASSWORD, Person, Server
from tests.channels.real_channel import RealChannel

pytestmark = [pytest.mark.anyio, pytest.mark.real("irc")]

TOWN = "#town"

Opened = Callable[..., AbstractAsyncContextManager[RealChannel]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """NgIRCd."""
    server = Server(tmp_path_factory.mktemp("irc"))
    server.certify()
    server.up()
    try:
        yield server
    finally:
        server.down()


@pytest.fixture
def opened(server: Server, tmp_path: Path) -> Opened:
    """Opens channels on it; they run until they are left."""

    @asynccontextmanager
    async def opened(
        state: ConnectionHealth = ConnectionHealth.CONNECTED, **settings: Any
    ) -> AsyncIterator[RealChannel]:
        wanted: dict[str, Any] = {"server": "127.0.0.1", "port": server.port, "ca": str(server.cert)}
        wanted |= {"server_password": Secret(env="PASSWORD"), "identity": "mask", "line_seconds": 0.0, "join": (TOWN,)}
        asked, timeouts = IrcSettings(**wanted | settings), IrcWaits(pause=0.05, back=0.05)
        here = RealChannel("irc", tmp_path, PASSWORD, lambda context: IrcChannel(asked, context, timeouts))
        async with here.running(state):
            yield here

    return opened


async def said(person: Person) -> str:
    """What somebody is told next."""
    return (await person.until("PRIVMSG")).partition(" :")[2]


async def test_words_go_both_ways(server: Server, opened: Opened) -> None:
    async with server.person("ann", TOWN) as ann, opened() as here:
        ann.say("PRIVMSG angelia :hello é 🦊", f"PRIVMSG {TOWN} :angelia: what is new?")
        alone, among = await here.heard_next(), await here.heard_next()
        assert (alone.what, alone.private, alone.sender.name) == (IncomingMessage("hello é 🦊"), True, "ann")
        assert (among.what, among.private, among.addressed) == (IncomingMessage("what is new?"), False, True)
        assert await here.channel.send(alone.address, OutText("first\n\nsecond\r\nQUIT :third"), "k") == "k"
        assert [(await said(ann)).strip() for _ in range(4)] == ["first", "", "second", "QUIT :third"]
        longest = "🦊" * (TEXT // 4)
        await here.channel.send(among.address, OutText(longest), "l")
        assert await said(ann) == longest


async def test_a_nick_in_use_leaves_us_another_and_who_has_left_theirs_is_told(server: Server, opened: Opened) -> None:
    async with server.person("twin") as other, opened(nick="twin", join=()) as here:
        assert "twin_" in here.health[-1].why
        other.say("PRIVMSG twin_ :hello", "NICK mallory")
        where = (await here.heard_next()).address
        await other.until("NICK")
        with pytest.raises(Rejected, match="Nobody called twin"):
            await here.channel.send(where, OutText("secret"), "k")


async def test_a_channel_that_puts_us_out_is_joined_again(server: Server, opened: Opened) -> None:
    async with server.person("ann", "#club") as ann, opened(join=("#club",)) as here:
        ann.say("KICK #club angelia :enough")
        await ann.until("KICK")
        await ann.until("JOIN")
        assert any("ann has put us out of #club: enough." in one.why for one in here.health)
        ann.say("PRIVMSG #club :welcome back")
        assert (await here.heard_next()).what == IncomingMessage("welcome back")
        ann.say("MODE #club +b angelia!*@*", "KICK #club angelia :and stay away")
        await here.until(lambda: "474" in here.health[-1].why)


async def test_a_server_that_dies_and_comes_again_is_reached_again(server: Server, opened: Opened) -> None:
    async with opened(nick="phoenix") as here:
        server.down()
        await here.until(lambda: here.health[-1].state is ConnectionHealth.WAITING)
        server.up(server.port)
        await here.until(lambda: here.health[-1].state is ConnectionHealth.CONNECTED)
        assert here.health[-1].gap_ms > 0
        assert await here.channel.send(Address("irc", TOWN), OutText("x"), "k") == "k"


async def test_a_server_that_is_not_who_it_should_be_is_not_spoken_to(opened: Opened) -> None:
    async with opened(ConnectionHealth.WAITING, ca="") as here:
        assert "certificate" in here.health[-1].why


async def test_a_wrong_password_is_told(opened: Opened) -> None:
    async with opened(ConnectionHealth.STOPPED, server_password=None) as here:
        assert "password" in here.health[-1].why
        with pytest.raises(LoginFailed):
            await here.channel.send(Address("irc", TOWN), OutText("x"), "k")
