"""The promise with the log in PostgreSQL and the bytes in a bucket: killed anywhere, nothing is lost or done twice."""

import asyncio
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.testing.crash import NotReached
from angelia.testing.model.server import ModelServer
from tests.examples import some_points
from tests.objects.s3_server import BUCKET, credentials, s3_server
from tests.promise.story import ANSWER, APPROVING, FILES, SCRIPT, broken, furnished, lived, question, unextended
from tests.promise.test_crash_suite import NEVER, SIDE_BY_SIDE, TRIES
from tests.promise.test_resume import DEATHS, resumed
from tests.store.postgres_server import PostgresServer, postgres_server

pytestmark = [pytest.mark.anyio, pytest.mark.real("postgres")]

Elsewhere = Callable[[], Mapping[str, str]]


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def elsewhere(postgres: PostgresServer) -> Iterator[Elsewhere]:
    """Gives the variables by which a home lies in an empty schema and at an empty place of a bucket."""
    numbers = count()
    with s3_server() as port:
        yield lambda: {
            **credentials(port),
            "ANGELIA_STORE": postgres.fresh(),
            "ANGELIA_BLOBS": f"s3://{BUCKET}/promise/{next(numbers)}",
        }


async def found(folder: Path, point: str, elsewhere: Elsewhere, entry: str = APPROVING) -> list[str]:
    """What is broken after a kill at a point; lived again where chance has put more appends into one commit."""
    for life in range(TRIES):
        place = folder / re.sub(r"\W", "-", point) / str(life)
        with suppress(NotReached):
            return broken(await lived(place, point, entry, elsewhere=elsewhere()), place)
    return [NEVER]


async def every_point(folder: Path, elsewhere: Elsewhere) -> list[str]:
    """What a whole life passes, in order."""
    async with ModelServer(SCRIPT) as server:
        place = furnished(folder, server, elsewhere=elsewhere())
        life = await place.ask(*question(place), entry=APPROVING)
        assert (life.status, life.stdout.count(ANSWER)) == (0, 1), life.stderr
        assert not (place.home / "angelia.db").exists()
        assert await place.problems() == []
    return list(life.passed)


async def test_a_life_that_is_killed_is_gone_on_with(tmp_path: Path, elsewhere: Elsewhere) -> None:
    assert await found(tmp_path, "tool.ran:1", elsewhere) == []


@pytest.mark.soak
async def test_a_started_tool_run_again_it_goes_red(tmp_path: Path, elsewhere: Elsewhere) -> None:
    said = await found(tmp_path, "tool.ran:1", elsewhere, "tests.promise.doors:running_again")
    assert any("the counter was moved 2 times" in one for one in said), said


@pytest.mark.soak
async def test_killed_anywhere_nothing_is_lost_and_nothing_is_silent(tmp_path: Path, elsewhere: Elsewhere) -> None:
    points = await every_point(tmp_path / "whole", elsewhere)
    assert len(points) > 60
    gate = asyncio.Semaphore(SIDE_BY_SIDE)

    async def one(point: str) -> list[str]:
        async with gate:
            return await found(tmp_path, point, elsewhere)

    points = some_points(points)
    wrong = dict(zip(points, await asyncio.gather(*map(one, points)), strict=True))
    grouped = [point for point, said in wrong.items() if said == [NEVER] and point.startswith("append.")]
    assert len(grouped) <= 4, grouped
    assert {point: said for point, said in wrong.items() if said and point not in grouped} == {}


@pytest.mark.soak
async def test_effects_happen_at_most_once_however_often_it_dies(tmp_path: Path, elsewhere: Elsewhere) -> None:
    async with ModelServer(SCRIPT) as server:
        place = furnished(tmp_path, server, elsewhere=elsewhere())
        await place.ask(*question(place), at=DEATHS[0], entry=APPROVING)
        for point in DEATHS[1:]:
            await place.ask("--continue", at=point, entry=APPROVING)
        last = await place.ask("--continue", entry=APPROVING)
        assert not unextended(server.requests)
    facts = await place.facts()
    assert (last.status, last.stdout.count(ANSWER)) == (0, 1)
    assert place.lines("counter") == 1
    assert sum(isinstance(fact, e.TurnClosed) for fact in facts) == 1
    assert {copy.name: copy.read_text() for copy in (place.home / "outbox").iterdir()} == FILES
    assert sum(isinstance(fact, e.DeliveryQueued) for fact in facts) == len(FILES) + 1
    assert await place.problems() == []


@pytest.mark.soak
async def test_of_eight_that_resume_one_conversation_one_answers(tmp_path: Path, elsewhere: Elsewhere) -> None:
    async with ModelServer(SCRIPT) as server:
        place = furnished(tmp_path, server, elsewhere=elsewhere())
        await place.ask(*question(place), at="model.recorded:1", entry=APPROVING)
        lives = await asyncio.gather(*(place.ask("--continue", entry=APPROVING) for _ in range(8)))
        assert len(server.requests) == 4
        assert not unextended(server.requests)
    late = [life for life in lives if "There is no question" in life.stderr]  # began when all was over
    told = [(life.status, life.stdout.count(ANSWER)) for life in lives if life not in late]
    assert told == [(0, 1)] * len(told), "\n".join(life.stderr for life in lives)
    assert told
    facts = await place.facts()
    assert place.lines("counter") == 1
    assert sum(isinstance(fact, e.TurnClosed) for fact in facts) == 1
    assert {copy.name: copy.read_text() for copy in (place.home / "outbox").iterdir()} == FILES
    assert await place.problems() == []


@pytest.mark.soak
@pytest.mark.parametrize("point", ["command.after_start:1", "append.after_commit:9"])
async def test_two_copies_of_one_log_go_on_alike(
    tmp_path: Path, point: str, elsewhere: Elsewhere, postgres: PostgresServer
) -> None:
    one = elsewhere()
    async with ModelServer(SCRIPT) as server:
        place = furnished(tmp_path / "one", server, elsewhere=one)
        await place.ask(*question(place), at=point, entry=APPROVING)
        saved = place.save(tmp_path / "saved")
        two = {**one, "ANGELIA_STORE": postgres.copy(one["ANGELIA_STORE"])}
        first = await resumed(place, server)
    async with ModelServer(SCRIPT) as server:
        fork = furnished(tmp_path / "two", server, elsewhere=two)
        fork.workspace = place.workspace  # where the conversation works, wherever its log lies
        shutil.copytree(saved / "home", fork.home)
        shutil.rmtree(place.workspace)
        shutil.copytree(saved / "workspace", place.workspace)
        second = await resumed(fork, server)
    for was, now in zip(first, second, strict=True):
        assert was == now
