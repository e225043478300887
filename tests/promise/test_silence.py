"""Silence is impossible on the real engine: empty replies are asked again, and every failure ends aloud."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.failure import FailureKind
from angelia.core.sentences import sentence
from angelia.testing.model import steps as s
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Speak, Step, call, empty, say
from tests.promise.inside import conversation
from tests.promise.lives import CHAT, WIRES, Place

pytestmark = pytest.mark.anyio

PROGRESS = "Tests passed! Now dispatching task 5:"
ANSWER = "Task 5 is done."
WORK = call("write", {"path": "task5.txt", "content": "x"})
NOTING = call("todo", {"items": [{"text": "task 5", "status": "done"}]})


def falls_silent(work: Speak, times: int) -> list[Step]:
    """Progress with a call, then so many empty replies, then a good one."""
    return [say(PROGRESS) + work, *([empty()] * times), say(ANSWER)]


@pytest.mark.parametrize(("wire", "times"), [*((wire, 2) for wire in WIRES), (CHAT, 1), (CHAT, 3), (CHAT, 4)])
async def test_empty_replies_are_asked_again_and_progress_is_not_the_answer(
    tmp_path: Path, wire: str, times: int
) -> None:
    async with (
        ModelServer(falls_silent(WORK, times)) as server,
        conversation(Place(tmp_path, server, wire=wire)) as chat,
    ):
        await chat.say("Do all tasks.")
        assert await chat.ending() == end.Answered()
        assert chat.words() == [ANSWER]
        remedies = [fact.remedy for fact in chat.facts(e.RemedyUsed)]
        assert remedies == ["ask_again", "ask_again", "ask_again", "nudge"][:times]
        assert len(server.requests) == times + 2


async def test_five_empty_replies_end_with_a_name_and_quote_the_progress(tmp_path: Path) -> None:
    async with ModelServer(falls_silent(WORK, 5)) as server, conversation(Place(tmp_path, server)) as chat:
        await chat.say("Do all tasks.")
        ending = await chat.ending()
        assert ending == end.NothingToSay(f"{CHAT}:m", tries=5, progress=PROGRESS)
        assert chat.words() == [sentence(ending)]
        assert PROGRESS in sentence(ending)
    assert "WARNING" in (tmp_path / "home" / "angelia.log").read_text()


async def test_after_mere_housekeeping_the_last_text_was_the_answer_and_a_note_says_so(tmp_path: Path) -> None:
    script: Sequence[Step] = [say("You're welcome!") + NOTING, *([empty()] * 5)]
    async with ModelServer(script) as server, conversation(Place(tmp_path, server)) as chat:
        await chat.say("Thanks.")
        ending = await chat.ending()
        assert isinstance(ending, end.Answered)
        assert ending.note
        assert chat.words() == [f"You're welcome!\n\n{ending.note}"]
    assert ending.note in (tmp_path / "home" / "angelia.log").read_text()


CUT = s.cut_after(say("half a reply"), 1)
ENDINGS: dict[FailureKind, tuple[Step, type[end.Outcome], int]] = {
    FailureKind.BUSY: (s.busy(), end.ModelUnavailable, 5),
    FailureKind.UNREACHABLE: (s.server_error(), end.ModelUnavailable, 5),
    FailureKind.STREAM_CUT: (CUT, end.ModelUnavailable, 5),
    FailureKind.CONTEXT_TOO_LONG: (s.too_long(), end.ContextFull, 6),
    FailureKind.BODY_TOO_LARGE: (s.too_large(), end.ContextFull, 6),
    FailureKind.MEDIA_REFUSED: (s.refuse_media(), end.ModelRefusedMedia, 6),
    FailureKind.LOGIN_REJECTED: (s.login_rejected(), end.LoginNeeded, 5),
    FailureKind.OUT_OF_CREDIT: (s.out_of_credit(), end.OutOfCredit, 5),
    FailureKind.EMPTY_REPLY: (empty(), end.NothingToSay, 8),
    FailureKind.THINKING_ONLY: (s.thinking_only(), end.NothingToSay, 8),
    FailureKind.CUT_OFF: (s.length("and then"), end.ReplyCutOff, 8),
    FailureKind.BAD_CALL: (call("nonesuch"), end.ToolConfusion, 8),
    FailureKind.REFUSAL: (s.filtered("I will not."), end.Refused, 7),
    FailureKind.HISTORY_REFUSED: (s.history_refused(), end.HistoryRefused, 6),
    FailureKind.UNKNOWN_MODEL: (s.unknown_model(), end.ModelUnknown, 5),
    FailureKind.PARAMETER_REFUSED: (
        s.Fail(FailureKind.HISTORY_REFUSED, said="Unsupported parameter: 'stream'."),
        end.HistoryRefused,
        6,
    ),
    FailureKind.TOOL_REFUSED: (
        s.Fail(FailureKind.HISTORY_REFUSED, said="Invalid schema for function 'nonesuch'."),
        end.HistoryRefused,
        6,
    ),
    FailureKind.WRONG_ADDRESS: (s.garbage(), end.WrongAddress, 5),
    FailureKind.CIRCLES: (call("read", {"path": "same.txt"}), end.GoingInCircles, 8),
}
NO_WAITING = ("remedies.busy.wait=0", "remedies.unreachable.wait=0")


ANSWERED = {FailureKind.FILE_REFUSED}
"""What does not take the answer away: it is told beside it."""
OF_WORKERS = {FailureKind.WORKER}
"""What no model of ours fails with: other agents' ends have their names in `tests/workers`."""


def test_every_failure_has_its_ending_here() -> None:
    assert set(ENDINGS) | ANSWERED | OF_WORKERS == set(FailureKind)


@pytest.mark.soak(every=3)
@pytest.mark.parametrize(("at", "kind"), list(enumerate(ENDINGS)), ids=str)
async def test_a_failure_that_does_not_go_away_is_said_on_stderr(tmp_path: Path, at: int, kind: FailureKind) -> None:
    step, ending, code = ENDINGS[kind]
    wire = WIRES[at % len(WIRES)]
    async with ModelServer(lambda _: step) as server:
        place = Place(tmp_path, server, wire=wire, sets=NO_WAITING)
        life = await place.ask("Go.")
        assert 1 <= len(server.requests) < 25
    closed = [fact.ending for fact in await place.facts() if isinstance(fact, e.TurnClosed)]
    assert [type(one) for one in closed] == [ending]
    assert (life.status, life.stdout) == (code, "")
    assert _words(sentence(closed[0])) in _words(life.stderr)


async def test_a_named_file_that_is_never_there_is_said_beside_the_answer(tmp_path: Path) -> None:
    async with ModelServer(lambda _: say("Here it is.\nMEDIA:nonesuch.pdf")) as server:
        place = Place(tmp_path, server)
        life = await place.ask("Send it.")
        assert len(server.requests) == 2
    assert (life.status, life.stdout.count("nonesuch.pdf was not sent: ")) == (0, 0)
    assert "nonesuch.pdf was not sent: " in life.stderr


def _words(text: str) -> str:
    return re.sub(r"\s+", " ", text)
