"""What goes on behind a result is begun with it, and its end is told once, whatever dies."""

import asyncio
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus, Text
from angelia.core.errors import StoreFull
from angelia.core.ids import CallId
from angelia.engine.background import Background, BackgroundWork, lose
from angelia.store.sql.worker_thread import JobFailed
from angelia.testing.model.steps import call, say
from angelia.tools.port import ToolContext, ToolOutcome, Work
from tests.engine.driven import ANN, Probe, Words, World, driven, only_call

pytestmark = pytest.mark.anyio


MAKE = Work(e.WorkKind.PROCESS, "make hunter2")
BOOK = Work(e.WorkKind.REMOTE_TASK, "book a table")


async def begin(words: Words, context: ToolContext) -> ToolOutcome:
    """A command that goes on after its result, or a task of somebody else."""
    return ToolOutcome((Text("It runs."),), goes_on=BOOK if words.text == "book" else MAKE)


WORLD = World((Probe("shell", begin),), redact=lambda text: text.replace("hunter2", "[key]"))


async def test_what_goes_on_is_begun_in_the_commit_of_its_result(tmp_path: Path) -> None:
    async with driven(tmp_path, [call("shell"), say("It runs.")], WORLD) as one:
        batches: list[list[type]] = []
        one.log.listen(lambda entries: batches.append([type(entry.fact) for entry in entries]))
        await one.say("Build it.")
        await one.drive()
        assert [e.ToolFinished, e.WorkStarted] in batches
        assert one.facts(e.WorkStarted) == [
            e.WorkStarted(only_call(one), e.WorkKind.PROCESS, "make [key]", "this life")
        ]


async def test_its_end_and_the_word_of_it_are_one_commit_and_the_model_reads_of_it(tmp_path: Path) -> None:
    async with driven(tmp_path, [call("shell"), say("It runs."), say("I see.")], WORLD) as one:
        await one.say("Build it.")
        await one.drive()
        batches: list[list[type]] = []
        one.log.listen(lambda entries: batches.append([type(entry.fact) for entry in entries]))
        await one.background.ended(only_call(one), MAKE, ToolOutcome((Text("built hunter2\n[exit status 0]"),)), ANN)
        assert batches == [[e.WorkEnded, e.DeliveryQueued]]
        words = "The background command `make [key]` has ended: exit status 0"
        assert one.told[-1] == ("notice", ANN, words)
        await one.say("And?")
        await one.drive()
        assert "built [key]" in str(one.provider.requests[-1].messages)


async def test_an_end_that_a_result_tells_is_told_by_nothing_else(tmp_path: Path) -> None:
    async def end(words: Words, context: ToolContext) -> ToolOutcome:
        return ToolOutcome((Text("It is over."),), ended=CallId(words.text))

    world = World((Probe("shell", begin), Probe("process", end)))
    begun = CallId("c4_0")
    script = [call("shell"), say("It runs."), call("process", {"text": begun}), say("Over.")]
    async with driven(tmp_path, script, world) as one:
        await one.say("Build it.")
        await one.drive()
        assert only_call(one) == begun
        await one.say("And?")
        await one.drive()
        (ended,) = one.facts(e.WorkEnded)
        assert (ended.call, ended.work, ended.parts) == (begun, e.WorkKind.PROCESS, ())
        assert ended.told_by == one.facts(e.ToolFinished)[-1].call
        await one.background.ended(begun, MAKE, ToolOutcome((Text("over"),)), ANN)
        assert one.facts(e.WorkEnded) == [ended]
        assert [origin for origin, _, _ in one.told] == ["answer", "answer"]


