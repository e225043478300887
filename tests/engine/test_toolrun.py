"""Every effect is judged, begun in the log before it happens, and ended there whatever comes of it."""

import asyncio
import errno
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import CallStatus, Text, ToolCall
from angelia.core.errors import BadInput
from angelia.core.ids import CallId
from angelia.core.principal import ANGELIA, OWNER, Principal
from angelia.engine.calls import Started
from angelia.engine.question import digest
from angelia.engine.state import Turn, advance
from angelia.policy.verdict import Allow, Ask, Deny, Effect, SendTo, Verdict
from angelia.testing.logs.playbook import reply, started
from angelia.testing.model.steps import call, calls, say
from angelia.tools.port import Delivery, ToolContext, ToolOutcome
from angelia.tools.submitted_jobs import SubmittedJob
from tests.engine.driven import ANN, Driven, Probe, Words, World, driven, only_call

pytestmark = pytest.mark.anyio

NOTE = call("note", {"text": "rm old"})


async def ask(effects: Sequence[Effect]) -> Verdict:
    """A policy that asks for everything."""
    return Ask("May it?", "a test", approvers=(OWNER,))


async def answer(one: Driven, bound_to: str, by: Principal = OWNER) -> None:
    """A person says yes to the one call."""
    await one.log.append(e.ApprovalGiven(only_call(one), bound_to, by))


async def test_nothing_that_asks_runs_without_a_yes(tmp_path: Path) -> None:
    tool = Probe()
    async with driven(tmp_path, [NOTE, say("Done.")], World((tool,), ask)) as one:
        await one.say("Go.")
        await one.drive()
        await one.drive()
        assert [asked.question for asked in one.facts(e.ApprovalAsked)] == ["May it?"]
        assert (tool.ran, one.facts(e.ToolStarted)) == ([], [])
        await answer(one, one.facts(e.ApprovalAsked)[0].digest)
        await one.drive()
        assert (tool.ran, one.results) == (["rm old"], [("ok", "Noted.")])


async def test_a_yes_counts_from_those_alone_who_may_give_it(tmp_path: Path) -> None:
    tool = Probe()
    async with driven(tmp_path, [NOTE, say("Done.")], World((tool,), ask)) as one:
        await one.say("Go.")
        await one.drive()
        bound_to = one.facts(e.ApprovalAsked)[0].digest
        await answer(one, bound_to, by=Principal("chat", "2"))
        await one.drive()
        assert (tool.ran, one.facts(e.ToolStarted)) == ([], [])
        assert len(one.facts(e.ApprovalAsked)) == 1
        await answer(one, bound_to)
        await answer(one, "other arguments", by=Principal("chat", "2"))
        await one.drive()
        assert (tool.ran, one.results) == (["rm old"], [("ok", "Noted.")])


@pytest.mark.parametrize(("by", "counts"), [(Principal("chat", "2"), False), (OWNER, True), (ANGELIA, True)])
async def test_a_no_counts_from_those_alone_who_may_answer(tmp_path: Path, by: Principal, counts: bool) -> None:
    tool = Probe()
    async with driven(tmp_path, [NOTE, say("Well.")], World((tool,), ask)) as one:
        await one.say("Go.")
        await one.drive()
        await one.log.append(e.ApprovalRefused(only_call(one), by, "not like this"))
        await one.drive()
        assert len(one.results) == counts
        await answer(one, one.facts(e.ApprovalAsked)[0].digest)
        await one.drive()
        assert tool.ran == ([] if counts else ["rm old"])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("note", '{"text": "rm all"}'), ("other", '{"text": "rm old"}'), ("note", '{"text":"rm old"}')],
)
async def test_a_yes_counts_for_the_very_arguments_that_were_asked_about(
    tmp_path: Path, name: str, arguments: str
) -> None:
    tool = Probe()
    async with driven(tmp_path, [NOTE], World((tool,), ask)) as one:
        await one.say("Go.")
        await one.drive()
        effects = one.facts(e.ApprovalAsked)[0].effects
        await answer(one, digest(ToolCall(only_call(one), name, arguments), effects))
        await one.drive()
        assert tool.ran == []
        assert len(one.facts(e.ApprovalAsked)) == 2, "it is asked again"


