"""What IRC asks of its channel beside the kit: whose a nick is, what is said to us, and a server that we can use."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from angelia.channels.capabilities import IncomingKind
from angelia.channels.failures import Later, LoginFailed, Rejected, Unsure
from angelia.channels.health import ConnectionHealth
from angelia.channels.incoming import IncomingMessage
from angelia.channels.outgoing import OutText
from angelia.core.entry import Address
from angelia.testing.channels.network import Reset, Thing
from angelia.testing.channels.stage import CALM, Make, Stage, staged
from tests.channels.irc import server as s
from tests.channels.irc.network import IrcNetwork, irc_network

HOST = "host.example.net"


def network(prepare: Callable[[IrcNetwork], None]) -> Callable[[], AbstractAsyncContextManager[IrcNetwork]]:
    """A network on which something is otherwise from the start."""

    @asynccontextmanager
    async def made() -> AsyncIterator[IrcNetwork]:
        async with irc_network() as network:
            prepare(network)
            yield network

    return made


def set_to(**settings: Any) -> Callable[[IrcNetwork], None]:
    """Other settings of ours."""
    return lambda network: network.settings.update(settings)


@asynccontextmanager
async def opened(make: Make) -> AsyncIterator[Stage]:
    """A channel on a network; whatever is waited for there has an end."""
    async with asyncio.timeout(60), staged(make) as stage:
        yield stage


def told(stage: Stage) -> IrcNetwork:
    """The network of a stage, as it is."""
    assert isinstance(stage.network, IrcNetwork)
    return stage.network


async def heard_after(stage: Stage, *lines: str) -> list[object]:
    """What is heard of lines that the server says, up to a word of the friend's."""
    for line in lines:
        told(stage).server.tell(line)
    await stage.network.bring(Thing(IncomingKind.TEXT, stage.network.here, "end"))
    await stage.until(lambda: bool(stage.heard) and stage.heard[-1].what == IncomingMessage("end"))
    return [envelope.what for envelope in stage.heard[:-1]]


@pytest.mark.anyio
async def test_lines_that_end_too_early_harm_nobody() -> None:
    short = ("", ":", "@", ":irc", "CAP", "CAP *", "CAP * LS", "CAP * ACK", "005", "KICK", "KICK #town", "NICK", "PING")
    async with opened(irc_network) as stage:
        assert await heard_after(stage, *short, ":ann!~a@h PRIVMSG", ":ann!~a@h PRIVMSG #town", f":{s.NICK} NICK") == []
        assert all(one.state is not ConnectionHealth.WAITING for one in stage.health)


@pytest.mark.anyio
async def test_what_is_meant_for_somebody_is_not_said_to_who_has_their_nick_now() -> None:
    async with opened(irc_network) as stage:
        await stage.spoken_to()
        told(stage).server.holders["ann"] = "mallory"
        error = await stage.fails(stage.channel.send(stage.network.here, OutText("secret"), "1"), Rejected)
        assert "somebody else" in str(error)
        assert not stage.network.arrived


@pytest.mark.anyio
async def test_somebody_is_reached_under_the_nick_that_they_have_now() -> None:
    async with opened(irc_network) as stage:
        await stage.spoken_to()
        server = told(stage).server
        server.holders["annie"] = server.holders.pop("ann")
        server.tell(f":ann!~ann@{HOST} NICK :annie")
        server.tell(f":irc 475 {s.NICK} #closed :Cannot join channel (+k)")
        await stage.until(lambda: any("+k" in one.why for one in stage.health))
        assert (await stage.send(OutText("hello"))).text == "hello"


@pytest.mark.anyio
async def test_whom_nobody_vouches_for_is_not_heard_and_told_so_in_private_alone() -> None:
    async with opened(network(set_to(line_seconds=2.0))) as stage:
        lines = [f":eve!~eve@{HOST} PRIVMSG {where} :hi" for where in (s.CHANNEL, s.NICK)]
        assert await heard_after(stage, *lines) == []
        await stage.network.when(lambda: bool(told(stage).server.notices))
        assert ["logged in" in notice for notice in told(stage).server.notices] == [True]


@pytest.mark.anyio
@pytest.mark.parametrize("identity", ["mask", "nick"])
async def test_people_can_be_known_by_less_where_somebody_chose_so(identity: str) -> None:
    async with opened(network(set_to(identity=identity))) as stage:
        await heard_after(stage, f":Eve!~eve@{HOST} PRIVMSG {s.NICK} :hi")
        eve = {"mask": f"Eve!~eve@{HOST}", "nick": "eve"}[identity]
        assert stage.heard[0].sender.id == stage.heard[0].address.chat == eve
        told(stage).server.holders |= {"Eve": "*", "eve": "*"}
        sending = stage.channel.send(stage.heard[0].address, OutText("hello"), "1")
        if identity == "mask":  # the server tells another mask, ~Eve
            assert "somebody else" in str(await stage.fails(sending, Rejected))
        else:
            assert await sending == stage.network.arrived[-1].message


