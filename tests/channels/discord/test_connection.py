"""The gateway's sessions: resumed where they can be, read up on where they cannot, and refused in words."""

from collections.abc import Sequence
from typing import cast

import pytest

from angelia.channels.capabilities import IncomingKind
from angelia.channels.failures import LoginFailed
from angelia.channels.health import ConnectionHealth
from angelia.channels.incoming import Envelope, IncomingMessage
from angelia.core.entry import Address
from angelia.testing.channels.network import ChannelTimeouts, Flood, ServerError, Thing
from angelia.testing.channels.stage import Stage, staged
from tests.channels.discord import world as w
from tests.channels.discord.network import Discord, discord
from tests.channels.discord.socketless import RESUMABLE, Lose

pytestmark = pytest.mark.anyio


def network(stage: Stage) -> Discord:
    """The fake that a stage is on."""
    return cast("Discord", stage.network)


def texts(heard: Sequence[Envelope]) -> list[str]:
    """What was said, in order."""
    return [envelope.what.text for envelope in heard if isinstance(envelope.what, IncomingMessage)]


def said(text: str, where: Address = Discord.here, *, to_us: bool = False) -> Thing:
    """Words of the friend's."""
    return Thing(IncomingKind.TEXT, where, text, to_us=to_us)


async def mended(stage: Stage, mark: int) -> None:
    """Wait until a connection that was lost is there again."""
    await stage.until(
        lambda: any(one.state is ConnectionHealth.CONNECTED and one.gap_ms > 0 for one in stage.health[mark:])
    )


@pytest.mark.parametrize("lose", RESUMABLE, ids=lambda lose: lose.name)
async def test_a_session_that_breaks_off_is_resumed_without_a_loss(lose: Lose) -> None:
    async with staged(discord) as stage:
        fake = network(stage)
        await fake.bring(said("before"))
        await stage.until(lambda: "before" in texts(stage.heard))
        mark = len(stage.health)
        await lose.how(fake)
        await fake.bring(said("while away"))
        await mended(stage, mark)
        await stage.until(lambda: "while away" in texts(stage.heard))
        assert fake.gateway.opened == ["Identify", "Resume"]
        assert texts(stage.heard) == ["before", "while away"]


async def test_what_was_said_while_discord_forgot_us_is_read_from_the_chats() -> None:
    async with staged(discord) as stage:
        fake = network(stage)
        await fake.bring(said("direct 1"), said("group 1", fake.group, to_us=True))
        await stage.until(lambda: len(stage.heard) == 2)
        await fake.down()
        fake.gateway.sessions.clear()
        await fake.bring(said("direct 2"), said("group 2", fake.group), said("thread 1", fake.topic), said("direct 3"))
        await fake.up()
        await stage.until(lambda: len(stage.heard) >= 6)
        await fake.bring(said("direct 4"))
        await stage.until(lambda: "direct 4" in texts(stage.heard))
        assert set(texts(stage.heard)[2:6]) == {"direct 2", "direct 3", "group 2", "thread 1"}
        direct = [one for one in stage.heard if one.private]
        assert texts(direct) == ["direct 1", "direct 2", "direct 3", "direct 4"]
        threaded = next(one for one in stage.heard if texts([one]) == ["thread 1"])
        assert (threaded.address.chat, threaded.address.thread, threaded.private) == (w.GROUP, w.TOPIC, False)
        assert len({one.key for one in stage.heard}) == 7


async def test_more_than_a_page_is_read_in_order() -> None:
    async with staged(discord) as stage:
        fake = network(stage)
        await fake.bring(said("first"))
        await stage.until(lambda: len(stage.heard) == 1)
        await fake.down()
        fake.gateway.sessions.clear()
        await fake.bring(*(said(str(number)) for number in range(1050)))
        await fake.up()
        await stage.until(lambda: len(stage.heard) >= 1051)
        assert texts(stage.heard) == ["first", *map(str, range(1050))]


