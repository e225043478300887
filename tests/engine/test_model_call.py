"""A request is in the log before it leaves, and whatever comes of it is there before anything is done about it."""

import asyncio
from pathlib import Path

import pytest

from angelia.context.request import ModelRequest
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Text, ToolCall
from angelia.core.failure import FailureKind
from angelia.core.principal import OWNER
from angelia.engine.live import LiveEvent, Writing
from angelia.testing.model.steps import Cut, CutUnit, How, Speak, Step, call, calls, empty, say, server_error
from tests.engine.driven import Driven, Probe, World, driven

pytestmark = pytest.mark.anyio


def cut(text: str, how: How, after: int) -> Speak:
    """A reply that stops after so many words."""
    return Speak((Text(text),), cut=Cut(how, after, CutUnit.PIECES))


def stop_at_the_first_word(one: Driven) -> None:
    """A person who has read enough."""
    asked: list[asyncio.Task[object]] = []

    def heed(event: LiveEvent) -> None:
        if isinstance(event, Writing) and not asked:
            asked.append(asyncio.create_task(one.log.append(e.CancelAsked(OWNER))))

    one.log.live.watch(heed)


async def test_a_request_is_in_the_log_before_it_leaves_and_its_setup_once(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def look(request: ModelRequest) -> Step:
        seen.append([type(entry.fact).__name__ for entry in one.log.entries])
        return call("note") if len(seen) == 1 else say("Done.")

    async with driven(tmp_path, [look, look], World((Probe(),))) as one:
        await one.say("Go.")
        await one.drive()
        assert seen[0][-2:] == ["SetupChanged", "ModelAsked"]
        assert (seen[1][-1], seen[1].count("SetupChanged")) == ("ModelAsked", 1)


async def test_who_stops_it_is_told_and_what_had_come_is_kept(tmp_path: Path) -> None:
    async with driven(tmp_path, [cut("one two three", How.SILENCE, 2)]) as one, asyncio.timeout(60):
        stop_at_the_first_word(one)
        await one.say("Go.")
        await one.drive()
        (failed,) = one.facts(e.ModelFailed)
        assert failed.failure.kind is FailureKind.STREAM_CUT
        assert "".join(part.text for part in failed.partial if isinstance(part, Text)).startswith("one")
        assert [fact.ending for fact in one.facts(e.TurnClosed)] == [end.Cancelled(OWNER)]
        assert [origin for origin, _, _ in one.told] == ["ending"]


async def test_a_stop_that_comes_in_as_it_is_noted_lets_nothing_be_sent(tmp_path: Path) -> None:
    """Another process wrote the wish: it is taken in by the very append after which the request would leave."""
    async with driven(tmp_path, [say("Nobody asked.")]) as one, asyncio.timeout(60):
        await one.say("Go.")
        one.stopped_elsewhere_before(e.ModelAsked)
        await one.drive()
        assert one.provider.requests == []
        assert [fact.ending for fact in one.facts(e.TurnClosed)] == [end.Cancelled(OWNER)]


async def test_what_had_come_of_a_reply_that_was_cut_is_kept_and_never_taken_for_one(tmp_path: Path) -> None:
    async with driven(tmp_path, [cut("one two three", How.RESET, 2), say("Whole.")]) as one:
        await one.say("Go.")
        await one.drive()
        assert [failed.partial for failed in one.facts(e.ModelFailed)] == [(Text("one two"),)]
        assert [words for _, _, words in one.told] == ["Whole."]
        assert "one two" not in str(one.provider.requests[-1].messages)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (empty(), FailureKind.EMPTY_REPLY),
        (say("  \n"), FailureKind.EMPTY_REPLY),
        (Speak((Text("I won't."),), e.StopReason.REFUSAL), FailureKind.REFUSAL),
        (server_error(), FailureKind.UNREACHABLE),
    ],
)
async def test_what_is_no_answer_is_a_failure_and_no_request_carries_it(
    tmp_path: Path, reply: Step, kind: FailureKind
) -> None:
    async with driven(tmp_path, [reply, *[say("Well.")] * 3]) as one:
        await one.say("Go.")
        await one.drive()
        assert one.facts(e.ModelFailed)[0].failure.kind is kind
        assert all("I won't." not in str(request.messages) for request in one.provider.requests[1:])


async def test_calls_have_the_names_that_the_log_gives_them(tmp_path: Path) -> None:
    again = calls(("note", {}), ("note", {}))
    async with driven(tmp_path, [again, again, say("Done.")], World((Probe(),))) as one:
        await one.say("Go.")
        await one.drive()
        made = [part.id for fact in one.facts(e.ModelSaid) for part in fact.parts if isinstance(part, ToolCall)]
        assert len(set(made)) == 4
        assert [fact.call for fact in one.facts(e.ToolFinished)] == made


async def test_what_utf_8_cannot_carry_is_stored_all_the_same(tmp_path: Path) -> None:
    async with driven(tmp_path, [say("half a \ud83d sign")]) as one:
        await one.say("Go.")
        await one.drive()
        ((_, _, words),) = one.told
        assert words.encode().startswith(b"half a ")