class Moving(Probe):
    """What it would do is something else from one time to the next, as where a page or a link leads may be."""

    def __init__(self, *places: str) -> None:
        super().__init__()
        self._places = iter(places)

    async def effects(self, arguments: Words, context: ToolContext) -> Sequence[Effect]:
        """It acts somewhere."""
        return [SendTo(next(self._places), arguments.text)]


async def test_a_yes_counts_for_what_the_call_would_have_done_when_it_was_asked_about(tmp_path: Path) -> None:
    async def where(effects: Sequence[Effect]) -> Verdict:
        return Ask(f"Act on {[one.origin for one in effects if isinstance(one, SendTo)]}?", "", approvers=(OWNER,))

    tool = Moving("https://shop.example", *(["https://elsewhere.example"] * 3))
    async with driven(tmp_path, [NOTE, say("Done.")], World((tool,), where)) as one:
        await one.say("Go.")
        await one.drive()
        await answer(one, one.facts(e.ApprovalAsked)[0].digest)
        await one.drive()
        assert tool.ran == []
        asked = [asked.question for asked in one.facts(e.ApprovalAsked)]
        assert asked[:2] == ["Act on ['https://shop.example']?", "Act on ['https://elsewhere.example']?"]
        await answer(one, one.facts(e.ApprovalAsked)[0].digest)  # pressed twice, or at another door that still shows it
        await one.drive()
        assert tool.ran == []
        await answer(one, one.facts(e.ApprovalAsked)[-1].digest)
        await one.drive()
        assert tool.ran == ["rm old"]


async def test_a_yes_does_not_outlast_the_reply_that_made_the_call(tmp_path: Path) -> None:
    tool = Probe()
    async with driven(tmp_path, [NOTE, NOTE], World((tool,), ask)) as one:
        await one.say("Go.")
        await one.drive()
        await answer(one, one.facts(e.ApprovalAsked)[0].digest)
        await one.drive()
        assert tool.ran == ["rm old"]
        assert len(one.facts(e.ApprovalAsked)) == 2


async def test_a_yes_is_no_longer_one_when_the_policy_has_come_to_say_no(tmp_path: Path) -> None:
    tool = Probe()
    verdicts: Iterator[Verdict] = iter(
        [Ask("May it?", "a test", approvers=(OWNER,)), Deny("somebody has forbidden it")]
    )

    async def judge(effects: Sequence[Effect]) -> Verdict:
        return next(verdicts)

    async with driven(tmp_path, [NOTE, say("Well.")], World((tool,), judge)) as one:
        await one.say("Go.")
        await one.drive()
        await answer(one, one.facts(e.ApprovalAsked)[0].digest)
        await one.drive()
        assert (tool.ran, one.results) == ([], [("refused", "Not allowed: somebody has forbidden it")])


@pytest.mark.parametrize(
    ("replayable", "ran", "status"), [(False, [], "unknown"), (True, ["rm old"], "ok")], ids=["once", "replayable"]
)
async def test_a_call_that_was_started_in_a_life_that_ended_is_run_again_only_if_that_does_no_harm(
    tmp_path: Path, replayable: bool, ran: list[str], status: str
) -> None:
    tool = Probe(replayable=replayable)
    async with driven(tmp_path, [say("I see.")], World((tool,))) as one:
        await one.say("Go.")
        await one.given(reply(NOTE), started(replayable=replayable))
        await one.drive()
        assert tool.ran == ran
        assert [found for found, _ in one.results] == [status]


async def test_what_a_server_took_on_in_a_life_that_ended_is_gone_on_from_without_a_question(tmp_path: Path) -> None:
    seen: list[SubmittedJob] = []

    async def act(words: Words, context: ToolContext) -> ToolOutcome:
        seen.append(context.submitted)
        return ToolOutcome((Text("Fetched."),))

    async with driven(tmp_path, [say("I see.")], World((Probe("note", act),), ask)) as one:
        await one.say("Go.")
        await one.given(reply(NOTE), started())
        await one.log.append(e.JobSubmitted(only_call(one), "queue:fox", "job 7"))
        await one.drive()
        assert seen == [SubmittedJob("queue:fox", "job 7")]
        assert one.results == [("ok", "Fetched.")]
        assert one.facts(e.ApprovalAsked) == []


