"""Caps are hard: of steps, tokens, money and time, in a turn and in a day, exceeded by at most one call."""

from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import CallStatus
from angelia.core.entry import Usage
from angelia.testing.model.answerers import Answerer
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Speak, calls, with_usage
from tests.promise.inside import conversation
from tests.promise.lives import CHAT, Place
from tests.promise.pipes import is_alive

pytestmark = pytest.mark.anyio


def endless(usage: Usage) -> Answerer:
    """Another file with each reply, for ever, at the same price."""

    def answer(request: ReceivedRequest) -> Speak:
        return with_usage(calls(("write", {"path": f"{request.number}.txt", "content": "x"})), usage)

    return answer


CAPS = {
    "limits.max_steps=3": end.StepLimit(3),
    "limits.max_tokens=250": end.BudgetSpent("tokens this turn", "330", "250"),
    "limits.day_tokens=250": end.BudgetSpent("tokens today", "330", "250"),
}


@pytest.mark.parametrize("cap", CAPS)
async def test_a_turn_is_stopped_by_the_first_call_that_reaches_the_cap(tmp_path: Path, cap: str) -> None:
    async with ModelServer(endless(Usage(100, 10))) as server:
        place = Place(tmp_path, server, sets=[cap])
        life = await place.ask("Go on for ever.")
        assert len(server.requests) == 3
        assert [fact.ending for fact in await place.facts() if isinstance(fact, e.TurnClosed)] == [CAPS[cap]]
        assert (life.status, life.stdout) == (4, "")


async def test_money_is_counted_by_known_prices(tmp_path: Path) -> None:
    async with ModelServer(endless(Usage(100_000, 0))) as server:
        place = Place(tmp_path, server)
        life = await place.ask("Go on.", "--max-cost", "0.6", "--model", "openai:gpt-4o")
        assert len(server.requests) == 3  # 100,000 tokens at 2.50 dollars a million, three times
    assert life.status == 4
    assert "cost this turn reached $0.7500, and the cap is $0.6000" in life.stderr


async def test_a_cap_on_money_without_a_price_is_said_to_be_no_cap(tmp_path: Path) -> None:
    async with ModelServer(endless(Usage(100, 10))) as server:
        place = Place(tmp_path, server, sets=["limits.max_steps=2"])
        life = await place.ask("Go on.", "--max-cost", "0.6")
    assert f"Nobody knows what {CHAT}:m costs" in life.stderr


async def test_the_day_is_one_for_all_conversations(tmp_path: Path) -> None:
    async with ModelServer(endless(Usage(100, 10))) as server:
        place = Place(tmp_path, server, sets=["limits.day_tokens=250", "limits.max_steps=2"])
        assert (await place.ask("First.")).status == 4
        assert len(server.requests) == 2
        second = await place.ask("Second.")
        assert len(server.requests) == 3
        third = await place.ask("Third.")
        assert len(server.requests) == 3
    assert "tokens today reached 330, and the cap is 250" in second.stderr
    assert (third.status, third.stdout) == (4, "")
    assert "tokens today reached 330" in third.stderr


async def test_when_time_is_up_what_runs_is_ended_and_what_waits_is_not_begun(tmp_path: Path) -> None:
    script = [
        calls(
            ("shell", {"command": "echo $$ > number; sleep 600"}),
            ("write", {"path": "later.txt", "content": "x"}),
        )
    ]
    async with ModelServer(script) as server:
        place = Place(tmp_path, server, sets=["limits.max_seconds=2", "sandbox.confine=off"])
        async with conversation(place) as chat:
            await chat.say("Wait.")
            ending = await chat.ending()
            assert isinstance(ending, end.BudgetSpent)
            assert ending.what == "time this turn"
            results = chat.facts(e.ToolFinished)
    assert [fact.status for fact in results] == [CallStatus.CANCELLED, CallStatus.CANCELLED]
    assert "Stopped before it was finished" in str(results[0].parts)
    assert not (place.workspace / "later.txt").exists()
    assert not is_alive(int((place.workspace / "number").read_text()))