async def test_an_end_whose_result_a_full_disk_took_is_told_by_itself(tmp_path: Path) -> None:
    full: list[StoreFull] = []

    async def end(words: Words, context: ToolContext) -> ToolOutcome:
        full.append(StoreFull("The disk is full."))
        return ToolOutcome((Text("hunter2 built it\n[exit status 0]"),), ended=CallId(words.text))

    world = World((Probe("shell", begin), Probe("process", end)), redact=WORLD.redact)
    begun = CallId("c4_0")
    script = [call("shell"), say("It runs."), call("process", {"text": begun}), say("Over.")]
    async with driven(tmp_path, script, world) as one:
        await one.say("Build it.")
        await one.drive()
        lane = one.db._writes
        perform = lane._perform
        lane._perform = lambda jobs: [JobFailed(full.pop())] * len(jobs) if full else perform(jobs)
        await one.say("And?")
        with pytest.raises(StoreFull):
            await one.drive()
        async with asyncio.timeout(60):
            while not one.facts(e.WorkEnded):  # noqa: ASYNC110 - it is told in a task of its own
                await asyncio.sleep(0)
        (ended,) = one.facts(e.WorkEnded)
        assert (ended.call, ended.told_by, ended.parts) == (begun, "", (Text("[key] built it\n[exit status 0]"),))
        words = "The background command `make [key]` has ended: exit status 0"
        assert one.told[-1] == ("notice", ANN, words)
        assert BackgroundWork().now(one.log.entries) == []


async def test_an_end_that_is_handed_in_twice_is_told_once_whatever_kind_of_work_it_was(tmp_path: Path) -> None:
    for number, (work, words) in enumerate(
        [(MAKE, "background command `make [key]`"), (BOOK, "remote task `book a table`")]
    ):
        script = [call("shell", {"text": "book" if work is BOOK else ""}), say("It runs.")]
        async with driven(tmp_path / str(number), script, WORLD) as one:
            await one.say("Go.")
            await one.drive()
            over = ToolOutcome((Text("[done]"),))
            await asyncio.gather(*(one.background.ended(only_call(one), work, over, ANN) for _ in range(3)))
            assert [fact.work for fact in one.facts(e.WorkEnded)] == [work.kind]
            assert [told for origin, _, told in one.told if origin == "notice"] == [f"The {words} has ended: done"]


async def test_an_end_that_was_told_in_an_earlier_life_is_not_told_again(tmp_path: Path) -> None:
    async with driven(tmp_path, [call("shell"), say("It runs.")], WORLD) as one:
        await one.say("Build it.")
        await one.drive()
        await one.background.ended(only_call(one), MAKE, ToolOutcome((Text("over"),)), ANN)
        next_life = Background(one.log, str, lambda: "the next life", lambda _: ())
        await next_life.ended(only_call(one), MAKE, ToolOutcome((Text("over"),)), ANN)
        assert len(one.facts(e.WorkEnded)) == 1


async def test_a_remote_task_that_nobody_watches_any_more_is_not_said_to_have_ended(tmp_path: Path) -> None:
    async with driven(tmp_path, [call("shell", {"text": "book"}), say("It runs.")], WORLD) as one:
        await one.say("Book it.")
        await one.drive()
        lease, _, _ = await one.transcript.take_up(one.log.conversation, "the next life", 0, 0)
        await lose(one.log, BackgroundWork().now(one.log.entries), lease)
        (ended,) = one.facts(e.WorkEnded)
        assert (ended.work, ended.status) == (e.WorkKind.REMOTE_TASK, CallStatus.UNKNOWN)
        assert "may still go on where it runs" in str(ended.parts)
        assert one.told[-1][2].startswith("The remote task `book a table` is not watched any more")


async def test_what_ended_with_a_life_that_held_it_is_told_to_whoever_spoke_last(tmp_path: Path) -> None:
    async with driven(tmp_path, [call("shell"), say("It runs.")], WORLD) as one:
        await one.say("Build it.")
        await one.drive()
        behind = BackgroundWork()
        lost = behind.now(one.log.entries)
        assert [started.what for started in lost] == ["make [key]"]
        lease, _, _ = await one.transcript.take_up(one.log.conversation, "the next life", 0, 0)
        await lose(one.log, lost, lease)
        assert behind.now(one.log.entries) == [], "and it is lost once"
        assert [fact.status for fact in one.facts(e.WorkEnded)] == [CallStatus.UNKNOWN]
        origin, address, words = one.told[-1]
        assert (origin, address) == ("notice", ANN)
        assert "`make [key]` has ended" in words


def test_an_end_may_stand_before_its_beginning() -> None:
    quick: list[e.AnyFact] = [
        e.WorkEnded(CallId("a"), e.WorkKind.PROCESS, CallStatus.OK),
        e.WorkStarted(CallId("a"), e.WorkKind.PROCESS, "true", "this life"),
    ]
    assert BackgroundWork().now([e.Entry(seq, 0, fact) for seq, fact in enumerate(quick, 1)]) == []