async def test_a_job_outlives_one_life_after_another(tmp_path: Path) -> None:
    async with driven(tmp_path, [], World((Probe(),))) as one:
        await one.say("Go.")
        await one.given(reply(NOTE), started())
        await one.log.append(e.JobSubmitted(only_call(one), "queue:fox", "job 7"))
        await one.given(started())
        [made] = advance(Turn(), one.log.entries).calls
    assert made.state == Started(replayable=False, submitted=True)


async def test_what_may_be_owed_is_told_where_the_tool_is_gone(tmp_path: Path) -> None:
    owed = e.Payment("queue:fox", 40_000)
    async with driven(tmp_path, [say("I see.")], World((Probe("other"),))) as one:
        await one.say("Go.")
        await one.given(reply(NOTE))
        await one.log.append(
            e.ToolStarted(only_call(one), may_cost=owed), e.JobSubmitted(only_call(one), "queue:fox", "job 7")
        )
        await one.drive()
        [(status, said)] = one.results
        assert (status, [fact.paid for fact in one.facts(e.ToolFinished)]) == ("bad_call", [owed])
    assert said.endswith("queue:fox may have to be paid for it all the same: $0.04 are booked.")


@pytest.mark.parametrize(
    ("made", "results"),
    [
        (call("nonesuch"), [("bad_call", "There is no tool 'nonesuch'. The tools are: note.")]),
        (call("note", {"text": 7}), [("bad_call", "")]),
    ],
)
async def test_a_call_that_cannot_be_one_is_judged_by_nobody(
    tmp_path: Path, made: Words, results: list[tuple[str, str]]
) -> None:
    tool = Probe()
    async with driven(tmp_path, [made, say("Well.")], World((tool,), ask)) as one:  # type: ignore[list-item]
        await one.say("Go.")
        await one.drive()
        assert (tool.ran, one.facts(e.ApprovalAsked)) == ([], [])
        assert [status for status, _ in one.results] == [status for status, _ in results]
        assert results[0][1] in one.results[0][1]


async def test_a_start_is_in_the_log_before_anything_happens_and_the_result_with_what_it_sends(tmp_path: Path) -> None:
    seen: list[list[e.AnyFact]] = []

    async def act(words: Words, context: ToolContext) -> ToolOutcome:
        seen.append([entry.fact for entry in await one.transcript.entries(one.log.conversation)][-1:])
        return ToolOutcome((Text("Sent."),), deliveries=(Delivery(ANN, (Text("Here."),)),))

    async with driven(tmp_path, [NOTE, say("Done.")], World((Probe("note", act),))) as one:
        batches: list[list[type]] = []
        one.log.listen(lambda entries: batches.append([type(entry.fact) for entry in entries]))
        await one.say("Go.")
        await one.drive()
        assert seen == [[e.ToolStarted(only_call(one))]]
        assert [e.ToolFinished, e.DeliveryQueued] in batches, "one commit"


