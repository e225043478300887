"""While the store takes nothing, what works behind a conversation waits; then it goes on, and each end is told once."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import CallStatus
from angelia.core.crash import on_crash_point
from angelia.core.errors import StoreFull
from angelia.engine import background
from angelia.service import keep_running
from angelia.service.app import App
from angelia.store.sql.database import Database
from angelia.store.sql.worker_thread import JobFailed
from angelia.testing.model.steps import Speak, call, say
from tests.delegation.family import by_task, child_log, delegate, family, until, words
from tests.promise.inside import Conversation
from tests.promise.pipes import PATIENCE_S, pipes, write, written

pytestmark = pytest.mark.anyio

UNCONFINED = ("sandbox.confine=off",)
GATED = "echo runs > runs; cat go"


class FullDisk:
    """The disk of a home, on which the next `left` commits find no room."""

    def __init__(self, app: App) -> None:
        assert isinstance(app.db, Database)
        lane = app.db._writes
        self._perform, self.left = lane._perform, 0
        lane._perform = self._take

    def _take(self, jobs: Sequence[object]) -> Sequence[object]:
        if self.left:
            self.left -= 1
            return [JobFailed(StoreFull("The disk is full."))] * len(jobs)
        return self._perform(jobs)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(keep_running, "AGAIN_S", 0.01)
    monkeypatch.setattr(background, "_AGAIN_S", 0.01)
    yield
    on_crash_point(None)


def full_as_an_end_is_told(talk: Conversation, commits: int) -> FullDisk:
    """From the first end on, for so many commits."""
    disk, passed = FullDisk(talk.app), set[str]()

    def passing(point: str) -> None:
        if point == "work.ended" and point not in passed:
            passed.add(point)
            disk.left = commits

    on_crash_point(passing)
    return disk


async def has_begun(talk: Conversation) -> None:
    """The person speaks; the turn has ended, its lease is given back, and what it left behind runs."""
    pipes(Path(talk.session.workspace), "runs", "go")
    await talk.say("Begin.")
    await written(Path(talk.session.workspace) / "runs")
    assert await talk.ending() == end.Answered()
    async with asyncio.timeout(PATIENCE_S):
        runner = talk.session._runner
        while not (runner and runner._idle and runner._releasing and runner._releasing.done()):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)


async def test_a_helper_that_a_full_disk_stops_goes_on_and_answers(tmp_path: Path) -> None:
    script = by_task(
        {
            "look it up": [call("shell", {"command": GATED}), say("It is 42.")],
            "Begin": [delegate("look it up"), say("Begun.")],
        }
    )
    async with family(tmp_path, script, sets=UNCONFINED) as (talk, _):
        disk = FullDisk(talk.app)
        await has_begun(talk)
        disk.left = 1
        await write(tmp_path / "workspace" / "go", "on\n")
        await until(talk, lambda: bool(talk.facts(e.WorkEnded)))
        (ended,) = talk.facts(e.WorkEnded)
        assert (words(ended), ended.child and ended.child.ending) == ("It is 42.", end.Answered())
        finished = [fact.status for fact in await child_log(talk) if isinstance(fact, e.ToolFinished)]
        assert finished == [CallStatus.UNKNOWN], "what it did could not be stored, and is not done again"


@pytest.mark.parametrize(
    ("behind", "said"),
    [
        (call("shell", {"command": GATED, "background": True}), "on\n[exit status 0]"),
        (delegate("look it up"), "It is 42."),
    ],
    ids=["command", "helper"],
)
async def test_an_end_that_a_full_disk_does_not_take_is_told_once_there_is_room(
    tmp_path: Path, behind: Speak, said: str
) -> None:
    script = by_task(
        {"look it up": [call("shell", {"command": GATED}), say("It is 42.")], "Begin": [behind, say("Begun.")]}
    )
    async with family(tmp_path, script, sets=UNCONFINED) as (talk, _):
        full_as_an_end_is_told(talk, 2)
        await has_begun(talk)
        await write(tmp_path / "workspace" / "go", "on\n")
        await until(talk, lambda: bool(talk.facts(e.WorkEnded)))
        await until(talk, lambda: talk.session.at_rest)
        assert [words(fact) for fact in talk.facts(e.WorkEnded)] == [said]
        assert len([fact for fact in talk.facts(e.DeliveryQueued) if fact.origin == "notice"]) == 1


async def test_who_leaves_on_a_full_disk_waits_for_no_room_and_the_next_life_tells_the_end(tmp_path: Path) -> None:
    script = by_task({"Begin": [call("shell", {"command": GATED, "background": True}), say("Begun.")]})
    async with family(tmp_path, script, sets=UNCONFINED) as (talk, _):
        disk = full_as_an_end_is_told(talk, 1_000_000)
        await has_begun(talk)
        await talk.app.conversations.leave(talk.session)
        log = (tmp_path / "home" / "angelia.log").read_text()
        assert "could not be told" in log
        assert "could not be closed" not in log, "that is said of what was not done in time"
        disk.left = 0
    on_crash_point(None)
    async with family(tmp_path, script, sets=UNCONFINED, again=True) as (talk, _):
        await until(talk, lambda: bool(talk.facts(e.WorkEnded)))
        assert [fact.status for fact in talk.facts(e.WorkEnded)] == [CallStatus.UNKNOWN]
