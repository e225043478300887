"""What goes on behind a result is begun with it, and its end is told once, whatever dies."""

from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus, Text
from angelia.core.ids import CallId
from angelia.engine.background import BackgroundProcesses, lose
from angelia.testing.model.steps import call, say
from angelia.tools.port import ToolContext, ToolOutcome
from tests.engine.driven import ANN, Probe, Words, World, driven, only_call

pytestmark = pytest.mark.anyio


async def begin(words: Words, context: ToolContext) -> ToolOutcome:
    """A command that goes on after its result."""
    return ToolOutcome((Text("It runs."),), goes_on="make hunter2")


WORLD = World((Probe("shell", begin),), redact=lambda text: text.replace("hunter2", "[key]"))


async def test_what_goes_on_is_begun_in_the_commit_of_its_result(tmp_path: Path) -> None:
    async with driven(tmp_path, [call("shell"), say("It runs.")], WORLD) as one:
        batches: list[list[type]] = []
        one.log.listen(lambda entries: batches.append([type(entry.fact) for entry in entries]))
        await one.say("Build it.")
        await one.drive()
        assert [e.ToolFinished, e.ProcessStarted] in batches
        assert one.facts(e.ProcessStarted) == [e.ProcessStarted(only_call(one), "make [key]", "this life")]


async def test_its_end_and_the_word_of_it_are_one_commit_and_the_model_reads_of_it(tmp_path: Path) -> None:
    async with driven(tmp_path, [call("shell"), say("It runs."), say("I see.")], WORLD) as one:
        await one.say("Build it.")
        await one.drive()
        batches: list[list[type]] = []
        one.log.listen(lambda entries: batches.append([type(entry.fact) for entry in entries]))
        await one.background.ended(only_call(one), ToolOutcome((Text("built hunter2\n[exit status 0]"),)), ANN)
        assert batches == [[e.ProcessEnded, e.DeliveryQueued]]
        words = "The background command `make [key]` has ended: exit status 0"
        assert one.told[-1] == ("notice", ANN, words)
        await one.say("And?")
        await one.drive()
        assert "built [key]" in str(one.provider.requests[-1].messages)


async def test_an_end_that_a_result_tells_is_told_by_nothing_else(tmp_path: Path) -> None:
    async def end(words: Words, context: ToolContext) -> ToolOutcome:
        return ToolOutcome((Text("It is over."),), ended=CallId("c4_0"))

    world = World((Probe("process", end),))
    async with driven(tmp_path, [call("process"), say("Over.")], world) as one:
        await one.say("And?")
        await one.drive()
        (ended,) = one.facts(e.ProcessEnded)
        assert (ended.call, ended.told_by, ended.parts) == (CallId("c4_0"), only_call(one), ())
        assert [origin for origin, _, _ in one.told] == ["answer"]


async def test_what_ended_with_a_life_that_held_it_is_told_to_whoever_spoke_last(tmp_path: Path) -> None:
    async with driven(tmp_path, [call("shell"), say("It runs.")], WORLD) as one:
        await one.say("Build it.")
        await one.drive()
        behind = BackgroundProcesses()
        lost = behind.now(one.log.entries)
        assert [started.command for started in lost] == ["make [key]"]
        lease, _, _ = await one.transcript.take_up(one.log.conversation, "the next life", 0, 0)
        await lose(one.log, lost, lease)
        assert behind.now(one.log.entries) == [], "and it is lost once"
        assert [fact.status for fact in one.facts(e.ProcessEnded)] == [CallStatus.UNKNOWN]
        origin, address, words = one.told[-1]
        assert (origin, address) == ("notice", ANN)
        assert "`make [key]` has ended" in words


def test_an_end_may_stand_before_its_beginning() -> None:
    quick: list[e.AnyFact] = [
        e.ProcessEnded(CallId("a"), CallStatus.OK),
        e.ProcessStarted(CallId("a"), "true", "this life"),
    ]
    assert BackgroundProcesses().now([e.Entry(seq, 0, fact) for seq, fact in enumerate(quick, 1)]) == []