async def test_what_a_tool_cannot_do_is_a_result_and_a_fault_of_ours_an_ending(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def cannot(words: Words, context: ToolContext) -> ToolOutcome:
        raise BadInput("There is no such file.", then="Name another.")

    async def breaks(words: Words, context: ToolContext) -> ToolOutcome:
        raise KeyError("ours")

    script = [call("cannot"), call("breaks")]
    async with driven(tmp_path, script, World((Probe("cannot", cannot), Probe("breaks", breaks)))) as one:
        await one.say("Go.")
        await one.drive()
        assert one.results[0] == ("error", "There is no such file. Name another.")
        (closed,) = one.facts(e.TurnClosed)
        assert isinstance(closed.ending, end.Faulted)
        assert [(origin, address) for origin, address, _ in one.told] == [("ending", ANN)]
        assert "KeyError: 'ours'" in caplog.text
        assert "KeyError" not in one.told[0][2]


async def test_neighbours_that_only_read_run_side_by_side_and_writers_one_by_one(tmp_path: Path) -> None:
    both = asyncio.Barrier(2)

    async def meet(words: Words, context: ToolContext) -> ToolOutcome:
        await both.wait()
        return ToolOutcome((Text("Met."),))

    look, note = Probe("look", meet, reads_only=True), Probe()
    made = calls(("look", {}), ("look", {}), ("note", {"text": "1"}), ("note", {"text": "2"}))
    async with driven(tmp_path, [made, say("Done.")], World((look, note))) as one, asyncio.timeout(60):
        await one.say("Go.")
        await one.drive()
        kinds = [type(entry.fact).__name__ for entry in one.log.entries if "Tool" in type(entry.fact).__name__]
        assert kinds == ["ToolStarted"] * 2 + ["ToolFinished"] * 2 + ["ToolStarted", "ToolFinished"] * 2


async def test_who_stops_a_turn_stops_what_runs_and_is_told(tmp_path: Path) -> None:
    async def forever(words: Words, context: ToolContext) -> ToolOutcome:
        await one.log.append(e.CancelAsked(OWNER))
        await asyncio.Event().wait()
        raise AssertionError

    async with driven(tmp_path, [NOTE], World((Probe("note", forever),))) as one, asyncio.timeout(60):
        await one.say("Go.")
        await one.drive()
        assert [status for status, _ in one.results] == [CallStatus.CANCELLED.value]
        assert [closed.ending for closed in one.facts(e.TurnClosed)] == [end.Cancelled(OWNER)]
        assert [origin for origin, _, _ in one.told] == ["ending"]


async def test_a_stop_that_comes_in_as_a_call_is_noted_lets_nothing_be_run(tmp_path: Path) -> None:
    probe = Probe()
    async with driven(tmp_path, [NOTE], World((probe,))) as one, asyncio.timeout(60):
        await one.say("Go.")
        one.stopped_elsewhere_before(e.ToolStarted)
        await one.drive()
        assert probe.ran == []
        assert [status for status, _ in one.results] == [CallStatus.CANCELLED.value]


async def test_no_secret_is_stored(tmp_path: Path) -> None:
    async def leak(words: Words, context: ToolContext) -> ToolOutcome:
        return ToolOutcome((Text("the key is hunter2"),), diffs=(e.Diff("a", "hunter2", "new hunter2"),))

    world = World((Probe("note", leak),), redact=lambda text: text.replace("hunter2", "[key]"))
    async with driven(tmp_path, [NOTE, say("Done.")], world) as one:
        await one.say("Go.")
        await one.drive()
        assert one.results == [("ok", "the key is [key]")]
        assert one.facts(e.ToolFinished)[0].diffs == (e.Diff("a", "[key]", "new [key]"),)


def test_a_digest_tells_every_call_from_every_other() -> None:
    one = ToolCall(CallId("c1_0"), "note", '{"text": "a"}')
    others = [replace(one, name="other"), replace(one, arguments='{"text": "b"}'), replace(one, arguments="{}")]
    assert len({digest(call) for call in (one, *others)}) == 4
    assert digest(replace(one, id=CallId("c2_0"))) == digest(one), "the id is compared beside it"


async def test_what_the_policy_is_told_is_what_the_tool_would_do(tmp_path: Path) -> None:
    judged: list[Effect] = []

    async def judge(effects: Sequence[Effect]) -> Verdict:
        judged.extend(effects)
        return Allow("a test")

    tool = Probe()
    async with driven(tmp_path, [NOTE, say("Done.")], World((tool,), judge)) as one:
        await one.say("Go.")
        await one.drive()
        assert [effect.command for effect in judged] == tool.ran == ["rm old"]  # type: ignore[union-attr]


async def test_a_turn_that_has_no_file_left_to_open_says_so_and_goes_on_later(tmp_path: Path) -> None:
    async def starve(arguments: Words, context: ToolContext) -> ToolOutcome:
        raise OSError(errno.EMFILE, "Too many open files")

    async with driven(tmp_path, [NOTE, say("Well.")], World((Probe(act=starve),))) as one:
        await one.say("Go.")
        await one.drive()
        (closed,) = one.facts(e.TurnClosed)
        assert isinstance(closed.ending, end.Faulted)
        assert closed.ending.no_files
        ((_, _, told),) = one.told
        assert "Too much is open here at once" in told
        await one.say("continue")
        await one.drive()
        assert one.told[-1][2] == "Well."
