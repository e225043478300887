"""A history that a provider refuses heals within one message, and says what it left out; the log stays whole."""

from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import CallStatus, ProviderBlock, Text, Thinking, ToolCall
from angelia.core.ids import call_id
from angelia.testing.model.pictures import one_colour
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, history_refused, refuse_media, say, think
from tests.long.home import home, moves, opened, turn

pytestmark = pytest.mark.anyio


async def test_a_refused_signature_is_left_out_and_the_message_is_answered(tmp_path: Path) -> None:
    def answer(request: ReceivedRequest) -> Step:
        if len(request.heard.messages) == 1:
            return think("secret thoughts") + say("first")
        return history_refused("signature") if b'"signature"' in request.raw else say("second")

    async with ModelServer(answer) as server, home(tmp_path, server, "anthropic") as app:
        session = await opened(app, tmp_path)
        await turn(session, Text("one"))
        closed = await turn(session, Text("two"))
        assert closed.ending == end.Answered()
        assert [move.reason for move in moves(session)] == ["leave out provider blocks"]
        replies = [x.fact for x in session.log.entries if isinstance(x.fact, e.ModelSaid)]
        kept = [part for part in replies[0].parts if isinstance(part, Thinking | ProviderBlock)]
        assert kept
        assert (await turn(session, Text("three"))).ending == end.Answered()
        assert len(server.requests) == 4


async def test_a_shape_that_is_refused_even_plain_is_told_as_text(tmp_path: Path) -> None:
    def answer(request: ReceivedRequest) -> Step:
        return history_refused("pair") if any(m.calls or m.results for m in request.heard.messages) else say("fine")

    async with ModelServer(answer) as server, home(tmp_path, server) as app:
        session = await opened(app, tmp_path)
        await turn(session, Text("hello"))
        asked = await session.log.append(e.ModelAsked("fake:m", 1))
        call = ToolCall(call_id(asked[0].seq, 0), "shell", "{}")
        await session.log.append(e.ModelSaid("fake:m", (call,), e.StopReason.TOOL_CALLS))
        await session.log.append(e.ToolFinished(call.id, CallStatus.OK, (Text("out"),)))
        closed = await turn(session, Text("go on"))
        assert closed.ending == end.Answered()
        assert [move.reason for move in moves(session)] == ["leave out provider blocks", "tell calls as text"]


async def test_a_call_without_a_result_and_an_empty_call_list_do_not_wedge(tmp_path: Path) -> None:
    async with ModelServer(lambda _: say("fine")) as server, home(tmp_path, server) as app:
        session = await opened(app, tmp_path)
        await turn(session, Text("hello"))
        asked = await session.log.append(e.ModelAsked("fake:m", 1))
        lost = ToolCall(call_id(asked[0].seq, 0), "shell", "{}")
        await session.log.append(e.ModelSaid("fake:m", (lost,), e.StopReason.TOOL_CALLS))
        await session.log.append(e.TurnClosed(end.Faulted("test")))
        await session.log.append(e.ModelSaid("fake:m", (), e.StopReason.TOOL_CALLS))
        await session.log.append(e.TurnClosed(end.Faulted("test")))
        assert (await turn(session, Text("go on"))).ending == end.Answered()
        assert len(server.requests) == 2


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic"])
async def test_a_picture_that_no_form_helps_ends_aloud_and_the_next_message_is_answered(
    tmp_path: Path, wire: str
) -> None:
    def answer(request: ReceivedRequest) -> Step:
        return refuse_media() if request.heard.media else say("fine")

    async with ModelServer(answer) as server, home(tmp_path, server, wire, images="unknown") as app:
        session = await opened(app, tmp_path)
        picture = await app.intake.to_media(one_colour("red"), "red.png")
        closed = await turn(session, Text("what colour?"), picture)
        assert isinstance(closed.ending, end.ModelRefusedMedia)
        assert (await turn(session, Text("never mind"))).ending == end.Answered()
        again = await app.intake.to_media(one_colour("blue"), "blue.png")
        before = len(server.requests)
        assert (await turn(session, Text("and this?"), again)).ending == end.Answered()
        assert len(server.requests) == before + 1
