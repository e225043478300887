"""Killed at every occurrence of every crash point, the story is gone on with, and the promise holds.

Every occurrence of each point in `make soak`; of each name the first, the last and every twentieth otherwise.
"""

import asyncio
import re
from contextlib import suppress
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus
from angelia.testing.crash import NotReached, command
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.examples import some_points
from tests.promise.lives import Place
from tests.promise.pipes import is_alive, pipes, written
from tests.promise.story import ANSWER, APPROVING, SCRIPT, broken, furnished, lived, question

pytestmark = pytest.mark.anyio

SIDE_BY_SIDE = 3
TRIES = 5
NEVER = "not reached"


async def every_occurrence(folder: Path) -> list[str]:
    """What a whole life passes, in order."""
    async with ModelServer(SCRIPT) as server:
        place = furnished(folder, server)
        life = await place.ask(*question(place), entry=APPROVING)
    assert life.status == 0, life.stderr
    assert life.stdout.count(ANSWER) == 1
    return list(life.passed)


async def found_at(folder: Path, points: list[str], entry: str = APPROVING) -> dict[str, list[str]]:
    """What is broken after a kill at each point."""
    gate = asyncio.Semaphore(SIDE_BY_SIDE)

    async def one(point: str) -> tuple[str, list[str]]:
        async with gate:
            return point, await _found(folder / re.sub(r"\W", "-", point), point, entry)

    return {point: said for point, said in await asyncio.gather(*map(one, points)) if said}


async def _found(folder: Path, point: str, entry: str) -> list[str]:
    """Live the story in a fresh folder; again if the point was not reached, since how many appends go into one
    commit is left to chance.
    """
    for life in range(TRIES):
        place = folder / str(life)
        with suppress(NotReached):
            return broken(await lived(place, point, entry), place)
    return [NEVER]


async def test_killed_anywhere_nothing_is_lost_and_nothing_is_silent(tmp_path: Path) -> None:
    points = await every_occurrence(tmp_path / "whole")
    assert len(points) > 80
    points = some_points(points)
    found = await found_at(tmp_path, points)
    grouped = [point for point in points if found.get(point) == [NEVER] and point.startswith("append.")]
    assert len(grouped) <= 4, grouped
    found = {point: said for point, said in found.items() if point not in grouped}
    assert not found, "\n".join(f"{point}: {said}" for point, said in found.items())


SPLIT = {
    "outcome.split:1": "report.txt was queued 0 times",
    "outcome.split:2": "notes.txt was queued 0 times",
    "outcome.split:3": "the answer was never shown",
}


async def test_acknowledged_before_the_commit_it_goes_red(tmp_path: Path) -> None:
    found = await found_at(tmp_path, ["say.before_commit:1"], "tests.promise.doors:acknowledging_early")
    assert "a message was acknowledged and is lost" in found["say.before_commit:1"]


@pytest.mark.parametrize("point", SPLIT)
async def test_outcome_and_delivery_in_two_commits_it_goes_red(tmp_path: Path, point: str) -> None:
    found = await found_at(tmp_path, [point], "tests.promise.doors:splitting_outcomes")
    assert SPLIT[point] in found[point]


async def test_a_started_tool_run_again_it_goes_red(tmp_path: Path) -> None:
    found = await found_at(tmp_path, ["tool.ran:1"], "tests.promise.doors:running_again")
    assert any("the counter was moved 2 times" in said for said in found["tool.ran:1"])


async def test_a_command_that_a_dead_life_left_running_is_ended_at_the_next_start(tmp_path: Path) -> None:
    endless = {"command": "echo $$ > number; sleep 600", "reach": "outside"}
    async with ModelServer(by_replies([call("shell", endless), say("It was cut.")])) as server:
        place = Place(tmp_path, server)
        pipes(place.workspace, "number")
        words = command(tmp_path / "passed", place.argv("Wait."), entry=APPROVING)
        process = await asyncio.create_subprocess_exec(*words, env=place.env, stdin=asyncio.subprocess.DEVNULL)
        number = int(await written(place.workspace / "number"))
        process.kill()
        await process.wait()
        assert is_alive(number)
        resumed = await place.ask("--continue", entry=APPROVING)
    assert (resumed.status, resumed.stdout) == (0, "It was cut.\n")
    assert not is_alive(number)
    assert [fact.status for fact in await place.facts() if isinstance(fact, e.ToolFinished)] == [CallStatus.UNKNOWN]