@pytest.mark.anyio
async def test_requests_between_programs_are_not_heard_and_deeds_are() -> None:
    said = f"@account=ann :ann!~ann@{HOST}"
    async with opened(irc_network) as stage:
        heard = await heard_after(
            stage,
            f"{said} PRIVMSG {s.NICK} :\x01VERSION\x01",
            f"{said} PRIVMSG {s.NICK} :\x01DCC SEND x 2130706433 99 1\x01",
            f"{said} NOTICE {s.NICK} :hello",
            f"{said} PRIVMSG $$*.net :hello everybody",
            f":irc.example.net PRIVMSG {s.NICK} :hello",
            f"{said} PRIVMSG {s.NICK} :\x01ACTION waves\x01",
            f"{said} PRIVMSG {s.NICK} :\x0304,01red\x03 \x02bold\x02",
            f"{said} PRIVMSG {s.NICK} :!status now",
            f"{said} PRIVMSG {s.NICK} :!nothing of ours",
        )
        assert heard == [
            IncomingMessage(text) for text in ("* ann waves", "red bold", "/status now", "!nothing of ours")
        ]


@pytest.mark.anyio
async def test_a_channel_is_heard_and_answered_as_one_chat() -> None:
    said = f"@account=ann :ann!~ann@{HOST}"
    async with opened(irc_network) as stage:
        lines = [
            f"{said} PRIVMSG {to} :{text}" for to, text in (("#TOWN", "hm, Angelia?"), ("@#town", "angelia_ is it"))
        ]
        await heard_after(stage, *lines)
        assert [(one.address.chat, one.addressed) for one in stage.heard[:2]] == [("#town", True), ("#town", False)]
        await stage.channel.send(stage.heard[0].address, OutText("yes"), "1")
        assert stage.network.arrived[-1].chat == "#town"


@pytest.mark.anyio
async def test_a_text_of_many_lines_arrives_in_order() -> None:
    text = "\n".join(str(number) for number in range(17))
    async with opened(irc_network) as stage:
        await stage.channel.send(stage.network.here, OutText(text), "1")
        assert "\n".join(one.text for one in stage.network.arrived) == text


@pytest.mark.anyio
async def test_a_connection_that_ends_before_the_proof_leaves_a_message_in_doubt() -> None:
    async with opened(irc_network) as stage:
        stage.network.misbehave(Reset(accepted=False))
        await stage.fails(stage.channel.send(stage.network.here, OutText("x"), "1"), Unsure)
        assert (await stage.send(OutText("y"))).text == "y"


@pytest.mark.anyio
async def test_what_the_server_gives_to_nobody_is_not_told_as_sent() -> None:
    async with opened(irc_network) as stage:
        told(stage).server.drops = True
        await stage.fails(stage.channel.send(stage.network.here, OutText("x"), "1"), Rejected)
        assert not stage.network.arrived


@pytest.mark.anyio
async def test_lines_beyond_the_burst_are_put_off_unsent() -> None:
    async with opened(network(set_to(line_seconds=600.0))) as stage:
        await stage.send(OutText("one"))
        error = await stage.fails(stage.channel.send(stage.network.here, OutText("two"), "2"), Later)
        assert isinstance(error, Later)
        assert 500 < error.seconds <= 600
        assert len(stage.network.arrived) == 1


@pytest.mark.anyio
async def test_a_nick_that_is_in_use_is_told_with_the_one_we_have() -> None:
    async with opened(network(lambda network: network.server.taken_nicks.add(s.NICK))) as stage:
        connected = next(one for one in stage.health if one.state is ConnectionHealth.CONNECTED)
        assert "angelia_" in connected.why
        await stage.network.bring(Thing(IncomingKind.TEXT, stage.network.group, "angelia_: hello"))
        await stage.until(lambda: bool(stage.heard))
        assert (stage.heard[0].what, stage.heard[0].addressed) == (IncomingMessage("hello"), True)


@pytest.mark.anyio
async def test_what_was_said_to_another_nick_of_ours_is_brought_after_a_restart() -> None:
    async with opened(network(lambda network: network.server.taken_nicks.add(s.NICK))) as stage:
        stage.refuse = lambda envelope: True
        told(stage).server.tell(f"@account=ann;msgid=m :ann!~ann@{HOST} PRIVMSG angelia_ :angelia_: hello")
        await stage.until(lambda: bool(stage.tries))
        await stage.stop()
        told(stage).server.taken_nicks.clear()
        stage.refuse = lambda envelope: False
        await stage.start()
        await stage.until(lambda: bool(stage.heard))
        assert (stage.heard[0].what, stage.heard[0].private) == (IncomingMessage("hello"), True)


def _without(capability: str) -> Callable[[IrcNetwork], None]:
    def prepare(network: IrcNetwork) -> None:
        network.server.offered = tuple(one for one in s.CAPABILITIES if one != capability)

    return prepare


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("prepare", "why"),
    [
        (_without("account-tag"), "identity"),
        (_without("sasl"), "SASL"),
        (set_to(login="somebody"), "904"),
        (set_to(server_password=None), "464"),
    ],
)
async def test_a_server_that_we_cannot_use_is_told_and_not_tried_again(
    prepare: Callable[[IrcNetwork], None], why: str, tmp_path: Path
) -> None:
    async with network(prepare)() as place:
        stage = Stage(place, CALM, tmp_path)
        await stage.start()
        async with asyncio.timeout(60):
            await stage.over()
        await stage.stop()
        assert isinstance(stage.ended, LoginFailed)
        assert why in str(stage.ended)
        assert stage.health[-1].state is ConnectionHealth.STOPPED


@pytest.mark.anyio
@pytest.mark.parametrize("chat", ["a b", "ann,bob", ":x", "x\r\nQUIT", "", "é" * 150])
async def test_nothing_is_said_to_what_nobody_can_be_called(chat: str) -> None:
    async with opened(irc_network) as stage:
        await stage.fails(stage.channel.send(Address("", chat), OutText("x"), "1"), Rejected)
        assert not stage.network.arrived
