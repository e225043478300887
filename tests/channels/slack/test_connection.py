"""Socket Mode: nothing is acknowledged before it is stored, connections overlap, and gaps are read up on."""

import pytest

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.channels.failures import LoginFailed
from angelia.channels.health import ConnectionHealth
from angelia.channels.outgoing import Button, OutText
from angelia.testing.channels.network import Flood, ServerError, Thing
from angelia.testing.channels.samples import sample_of
from angelia.testing.channels.stage import Stage, staged
from tests.channels.slack.network import slack
from tests.channels.slack.stages import network, said, texts

pytestmark = pytest.mark.anyio

LEAVING = ("warning", "refresh_requested")


async def mended(stage: Stage, mark: int) -> None:
    """Wait until a connection that was lost is there again."""
    await stage.until(
        lambda: any(one.state is ConnectionHealth.CONNECTED and one.gap_ms > 0 for one in stage.health[mark:])
    )


async def test_what_is_not_taken_in_is_not_acknowledged() -> None:
    async with staged(slack) as stage:
        fake = network(stage)
        stage.refuse = lambda envelope: texts([envelope]) == ["not yet"]
        await fake.bring(said("not yet"), said("other chat", fake.group, to_us=True))
        await stage.until(lambda: "other chat" in texts(stage.heard) and len(stage.tries) == 2)
        await fake.when(lambda: len(fake.socket.acknowledged) == 2)  # the mention is told twice
        assert fake.socket.unacknowledged == ["message"]
        stage.refuse = lambda envelope: False
        await fake.when(lambda: len(fake.socket.acknowledged) == 3)
        assert texts(stage.heard) == ["other chat", "not yet"]


async def test_what_slack_brings_again_meanwhile_is_handed_in_once_and_acknowledged() -> None:
    async with staged(slack) as stage:
        fake = network(stage)
        stage.refuse = lambda envelope: True
        await fake.bring(said("slow"))
        await stage.until(lambda: len(stage.tries) == 1)
        fake.socket.again()
        await fake.when(lambda: fake.socket.told == 2)
        stage.refuse = lambda envelope: False
        await fake.when(lambda: len(fake.socket.acknowledged) == 2)
        await fake.bring(said("end"))
        await stage.until(lambda: "end" in texts(stage.heard))
        assert texts(stage.heard) == ["slow", "end"]


async def test_a_mention_that_is_told_twice_is_handed_in_once() -> None:
    async with staged(slack) as stage:
        fake = network(stage)
        await fake.bring(said("both", fake.group, to_us=True), said("end", fake.group))
        await stage.until(lambda: "end" in texts(stage.heard))
        assert texts(stage.heard) == ["both", "end"]


@pytest.mark.parametrize("reason", LEAVING)
async def test_the_next_connection_is_there_before_the_last_one_goes(reason: str) -> None:
    async with staged(slack) as stage:
        fake = network(stage)
        stage.refuse = lambda envelope: texts([envelope]) == ["by the first"]
        await fake.bring(said("by the first"))
        await stage.until(lambda: len(stage.tries) == 1)
        told = len(stage.health)
        await fake.socket.say({"type": "disconnect", "reason": reason, "debug_info": {}})
        await fake.when(lambda: fake.socket.opened == 2)
        assert len(fake.socket.connections) == 2, "the first was left before the second was there"
        await fake.bring(said("by the second", fake.group))
        await stage.until(lambda: "by the second" in texts(stage.heard))
        stage.refuse = lambda envelope: False
        await fake.when(lambda: len(fake.socket.acknowledged) == 2)
        assert fake.socket.unacknowledged == [], "what came by the first is acknowledged there"
        assert not [one for one in stage.health[told:] if one.state is not ConnectionHealth.CONNECTED]


async def test_socket_mode_that_is_switched_off_is_told_with_what_to_do() -> None:
    async with staged(slack) as stage:
        fake = network(stage)
        await fake.socket.say({"type": "disconnect", "reason": "link_disabled"})
        await stage.over()
        assert isinstance(stage.ended, LoginFailed)
        assert "Socket Mode is switched off" in stage.ended.why


async def test_an_app_token_without_its_scope_is_told_with_what_to_do() -> None:
    async with staged(slack) as stage:
        fake = network(stage)
        fake.web.wrong["apps.connections.open"] = "missing_scope"
        await fake.down()
        await fake.up()
        await stage.over()
        assert isinstance(stage.ended, LoginFailed)
        assert "connections:write" in stage.ended.then


