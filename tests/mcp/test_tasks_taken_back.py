"""Who has a task of a server's taken back hears where that did not succeed, and it is tried on within a bound."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import CallStatus, Text
from angelia.core.errors import StoreFull
from angelia.core.ids import CallId
from angelia.core.principal import OWNER
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from angelia.testing.tools.harness import text_of
from angelia.tools.mcp import remote_task, remote_tasks
from angelia.tools.port import CallStopped, ToolOutcome, Work
from angelia.tools.submitted_jobs import SubmittedJob
from tests.mcp.test_tasks import BAKED, SERVER, Oven, oven, version
from tests.promise.inside import conversation
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio
__all__ = ["version"]

BUSY = {"code": -32603, "message": "busy"}
NEVER = {"code": -32601, "message": "tasks here are for ever"}
BAKING = Work(e.WorkKind.REMOTE_TASK, "s1: bake")


@pytest.fixture(autouse=True)
async def in_time(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Nothing here waits for ever, and who stops a task not for long."""
    monkeypatch.setattr(remote_task, "STOP_S", 2.0)
    async with asyncio.timeout(120):
        yield


async def until(holds: Callable[[], object]) -> None:
    """Wait until something is so in another process, which tells nobody."""
    while not holds():  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(0.01)


def refuses(folder: Path, **errors: Any) -> None:
    """What the server answers from now on, by the last word of the method; None is nothing."""
    new = folder / "new"
    new.write_text(json.dumps({f"tasks/{method}": error for method, error in errors.items()}))
    new.replace(folder / "refused")


async def stopped(bread: Oven) -> ToolOutcome:
    """What is known of a call that is stopped while it waits for its task."""
    known: list[ToolOutcome] = []

    async def bake() -> None:
        try:
            await bread.bake()
        except CallStopped as stop:
            known.append(stop.outcome)
            raise

    baking = asyncio.create_task(bake())
    await until(lambda: bread.bench.submitted.job)
    baking.cancel()
    await asyncio.gather(baking, return_exceptions=True)
    assert baking.cancelled()
    [outcome] = known
    assert outcome.status is CallStatus.CANCELLED
    return outcome


async def behind(bread: Oven, monkeypatch: pytest.MonkeyPatch) -> CallId:
    """A call whose task goes on behind its result."""
    monkeypatch.setattr(remote_tasks, "PATIENCE_S", 0.3)
    context = bread.bench.context()
    assert (await bread.bake(context)).goes_on == BAKING
    return context.call


async def test_who_stops_a_call_whose_server_ends_no_tasks_is_told_so(tmp_path: Path, version: str) -> None:
    refuses(tmp_path, cancel=NEVER)
    async with oven(tmp_path, version) as bread:
        known = await stopped(bread)
        assert bread.asked("tasks/cancel") == 1, "it said that it never does"
    [told] = known.notices
    assert "it refuses that: tasks here are for ever" in told
    assert told.endswith("It perhaps still goes on there.")
    assert text_of(known) == told
    assert known.goes_on is None


async def test_a_server_that_cannot_end_a_task_now_is_told_again_until_it_does(tmp_path: Path, version: str) -> None:
    refuses(tmp_path, cancel=BUSY)
    async with oven(tmp_path, version) as bread:
        known = await stopped(bread)
        assert known.goes_on == BAKING
        assert "it refuses that: busy" in text_of(known)
        refuses(tmp_path)
        assert "it was cancelled: taken back" in text_of(await bread.bench.end())


async def test_a_task_that_its_server_ends_in_its_own_time_is_watched_until_then(tmp_path: Path, version: str) -> None:
    (tmp_path / "deaf").touch()
    async with oven(tmp_path, version) as bread:
        known = await stopped(bread)
        assert "has not ended it yet" in text_of(known)
        assert known.goes_on == BAKING
        bread.becomes(BAKED)
        assert text_of(await bread.bench.end()) == "a loaf"


@pytest.mark.soak(every=2)
@pytest.mark.parametrize("error", [BUSY, None], ids=["refused", "silent"])
async def test_what_a_server_never_hears_is_told_as_perhaps_going_on(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch, error: object
) -> None:
    monkeypatch.setattr(remote_tasks, "INSIST_S", 0.5)
    refuses(tmp_path, cancel=error)
    async with oven(tmp_path, version) as bread:
        await behind(bread, monkeypatch)
        assert await bread.servers.tasks.end(CallId("c1_0"))
        left = await bread.bench.end()
        looks = bread.asked("tasks/get")
    assert left.status is CallStatus.UNKNOWN
    assert "It perhaps still goes on there." in text_of(left)
    assert len(bread.bench.ends) == 1
    assert bread.asked("tasks/get") <= looks + 1, "nobody watches it any more, but for a look that was under way"


