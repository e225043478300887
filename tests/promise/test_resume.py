"""Six properties of going on after a death."""

import asyncio
import random
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.context.view import project
from angelia.core import codec
from angelia.core import entry as e
from angelia.core.profile import Profile
from angelia.engine import machine as m
from angelia.engine.state import Turn, advance
from angelia.testing.crash import Run
from angelia.testing.logs.random_logs import log_from
from angelia.testing.model.server import ModelServer
from tests.promise.lives import WIRES, Place
from tests.promise.story import ANSWER, APPROVING, FILES, SCRIPT, broken, furnished, lived, question, unextended

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("point", ["model.asked:2", "tool.ran:2"])
async def test_what_is_sent_after_a_death_extends_what_was_sent_before(tmp_path: Path, wire: str, point: str) -> None:
    story = await lived(tmp_path, point, wire=wire)
    assert not unextended(story.requests)
    assert not broken(story, tmp_path)


DEATHS = ("tool.ran:1", "model.recorded:1", "tool.ran:1", "append.after_commit:2", "turn.before_close:1")


async def test_effects_happen_at_most_once_however_often_it_dies(tmp_path: Path) -> None:
    async with ModelServer(SCRIPT) as server:
        place = furnished(tmp_path, server)
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


@pytest.mark.parametrize("point", ["command.after_start:1", "append.after_commit:9"])
async def test_two_copies_of_one_home_go_on_alike_and_recovery_leaves_the_same_log(tmp_path: Path, point: str) -> None:
    async with ModelServer(SCRIPT) as server:
        place = furnished(tmp_path / "one", server)
        await place.ask(*question(place), at=point, entry=APPROVING)
        saved = place.save(tmp_path / "saved")
        first = await resumed(place, server)
    async with ModelServer(SCRIPT) as server:
        fork = furnished(tmp_path / "two", server)
        fork.workspace = place.workspace  # where the conversation works, whichever home it lies in
        shutil.copytree(saved / "home", fork.home)
        shutil.rmtree(place.workspace)
        shutil.copytree(saved / "workspace", place.workspace)
        second = await resumed(fork, server)
    for was, now in zip(first, second, strict=True):
        assert was == now


async def resumed(place: Place, server: ModelServer) -> list[bytes | e.AnyFact]:
    """Go on; the requests of this life, then the whole log but for how long things took, and where the home is."""
    before = len(server.requests)
    life = await place.ask("--continue", entry=APPROVING)
    assert (life.status, life.stdout.count(ANSWER)) == (0, 1)
    facts = [_anywhere(fact, place) for fact in await place.facts()]
    return [*(request.raw for request in server.requests[before:]), *facts]


def _anywhere(fact: e.AnyFact, place: Place) -> e.AnyFact:
    match fact:
        case e.ToolFinished():
            return replace(fact, seconds=0.0)
        case e.DeliverySettled(detail=detail):
            return replace(fact, detail=detail.replace(str(place.home), "~"))
        case _:
            return fact


async def test_every_prefix_of_a_log_decodes_folds_and_decides(tmp_path: Path) -> None:
    async with ModelServer(SCRIPT) as server:
        place = furnished(tmp_path, server)
        await place.ask(*question(place), entry=APPROVING)
    dice = random.Random(1)
    logs = [await place.entries(), *(log_from(dice.randbytes(dice.randrange(80))) for _ in range(150))]
    profile = Profile("scripted:m", "scripted", "m", "openai-chat")
    for log in logs:
        grown = Turn()
        for length in range(len(log) + 1):
            prefix = [e.Entry(one.seq, one.at, codec.decode(codec.encode(one.fact))) for one in log[:length]]
            grown = advance(grown, prefix)
            assert prefix == log[:length]
            assert advance(Turn(), prefix) == grown
            effect = m.decide(grown, m.Rules(), m.Moment(now=10**9))
            waiting = any(isinstance(entry.fact, e.ApprovalAsked | e.CallsHandedOver) for entry in prefix)
            assert not isinstance(effect, m.Rest) or not grown.opened or waiting
            assert project(prefix, profile).seen == length


async def test_of_eight_that_resume_one_conversation_one_answers_and_whoever_waited_is_told(tmp_path: Path) -> None:
    async with ModelServer(SCRIPT) as server:
        place = furnished(tmp_path, server)
        await place.ask(*question(place), at="model.recorded:1", entry=APPROVING)
        lives = await asyncio.gather(*(place.ask("--continue", entry=APPROVING) for _ in range(8)))
        assert len(server.requests) == 4
        assert not unextended(server.requests)
    facts = await place.facts()
    late = [life for life in lives if "There is no question" in life.stderr]  # began when all was over
    told = [_told(life) for life in lives if life not in late]
    assert told == [(0, 1)] * len(told), "\n".join(life.stderr for life in lives)
    assert len(told) > 1
    assert all(_told(life) == (2, 0) for life in late)
    assert place.lines("counter") == 1
    assert sum(isinstance(fact, e.TurnClosed) for fact in facts) == 1
    assert {fact.status for fact in facts if isinstance(fact, e.DeliverySettled)} == {e.DeliveryStatus.SENT}
    assert {copy.name: copy.read_text() for copy in (place.home / "outbox").iterdir()} == FILES
    assert not await place.problems()


def _told(life: Run) -> tuple[int, int]:
    return life.status, life.stdout.count(ANSWER)