async def test_what_slack_gave_up_is_read_from_chats_and_threads() -> None:
    async with staged(slack) as stage:
        fake = network(stage)
        await fake.bring(said("direct 1"), said("group 1", fake.group, to_us=True), said("thread 1", fake.topic))
        await stage.until(lambda: len(stage.heard) == 3)
        mark = len(stage.health)
        await fake.down()
        await fake.bring(said("direct 2"), said("group 2", fake.group), said("thread 2", fake.topic), said("direct 3"))
        fake.socket.forget()
        await fake.up()
        await mended(stage, mark)
        await stage.until(lambda: len(stage.heard) == 7)
        assert texts([one for one in stage.heard if one.private]) == ["direct 1", "direct 2", "direct 3"]
        threaded = next(one for one in stage.heard if texts([one]) == ["thread 2"])
        assert (threaded.address.chat, threaded.address.thread) == (fake.topic.chat, fake.topic.thread)
        assert len({one.key for one in stage.heard}) == 7


async def test_more_than_a_page_is_read_in_order_once_slack_has_patience() -> None:
    async with staged(slack) as stage:
        fake = network(stage)
        await fake.bring(said("first"))
        await stage.until(lambda: len(stage.heard) == 1)
        await stage.stop()
        await fake.bring(*(said(str(number)) for number in range(1050)))
        fake.socket.forget()
        fake.web.patience = [Flood(0)]
        await stage.start()
        await stage.until(lambda: len(stage.heard) == 1051)
        assert texts(stage.heard) == ["first", *map(str, range(1050))]


async def test_what_was_missed_is_asked_for_until_slack_answers_and_comes_first() -> None:
    async with staged(slack) as stage:
        fake = network(stage)
        await fake.bring(said("first"))
        await stage.until(lambda: len(stage.heard) == 1)
        await stage.stop()
        await fake.bring(said("missed"))
        fake.socket.forget()
        fake.web.patience = [ServerError() for _ in range(8)]
        await stage.start()
        await fake.when(lambda: len(fake.web.patience) < 8)
        await fake.bring(said("now"))
        await stage.until(lambda: len(stage.heard) == 3)
        assert (texts(stage.heard), fake.web.patience) == (["first", "missed", "now"], [])


async def test_while_what_was_missed_cannot_be_read_the_rest_is_heard_and_the_next_life_reads_it() -> None:
    async with staged(slack) as stage:
        fake = network(stage)
        await fake.bring(said("first"))
        await stage.until(lambda: len(stage.heard) == 1)
        await stage.stop()
        await fake.bring(said("missed"))
        fake.socket.forget()
        fake.web.patience = [Flood(3600)]
        await stage.start()
        await fake.when(lambda: not fake.web.patience)
        await fake.bring(said("now"))
        await stage.until(lambda: "now" in texts(stage.heard))
        assert any("missed in a chat cannot be read yet" in one.why for one in stage.health)
        await stage.stop()
        await stage.start()
        await stage.until(lambda: "missed" in texts(stage.heard))


async def test_nothing_is_fetched_before_somebody_asks_for_it() -> None:
    async with staged(slack) as stage:
        fake = network(stage)
        await fake.bring(Thing(IncomingKind.DOCUMENT, fake.here, "look", (sample_of(Kind.DOCUMENT),)))
        await stage.until(lambda: bool(stage.heard))
        await fake.when(lambda: bool(fake.socket.acknowledged))
        assert fake.web.fetched == []


async def test_who_presses_or_commands_is_answered_alone() -> None:
    async with staged(slack) as stage:
        fake = network(stage)
        stage.word = "Not yours to press."
        about = (await stage.send(OutText("Shall I?", buttons=(Button("Yes", "y"),)))).message
        await fake.bring(Thing(IncomingKind.BUTTON, fake.here, about=about, value="y"))
        await fake.bring(Thing(IncomingKind.COMMAND, fake.here, "/status"))
        await fake.when(lambda: len(fake.web.responses) == 2)
        for answer in fake.web.responses:
            assert (answer["text"], answer["response_type"]) == ("Not yours to press.", "ephemeral")
            assert answer["replace_original"] is False, "the question would be gone"
