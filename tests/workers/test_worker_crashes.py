"""Killed while another agent works: its end is told once, what it did is done once, and nothing of it goes on."""

from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from tests.delegation.family import WAIT, by_task, delegate
from tests.nursery import Nursery
from tests.promise.lives import Place
from tests.workers.employed import FREE, TASK, Script, command

pytestmark = pytest.mark.anyio

STEPS: Script = [["run", "echo x >> ran", []], ["touch", "moved"], ["say", "Moved."], ["end", "end_turn"]]
POINTS = ("child.opened:1", "tool.started:2", "worker.opened:1", "tool.ran:3", "work.ended:1", "child.closed:1")


@pytest.mark.soak(every=3)
@pytest.mark.parametrize("point", POINTS)
async def test_killed_at_each_point_it_is_told_of_once_and_is_not_started_again(tmp_path: Path, point: str) -> None:
    script = by_task({"Begin": [delegate({"task": TASK, "helper": "coder"}), WAIT, say("All done.")]})
    async with ModelServer(script) as server, Nursery() as nursery:
        place = Place(tmp_path, server, sets=(*FREE, command(tmp_path, STEPS)))
        passed: list[bool] = []
        for number, at in enumerate((point, "")):
            (tmp_path / f"life{number}").mkdir()
            argv = place.argv(*(["--continue"] if number else ["Begin."]))
            child = await nursery.bear(argv, place.env, tmp_path / f"life{number}", at=at)
            run = await child.ended()
            passed.append(point in run.passed)
            if number:
                assert run.status == 0, run.stdout + run.stderr
        assert passed[0], "the point was reached"
        facts = await place.facts()
        (over,) = [fact for fact in facts if isinstance(fact, e.WorkEnded)]
        assert over.child
        ending = over.child.ending
        lost = isinstance(ending, end.WorkerFailed) and ending.fate is end.WorkerFate.LOST
        assert lost or ending == end.Answered()
        assert [fact.ending for fact in facts if isinstance(fact, e.TurnClosed)] == [end.Answered()]
        assert (place.lines("moved"), place.lines("ran")) in {(0, 0), (0, 1), (1, 1)}
        assert await place.problems() == []
        assert not list((place.home / "running").glob("*.json"))
