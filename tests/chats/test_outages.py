"""The front of a network fails for seconds or minutes, in the middle of a send: nothing is lost, and nothing silent."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.ids import ConversationId, DeliveryId
from angelia.service.chats.messages import AGAIN
from angelia.store.log.transcript import Transcript
from angelia.testing.channels.recording_channel import ChannelTrouble, FarEnd
from tests.chats.storm import Storm, Weather

pytestmark = pytest.mark.anyio

OUTAGES = [ChannelTrouble.LOST_BEFORE, ChannelTrouble.LOST_AFTER, ChannelTrouble.NOT_SENT]


async def storm_of(folder: Path, far: FarEnd, seconds: float, kind: ChannelTrouble, origin: str = "answer") -> Storm:
    """One delivery, whose network fails for so many seconds from its first call on."""
    storm = Storm(folder / "home", far, Weather(1, bad=0, deadly=0))
    over: list[float] = []

    def trouble(_: str) -> ChannelTrouble:
        if not over:
            over.append(storm.clock.now + seconds * 1000)
            return kind
        return kind if storm.clock.now < over[0] else ChannelTrouble.NONE

    far.trouble = trouble
    db = storm._open()
    facts: list[e.AnyFact] = [
        e.ConversationOpened("chat", "/w"),
        e.DeliveryQueued(DeliveryId("7.t2"), e.Address("chat", "7"), (Text("The answer."),), origin),
    ]
    await Transcript(db).append(ConversationId("7"), facts)
    db.close()
    await storm.pass_over()
    return storm


@pytest.mark.parametrize("kind", OUTAGES)
@pytest.mark.parametrize("seconds", [0.02, 20, 115, 3_600])
async def test_an_answer_arrives_after_every_outage_and_a_repeat_is_marked(
    tmp_path: Path, seconds: float, kind: ChannelTrouble
) -> None:
    far = FarEnd()
    storm = await storm_of(tmp_path, far, seconds, kind)
    texts = far.texts("7")
    again = f"{AGAIN}\n\nThe answer."
    assert await storm.unknown() == frozenset()
    assert texts == {
        ChannelTrouble.LOST_BEFORE: [again],
        ChannelTrouble.LOST_AFTER: ["The answer.", again],
        ChannelTrouble.NOT_SENT: ["The answer."],
    }.get(kind)


async def test_while_the_network_does_not_work_nothing_is_repeated(tmp_path: Path) -> None:
    far = FarEnd()
    await storm_of(tmp_path, far, 115, ChannelTrouble.LOST_AFTER)
    assert far.calls.count("send") == 2
    assert far.calls[1:-1] == ["probe"] * (len(far.calls) - 2)


@pytest.mark.parametrize("kind", OUTAGES)
async def test_a_notice_is_told_after_an_outage_that_took_several_sends_of_it(
    tmp_path: Path, kind: ChannelTrouble
) -> None:
    far, sends = FarEnd(), 0

    def trouble(method: str) -> ChannelTrouble:
        nonlocal sends
        sends += method == "send"
        return kind if method == "send" and sends < 5 else ChannelTrouble.NONE

    storm = Storm(tmp_path / "home", far, Weather(1, bad=0, deadly=0))
    far.trouble = trouble
    [one] = await storm.begin(1, 1, "b")
    await storm.pass_over()
    texts = far.texts(one.chat)
    if kind is not ChannelTrouble.NOT_SENT:
        assert await storm.unknown() == frozenset({one.id})
        assert any("Nobody knows whether" in text for text in texts)
    else:
        assert texts == [one.text]


async def test_where_repeats_are_unwanted_nobody_gets_one_and_somebody_is_told(tmp_path: Path) -> None:
    far = FarEnd()
    storm = Storm(tmp_path / "home", far, Weather(1, bad=0, deadly=0))
    storm.settings = replace(storm.settings, unsure="keep")
    troubles = iter([ChannelTrouble.LOST_AFTER, ChannelTrouble.LOST_BEFORE])
    far.trouble = lambda method: next(troubles, ChannelTrouble.NONE) if method == "send" else ChannelTrouble.NONE
    [one] = await storm.begin(1, 1, "b")
    await storm.pass_over()
    assert sum(one.text in text for text in far.texts(one.chat)) <= 2  # the answer itself, and its words in the notice
    assert any("Nobody knows whether" in text for text in far.texts(one.chat))
