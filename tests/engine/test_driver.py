"""Whatever a turn comes to, it ends with a reason, and who spoke is told it once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from angelia.context.request import ModelRequest
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Media, MediaKind, Text
from angelia.core.failure import FailureKind
from angelia.testing.logs.playbook import asked, closed, reply
from angelia.testing.model.script import ModelScript
from angelia.testing.model.steps import (
    Fail,
    Step,
    busy,
    call,
    empty,
    history_refused,
    length,
    login_rejected,
    out_of_credit,
    refuse_media,
    say,
    server_error,
    too_long,
    unknown_model,
)
from angelia.tools.port import ToolContext, ToolOutcome
from tests.engine.driven import ANN, Probe, Words, World, driven

pytestmark = pytest.mark.anyio

MANY = 40
ENDINGS: dict[type[end.Outcome], list[Step]] = {
    end.Answered: [say("Here it is.")],
    end.ModelUnavailable: [server_error()] * MANY,
    end.ModelUnknown: [unknown_model()],
    end.LoginNeeded: [login_rejected()] * MANY,
    end.OutOfCredit: [out_of_credit()],
    end.ContextFull: [too_long()] * MANY,
    end.ModelRefusedMedia: [refuse_media()] * MANY,
    end.HistoryRefused: [history_refused()] * MANY,
    end.WrongAddress: [Fail(FailureKind.WRONG_ADDRESS)],
    end.Refused: [Fail(FailureKind.REFUSAL)],
    end.NothingToSay: [empty()] * MANY,
    end.ReplyCutOff: [length()] * MANY,
    end.ToolConfusion: [call("nonesuch")] * MANY,
    end.GoingInCircles: [call("note")] * MANY,
}
"""What a model does, and how the turn ends then."""


@pytest.mark.parametrize("kind", ENDINGS, ids=lambda kind: kind.__name__)
async def test_every_ending_is_delivered_once_to_whoever_spoke(tmp_path: Path, kind: type[end.Outcome]) -> None:
    async with driven(tmp_path, ENDINGS[kind], World((Probe(),))) as one:
        await one.say("Go.")
        await one.drive()
        (ended,) = one.facts(e.TurnClosed)
        assert isinstance(ended.ending, kind), one
        ((origin, address, words),) = [said for said in one.told if said[0] != "notice"]
        assert (origin, address) == ("answer" if kind is end.Answered else "ending", ANN)
        assert words.strip()
        assert one.facts(e.DeliveryQueued)[0].reply_to == "m1"
        await one.drive()
        assert len([said for said in one.told if said[0] != "notice"]) == 1, "and not once more"


async def test_an_answer_and_its_ending_are_one_commit(tmp_path: Path) -> None:
    async with driven(tmp_path, [say("Here it is.")]) as one:
        batches: list[list[type]] = []
        one.log.listen(lambda entries: batches.append([type(entry.fact) for entry in entries]))
        await one.say("Go.")
        await one.drive()
        assert batches[-1] == [e.ModelSaid, e.TurnClosed, e.DeliveryQueued]


async def test_a_fault_of_ours_ends_the_turn_with_a_code_and_leaves_its_trace(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks(request: ModelRequest) -> Step:
        raise ZeroDivisionError("ours")

    async with driven(tmp_path, [breaks]) as one:
        await one.say("Go.")
        await one.drive()
        (ended,) = one.facts(e.TurnClosed)
        assert isinstance(ended.ending, end.Faulted)
        assert ended.ending.code in one.told[0][2]
        assert ended.ending.code in caplog.text
        assert "ZeroDivisionError: ours" in caplog.text


async def test_a_wait_is_a_fact_and_a_request_that_succeeds_after_it_answers(tmp_path: Path) -> None:
    async with driven(tmp_path, [busy(), busy(), say("Now.")]) as one:
        await one.say("Go.")
        await one.drive()
        assert [used.remedy for used in one.facts(e.RemedyUsed)] == ["wait", "wait"]
        assert one.told == [("answer", ANN, "Now.")]


async def test_a_request_that_a_dead_life_had_sent_is_sent_again_and_counted(tmp_path: Path) -> None:
    async with driven(tmp_path, [say("Here.")]) as one:
        await one.say("Go.")
        await one.given(asked)
        await one.drive()
        assert [fact.attempt for fact in one.facts(e.ModelAsked)] == [1, 2]
        assert one.told == [("answer", ANN, "Here.")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("nothing is open", lambda: (reply("Hello."), closed())),
        ("nobody has spoken", lambda: ()),
    ],
)
async def test_where_nothing_is_to_be_done_nothing_is_done(
    tmp_path: Path, before: str, after: Callable[[], tuple[object, ...]]
) -> None:
    async with driven(tmp_path, []) as one:
        if lines := after():
            await one.say("Hi.")
            await one.given(*lines)  # type: ignore[arg-type]
        known = len(one.log.entries)
        await one.drive()
        assert len(one.log.entries) == known, before


async def test_what_is_said_while_tools_run_is_heard_by_the_next_request_of_the_same_turn(tmp_path: Path) -> None:
    async def interrupted(words: Words, context: ToolContext) -> ToolOutcome:
        await one.say("And two.")
        return ToolOutcome((Text("Noted."),))

    world = World((Probe("note", interrupted),))
    async with driven(tmp_path, [call("note"), say("Both.")], world) as one:
        await one.say("One.")
        await one.drive()
        assert "And two." not in str(one.provider.requests[0].messages)
        assert "And two." in str(one.provider.requests[1].messages)
        assert one.told == [("answer", ANN, "Both.")]


async def test_a_picture_that_the_model_did_not_take_is_a_line_in_the_next_turn(tmp_path: Path) -> None:
    async with driven(tmp_path, [*[refuse_media()] * 3, say("Yes?")]) as one:
        stored = await one.blobs.put(b"a picture", mime="image/jpeg")
        await one.say("Look.", Media(stored, MediaKind.IMAGE, "photo.jpg", 800, 600))
        await one.drive()
        asked_before = len(one.provider.requests)
        one.provider.script = ModelScript([say("Yes?")])
        await one.say("Are you there?")
        await one.drive()
        assert one.told[-1] == ("answer", ANN, "Yes?")
        assert len(one.provider.requests) == asked_before + 1
        assert "scripted:m did not take it" in str(one.provider.requests[-1].messages)
