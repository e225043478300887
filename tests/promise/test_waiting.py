"""Nobody waits unknowing: for what, since when, and how it ends."""

from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.engine import model_call
from angelia.engine.live import Awaiting, LiveEvent
from angelia.testing.channels.recording_channel import FarEnd
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import busy, say, slowly
from tests.chats.town import town
from tests.promise.inside import conversation
from tests.promise.lives import CHAT, Place

pytestmark = pytest.mark.anyio


async def test_whoever_watches_is_told_of_a_model_that_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_call, "QUIET_S", 0.01)
    seen: list[LiveEvent] = []
    slow = slowly(say("Hello."), first=0.5)
    async with ModelServer([slow]) as server, conversation(Place(tmp_path, server)) as chat:
        chat.session.live.watch(seen.append)
        await chat.say("Hello?")
        assert await chat.ending() == end.Answered()
    told = [event for event in seen if isinstance(event, Awaiting)]
    assert [(event.model, event.until - event.since) for event in told] == [(f"{CHAT}:m", 600_000)]


async def test_a_model_that_answers_soon_is_not_told_of(tmp_path: Path) -> None:
    seen: list[LiveEvent] = []
    async with ModelServer([say("Hello.")]) as server, conversation(Place(tmp_path, server)) as chat:
        chat.session.live.watch(seen.append)
        await chat.say("Hello?")
        await chat.ending()
    assert not [event for event in seen if isinstance(event, Awaiting)]


async def test_a_wait_is_said_on_stderr_with_its_end_and_how_to_stop_it(tmp_path: Path) -> None:
    async with ModelServer([busy(3.0), say("Hello.")]) as server:
        life = await Place(tmp_path, server).ask("Hello?")
    assert life.stdout == "Hello.\n"
    assert "waiting until " in life.stderr
    assert "Ctrl-C stops" in life.stderr


async def test_a_chat_is_told_of_a_long_wait_and_the_turn_goes_on_behind_it(tmp_path: Path) -> None:
    far = FarEnd()
    async with ModelServer([busy(9.0), say("Now.")]) as server, town(tmp_path, server, far) as life:
        await life.says("Hello?")
        await far.when(lambda far: any("is busy" in text for text in far.texts("7")))
        assert any("/stop ends this" in text for text in far.texts("7"))
        await life.says("/stop")
        await far.when(lambda far: any("Stopped" in text for text in far.texts("7")))
