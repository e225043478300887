"""A summariser may be dead, slow, long-winded, silly or small: the conversation goes on, at most one fold at a time."""

from pathlib import Path

import pytest

from angelia.context.summary import INSTRUCTIONS, SECTIONS
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Text, ToolCall
from angelia.core.principal import OWNER
from angelia.engine import machine as m
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer, ServerLimits
from angelia.testing.model.steps import Step, call, hang, say, server_error
from tests.examples import TIMES
from tests.long.home import home, moves, opened, turn

pytestmark = pytest.mark.anyio
WINDOW = 16_000
TURNS = 30 if TIMES else 14
"""Enough to fold more than once; more of them in `make soak`."""
GOOD = "\n".join(f"## {section}\nnone" for section in SECTIONS)


def is_summary(request: ReceivedRequest) -> bool:
    """Whether this request asks for a summary."""
    return INSTRUCTIONS[:40] in request.raw.decode()


SUMMARISERS: dict[str, Step] = {
    "good": say(GOOD),
    "dead": server_error(500),
    "slow": hang(),
    "long-winded": say("## Goal\n" + "blah " * 30_000),
    "silly": say("I am a teapot."),
}


@pytest.mark.soak(every=3)
@pytest.mark.parametrize("kind", SUMMARISERS)
async def test_many_long_turns_are_answered_whatever_the_summariser_does(tmp_path: Path, kind: str) -> None:
    def answer(request: ReceivedRequest) -> Step:
        return SUMMARISERS[kind] if is_summary(request) else say("noted " * 300)

    async with (
        ModelServer(answer, limits=ServerLimits(window=WINDOW)) as server,
        home(tmp_path, server, window=WINDOW) as app,
    ):
        session = await opened(app, tmp_path)
        for number in range(TURNS):
            closed = await turn(session, Text(f"message {number}: " + "tell me more about it " * 60))
            assert closed.ending == end.Answered()
        folds = [move for move in moves(session) if move.keep_from]
        assert folds
        assert all(move.tokens_after < move.tokens_before for move in folds)
        assert len(folds) <= 10
        asked = [request for request in server.requests if is_summary(request)]
        assert len(asked) <= 2 * len(folds)
        if kind == "good":
            assert {move.summariser for move in folds} == {"fake:m"}
            assert len(asked) == len(folds)


async def test_what_a_person_pinned_and_the_running_request_survive_word_for_word(tmp_path: Path) -> None:
    pinned = "Never touch the folder /srv/archive; it is the only copy."
    request_text = "Rename every report so that its date comes first, as YYYY-MM-DD."
    rounds = 400 if TIMES else 100

    def answer(request: ReceivedRequest) -> Step:
        if is_summary(request):
            return say(GOOD)
        done = sum(isinstance(entry.fact, e.ToolFinished) for entry in session.log.entries)
        if request_text not in request.raw.decode():
            return say("Hello.")
        return call("shell", {"command": f"seq {done} {done + 900}"}) if done < rounds else say("All renamed.")

    async with (
        ModelServer(answer, limits=ServerLimits(window=WINDOW)) as server,
        home(tmp_path, server, window=WINDOW) as app,
    ):
        session = await opened(app, tmp_path)
        await turn(session, Text("hello"))
        await session.record(e.Pinned(pinned, OWNER))
        closed = await turn(session, Text(request_text))
        assert closed.ending == end.Answered()
        folds = [move for move in moves(session) if move.keep_from]
        assert len(moves(session)) >= 3
        for request in server.requests[1:]:
            if not is_summary(request):
                said = [message.text for message in request.heard.messages if message.role == "user"]
                assert any(request_text in text for text in said)
                assert any(pinned in text for text in said)
        commands = [
            part.arguments
            for entry in session.log.entries
            if isinstance(entry.fact, e.ModelSaid)
            for part in entry.fact.parts
            if isinstance(part, ToolCall)
        ]
        assert len(commands) == len(set(commands)) == rounds
        assert all(move.summariser in ("", "fake:m") for move in folds)


async def test_no_model_is_called_where_shortening_suffices(tmp_path: Path) -> None:
    rounds = 40

    def answer(request: ReceivedRequest) -> Step:
        assert not is_summary(request)
        done = sum(isinstance(entry.fact, e.ToolFinished) for entry in session.log.entries)
        lines = f"yes the quick brown fox jumps | head -n 280; echo {done}"
        return call("shell", {"command": lines}) if done < rounds else say("Done.")

    async with (
        ModelServer(answer, limits=ServerLimits(window=68_000)) as server,
        home(tmp_path, server, window=68_000) as app,
    ):
        session = await opened(app, tmp_path)
        closed = await turn(session, Text("count"))
        assert closed.ending == end.Answered()
        assert moves(session)
        assert len(server.requests) == rounds + 1


async def test_one_message_larger_than_the_window_ends_aloud_and_the_next_is_answered(tmp_path: Path) -> None:
    async with (
        ModelServer(
            lambda request: say(GOOD) if is_summary(request) else say("ok"), limits=ServerLimits(window=WINDOW)
        ) as server,
        home(tmp_path, server, window=WINDOW) as app,
    ):
        session = await opened(app, tmp_path)
        closed = await turn(session, Text("word " * 60_000))
        assert isinstance(closed.ending, end.ContextFull)
        closed = await turn(session, Text("a short question"))
        assert closed.ending == end.Answered()


async def test_a_refusal_that_names_a_limit_is_learnt_for_this_conversation(tmp_path: Path) -> None:
    async with (
        ModelServer(
            lambda request: say(GOOD) if is_summary(request) else say("word " * 400), limits=ServerLimits(window=12_000)
        ) as server,
        home(tmp_path, server, window=200_000) as app,
    ):
        session = await opened(app, tmp_path)
        for number in range(25):
            closed = await turn(session, Text(f"{number} " + "more of it " * 120))
            assert closed.ending == end.Answered()
        refused = [x for x in session.log.entries if isinstance(x.fact, e.ModelFailed)]
        assert 1 <= len(refused) <= 2


async def test_a_day_without_messages_costs_nothing(tmp_path: Path) -> None:
    async with ModelServer(lambda _: say("ok")) as server, home(tmp_path, server) as app:
        session = await opened(app, tmp_path)
        await turn(session, Text("hello"))
        tomorrow = session.log.entries[-1].at + 86_400_000
        assert m.decide(session.turn, m.Rules(), m.Moment(tomorrow)) == m.Rest()
        assert len(server.requests) == 1