async def test_what_was_missed_is_asked_for_until_discord_answers_and_comes_first() -> None:
    async with staged(discord) as stage:
        fake = network(stage)
        await fake.bring(said("first"))
        await stage.until(lambda: len(stage.heard) == 1)
        await fake.down()
        fake.gateway.sessions.clear()
        await fake.bring(said("missed"))
        fake.rest.patience = [ServerError() for _ in range(8)]
        await fake.up()
        await fake.when(lambda: len(fake.rest.patience) < 8)
        await fake.bring(said("now"))
        await stage.until(lambda: len(stage.heard) == 3)
        assert (texts(stage.heard), fake.rest.patience) == (["first", "missed", "now"], [])


async def test_while_what_was_missed_cannot_be_read_the_rest_is_heard_and_the_next_life_reads_it() -> None:
    async with staged(discord) as stage:
        fake = network(stage)
        await fake.bring(said("first"))
        await stage.until(lambda: len(stage.heard) == 1)
        await fake.down()
        fake.gateway.sessions.clear()
        await fake.bring(said("missed"))
        fake.rest.patience = [Flood(3600)]
        await fake.up()
        await fake.when(lambda: not fake.rest.patience)
        await fake.bring(said("now"))
        await stage.until(lambda: "now" in texts(stage.heard))
        assert any("missed in a chat cannot be read yet" in one.why for one in stage.health)
        await stage.stop()
        fake.gateway.sessions.clear()
        await stage.start()
        await stage.until(lambda: "missed" in texts(stage.heard))


async def test_a_restart_resumes_the_session_behind_what_was_taken_in() -> None:
    async with staged(discord) as stage:
        fake = network(stage)
        await fake.bring(said("before"))
        await stage.until(lambda: "before" in texts(stage.heard))
        await stage.stop()
        await fake.bring(said("between two lives"))
        await stage.start()
        await stage.until(lambda: "between two lives" in texts(stage.heard))
        assert fake.gateway.opened == ["Identify", "Resume"]
        assert fake.gateway.left == [4900], "1000 and 1001 end the session"
        assert texts(stage.heard) == ["before", "between two lives"]


async def test_what_was_not_taken_in_holds_back_what_is_acknowledged() -> None:
    async with staged(discord, ChannelTimeouts(silence=1.0)) as stage:
        fake = network(stage)
        stage.refuse = lambda envelope: envelope.what == IncomingMessage("not yet")
        await fake.bring(said("not yet"), said("other chat", fake.group, to_us=True))
        await stage.until(lambda: "other chat" in texts(stage.heard))
        session = next(iter(fake.gateway.sessions.values()))
        refused = next(one["s"] for one in session.events if one["d"].get("content") == "not yet")
        beats = len(fake.gateway.beats)
        await fake.gateway.say({"op": 1, "d": None})
        await fake.changes.when(lambda: len(fake.gateway.beats) > beats)
        assert fake.gateway.beats[-1] == refused - 1


async def test_a_missing_intent_is_told_with_what_to_do() -> None:
    async with staged(discord) as stage:
        fake = network(stage)
        await fake.down()
        fake.gateway.sessions.clear()
        fake.gateway.allowed = False
        await fake.up()
        await stage.over()
        assert isinstance(stage.ended, LoginFailed)
        assert "Message Content Intent" in stage.ended.why
        assert "Developer Portal" in stage.ended.then


async def test_without_the_intent_only_what_is_for_us_is_heard() -> None:
    async with staged(discord) as stage:
        fake = network(stage)
        fake.settings["groups"] = "addressed"
        await stage.stop()
        fake.gateway.sessions.clear()
        await stage.start()
        await stage.connected()
        await fake.bring(said("not for us", fake.group), said("for us", fake.group, to_us=True), said("direct"))
        await stage.until(lambda: len(stage.heard) == 2)
        assert sorted(texts(stage.heard)) == ["direct", "for us"]


async def test_our_verbs_are_offered_once() -> None:
    async with staged(discord) as stage:
        fake = network(stage)
        await fake.when(lambda: bool(fake.rest.menu))
        assert {one["name"]: one["description"] for one in fake.rest.menu} == {
            "status": "what is going on",
            "stop": "stop what is running",
        }
        fake.rest.menu = []
        await stage.stop()
        fake.gateway.sessions.clear()
        await stage.start()
        await stage.connected()
        await fake.bring(said("hello"))
        await stage.until(lambda: bool(stage.heard))
        assert fake.rest.menu == []