@pytest.mark.soak(every=2)
async def test_a_server_that_is_away_is_told_once_it_is_back(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with oven(tmp_path, version) as bread:
        number = await behind(bread, monkeypatch)
        (tmp_path / "away").touch()
        refuses(tmp_path, cancel="dies")
        assert await bread.servers.tasks.end(number)
        assert not bread.bench.ends
        refuses(tmp_path)
        (tmp_path / "away").unlink()
        assert "it was cancelled: taken back" in text_of(await bread.bench.end())


async def test_a_task_that_ended_as_it_was_taken_back_is_told_as_what_it_came_to(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuses(tmp_path, cancel={"code": -32602, "message": "it has ended"})
    async with oven(tmp_path, version) as bread:
        number = await behind(bread, monkeypatch)
        bread.becomes({"status": "working", "statusMessage": "It rises.", "pollIntervalMs": 60_000})
        await until(lambda: "It rises.\n" in bread.bench.seen)
        bread.becomes(BAKED)
        assert await bread.servers.tasks.end(number)
        assert text_of(await bread.bench.end()) == "a loaf"


async def test_what_was_to_be_taken_back_when_the_conversation_is_left_is_told_so(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuses(tmp_path, cancel=BUSY)
    async with oven(tmp_path, version) as bread:
        assert await bread.servers.tasks.end(await behind(bread, monkeypatch))
    [left] = bread.bench.ends
    assert (left.status, "it refuses that: busy" in text_of(left)) == (CallStatus.UNKNOWN, True)


async def test_a_call_that_is_stopped_while_its_task_is_written_down_takes_it_back(
    tmp_path: Path, version: str
) -> None:
    begun = asyncio.Event()

    async def submit(_: SubmittedJob) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with oven(tmp_path, version) as bread:
        baking = asyncio.create_task(bread.bake(replace(bread.bench.context(), submit=submit)))
        await begun.wait()
        baking.cancel()
        await asyncio.gather(baking, return_exceptions=True)
        assert bread.asked("tasks/cancel") == 1


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [(None, CallStatus.ERROR, "no room"), (NEVER, CallStatus.UNKNOWN, "perhaps still goes on there")],
)
async def test_a_task_that_cannot_be_written_down_is_taken_back(
    tmp_path: Path, version: str, error: object, status: CallStatus, said: str
) -> None:
    async def submit(_: SubmittedJob) -> None:
        raise StoreFull("There is no room.")

    if error:
        refuses(tmp_path, cancel=error)
    async with oven(tmp_path, version) as bread:
        outcome = await bread.bake(replace(bread.bench.context(), submit=submit))
        assert bread.asked("tasks/cancel") == 1
    assert (outcome.status, said in text_of(outcome)) == (status, True)


async def test_a_server_that_cannot_say_now_how_a_task_stands_is_asked_again(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_task, "RETRY_S", 0.05)
    refuses(tmp_path, get=BUSY)
    async with oven(tmp_path, version, **BAKED) as bread:
        baking = asyncio.create_task(bread.bake())
        await until(lambda: (tmp_path / "asked").read_text().count("tasks/get") > 1)
        refuses(tmp_path)
        assert text_of(await baking) == "a loaf"


async def test_who_stops_a_turn_reads_that_the_task_perhaps_goes_on_and_so_does_the_model(tmp_path: Path) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    refuses(folder, cancel=BUSY)
    sets = (f"mcp.servers.s1.command={json.dumps([sys.executable, SERVER, str(folder)])}", "mcp.servers.s1.allow=true")
    async with ModelServer([call("s1__bake", {}), say("I see.")]) as model:
        async with conversation(Place(tmp_path, model, sets=(*sets, "mcp.patience=60"))) as chat:
            await chat.say("Bake.")
            await chat.session.wait(lambda: bool(chat.facts(e.JobSubmitted)))
            await chat.session.stop(OWNER)
            assert await chat.ending() == end.Cancelled(OWNER)
            [result], [begun] = chat.facts(e.ToolFinished), chat.facts(e.WorkStarted)
            await chat.say("And?")
            await chat.ending()
            notices = [fact for fact in chat.facts(e.DeliveryQueued) if fact.origin == "notice"]
            refuses(folder)
            await chat.session.wait(lambda: bool(chat.facts(e.WorkEnded)))
            [ended] = chat.facts(e.WorkEnded)
        asked = str(model.requests[-1])
    assert result.status is CallStatus.CANCELLED
    assert (begun.call, begun.work) == (result.call, e.WorkKind.REMOTE_TASK)
    assert "perhaps still goes on there" in asked
    assert ["perhaps still goes on there" in str(fact.parts) for fact in notices] == [True]
    assert (ended.call, "was cancelled" in str(ended.parts)) == (result.call, True)
    assert isinstance(ended.parts[0], Text)
