"""A reply that is cut on the wire: one whole answer or none, never a part, never parts glued, and a note either way."""

from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.failure import FailureKind
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import How, Speak, cut_after, say
from tests.promise.lives import WIRES, Place

pytestmark = pytest.mark.anyio

ANSWER = "The whole answer has eight words in it."
SILENCE = "timeouts.silence=2"
NO_WAITING = ("remedies.unreachable.wait=0", SILENCE)


def cut(how: How, after: int = 3) -> Speak:
    """The answer, stopped after some words."""
    return cut_after(say(ANSWER), after, how=how)


@pytest.mark.parametrize("wire", WIRES)
async def test_it_is_asked_again_and_only_the_whole_answer_is_shown(tmp_path: Path, wire: str) -> None:
    script = [cut(How.RESET), cut(How.CLOSE, 1), cut(How.END, 6), cut(How.SILENCE, 2), say(ANSWER)]
    async with ModelServer(script) as server:
        place = Place(
            tmp_path, server, wire=wire, sets=[SILENCE, "remedies.stream_cut.ask_again=4", "limits.cut_pause=0"]
        )
        life = await place.ask("Go.")
        assert len(server.requests) == 5
        assert len({request.raw for request in server.requests}) == 1
    assert (life.status, life.stdout) == (0, f"{ANSWER}\n")
    assert life.stderr.count("asking again") == 4, life.stderr
    failed = [fact for fact in await place.facts() if isinstance(fact, e.ModelFailed)]
    assert {fact.failure.kind for fact in failed} == {FailureKind.STREAM_CUT}
    arrived = ["The whole answer", "The", "The whole answer has eight words", "The whole"]
    assert [fact.partial for fact in failed] == [(Text(text),) for text in arrived]


@pytest.mark.parametrize("wire", WIRES)
async def test_cut_every_time_nothing_is_passed_off_as_an_answer(tmp_path: Path, wire: str) -> None:
    async with ModelServer([cut(How.RESET), cut(How.END), cut(How.CLOSE)]) as server:
        life = await Place(tmp_path, server, wire=wire, sets=NO_WAITING).ask("Go.")
    assert (life.status, life.stdout) == (5, "")
    assert "did not answer after 3 tries" in life.stderr
    assert ANSWER not in life.stderr


async def test_a_streamed_reply_that_is_cut_is_said_to_be_cut(tmp_path: Path) -> None:
    async with ModelServer([cut(How.CLOSE), say(ANSWER)]) as server:
        life = await Place(tmp_path, server).ask("Go.", "--stream")
    mark = "[this reply was cut off here; what follows is the answer from its beginning]"
    assert life.stdout == f"The whole answer\n{mark}\n{ANSWER}\n"
    assert "cut off" in life.stderr


@pytest.mark.parametrize("wire", WIRES)
async def test_without_its_finish_event_a_complete_text_is_no_reply(tmp_path: Path, wire: str) -> None:
    async with ModelServer([cut(How.END, 1_000), say(ANSWER)]) as server:
        life = await Place(tmp_path, server, wire=wire).ask("Go.")
        assert len(server.requests) == 2
    assert (life.status, life.stdout) == (0, f"{ANSWER}\n")
