"""A tool call that is cut never runs, wherever it was cut, whether or not the finish event came."""

import json
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus
from angelia.testing.model.answerers import Answerer
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say, truncated_call
from tests.promise.lives import WIRES, Place

pytestmark = pytest.mark.anyio

WHOLE = {"command": "echo x >> counter"}
LENGTH = len(json.dumps(WHOLE))
PATIENT = (
    "remedies.bad_call.explain=1000",
    "remedies.stream_cut.ask_again=1000",
    "limits.max_steps=1000",
    "limits.cut_pause=0",
)


def cut_everywhere(*, finish: bool) -> Answerer:
    """Every request gets a call that is cut one character later than the one before; at last words."""
    positions = iter(range(LENGTH))

    def answer(_: ReceivedRequest) -> Step:
        at = next(positions, None)
        return say("I give up.") if at is None else truncated_call("shell", WHOLE, at=at, finish=finish)

    return answer


@pytest.mark.soak(every=2)
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("finish", [True, False], ids=["finished", "unfinished"])
async def test_cut_at_every_character_it_is_executed_not_once(tmp_path: Path, wire: str, finish: bool) -> None:
    async with ModelServer(cut_everywhere(finish=finish)) as server:
        place = Place(tmp_path, server, wire=wire, sets=PATIENT)
        life = await place.ask("Count.")
        assert len(server.requests) == LENGTH + 1
    facts = await place.facts()
    assert place.lines("counter") == 0
    assert not [fact for fact in facts if isinstance(fact, e.ToolStarted)]
    results = [fact.status for fact in facts if isinstance(fact, e.ToolFinished)]
    assert results == [CallStatus.BAD_CALL] * (LENGTH if finish else 0)
    assert (life.status, life.stdout) == (0, "I give up.\n")


@pytest.mark.parametrize("wire", WIRES)
async def test_complete_arguments_without_the_finish_event_do_not_run_either(tmp_path: Path, wire: str) -> None:
    script = [truncated_call("shell", WHOLE, at=LENGTH, finish=False), say("No.")]
    async with ModelServer(script) as server:
        place = Place(tmp_path, server, wire=wire)
        life = await place.ask("Count.")
    assert (life.status, life.stdout, place.lines("counter")) == (0, "No.\n", 0)


async def test_the_same_call_whole_and_finished_does_run(tmp_path: Path) -> None:
    async with ModelServer([call("shell", WHOLE), say("Counted.")]) as server:
        place = Place(tmp_path, server, sets=["sandbox.confine=off"])
        await place.ask("Count.")
    assert place.lines("counter") == 1


async def test_a_model_that_never_gets_it_right_is_stopped_aloud(tmp_path: Path) -> None:
    async with ModelServer(lambda _: truncated_call("shell", WHOLE, at=9, finish=True)) as server:
        place = Place(tmp_path, server)
        life = await place.ask("Count.")
        assert len(server.requests) == 4
    assert (life.status, life.stdout, place.lines("counter")) == (8, "", 0)
    assert "called tools wrongly" in life.stderr
