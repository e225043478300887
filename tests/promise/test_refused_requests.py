"""What a refusal names is left out once, the same bytes are never sent again, and no repair is told that was none."""

import asyncio
from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.failure import FailureKind
from angelia.core.sentences import sentence
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Fail, Step, call, garbage, say, too_large, too_long
from tests.long.test_summaries import is_summary
from tests.promise.inside import conversation
from tests.promise.lives import WIRES, Place

pytestmark = pytest.mark.anyio

EFFORT = ("effort=low",)


def refused(said: str, status: int = 400) -> Fail:
    """A refusal in these words."""
    return Fail(FailureKind.HISTORY_REFUSED, status=status, said=said)


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("wire", WIRES)
async def test_one_message_that_is_refused_is_sent_once_and_no_repair_is_told(
    tmp_path: Path, wire: str, status: int
) -> None:
    async with (
        ModelServer(lambda _: refused("Something is wrong here.", status)) as server,
        conversation(Place(tmp_path, server, wire=wire)) as chat,
    ):
        await chat.say("Hello.")
        ending = await chat.ending()
        assert ending == end.HistoryRefused(f"{wire}:m", "Something is wrong here.")
        assert "sent once" in sentence(ending)
        assert len(server.requests) == 1
        assert chat.facts(e.RemedyUsed) == []


@pytest.mark.soak(every=3)
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("step", [refused("No."), too_long(), too_large()], ids=["refused", "too long", "too large"])
async def test_whatever_is_refused_no_bytes_are_sent_twice(tmp_path: Path, wire: str, step: Step) -> None:
    worked = [call("write", {"path": f"{n}.txt", "content": "x" * 3_000}) for n in range(6)]

    def answer(request: ReceivedRequest) -> Step:
        at = len(server.requests) - 1
        return worked[at] if at < len(worked) else step

    async with ModelServer(answer) as server, conversation(Place(tmp_path, server, wire=wire)) as chat:
        await chat.say("Write six files.")
        await chat.ending()
        await chat.say("And now?")
        await chat.ending()
        bodies = [request.raw for request in server.requests if not is_summary(request)]
        assert len(bodies) > len(worked) + 1
        assert len(set(bodies)) == len(bodies)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_parameter_that_is_refused_is_left_out_and_not_sent_again(tmp_path: Path, wire: str) -> None:
    name = {"openai-chat": "reasoning_effort", "openai-responses": "reasoning", "anthropic": "thinking"}[wire]

    def answer(request: ReceivedRequest) -> Step:
        return refused(f"Unsupported parameter: '{name}' is not supported.") if name in request.body else say("Hello.")

    async with ModelServer(answer) as server, conversation(Place(tmp_path, server, wire=wire, sets=EFFORT)) as chat:
        for number in range(3):
            await chat.say(f"Hello {number}.")
            assert await chat.ending() == end.Answered()
        assert [name in request.body for request in server.requests] == [True, False, False, False]
        assert [(used.remedy, used.detail) for used in chat.facts(e.RemedyUsed)] == [("leave_out", name)]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_tool_that_is_refused_is_left_out_and_the_model_is_told(tmp_path: Path, wire: str) -> None:
    def answer(request: ReceivedRequest) -> Step:
        if '"look_again"' in request.raw.decode():
            return refused("Invalid schema for function 'look_again': array schema missing items.")
        return say("Hello.")

    async with ModelServer(answer) as server, conversation(Place(tmp_path, server, wire=wire)) as chat:
        await chat.say("Hello.")
        assert await chat.ending() == end.Answered()
        assert len(server.requests) == 2
        assert "There is no tool look_again any more" in server.requests[1].raw.decode()


async def test_calls_that_were_wrong_are_counted(tmp_path: Path) -> None:
    wrong = call("nonesuch")
    async with ModelServer(lambda _: wrong) as server, conversation(Place(tmp_path, server)) as chat:
        await chat.say("Go.")
        ending = await chat.ending()
        assert isinstance(ending, end.ToolConfusion)
        assert ending.tries == len(server.requests) == 4
        assert "4 times in this turn" in sentence(ending)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_web_page_in_the_place_of_an_answer_is_told_at_once_as_what_it_is(tmp_path: Path, wire: str) -> None:
    page = garbage("<html><title>Welcome to the hotel</title></html>")
    async with ModelServer(lambda _: page) as server, conversation(Place(tmp_path, server, wire=wire)) as chat:
        await chat.say("Hello.")
        ending = await chat.ending()
        assert isinstance(ending, end.WrongAddress)
        assert "“Welcome to the hotel”" in sentence(ending)
        assert len(server.requests) == 1


@pytest.mark.parametrize("status", [404, 405])
async def test_an_address_without_a_model_server_is_no_unknown_model(tmp_path: Path, status: int) -> None:
    async with ModelServer(lambda _: refused("Not Found", status)) as server:
        place = Place(tmp_path, server)
        async with conversation(place) as chat:
            await chat.say("Hello.")
            ending = await chat.ending()
            assert isinstance(ending, end.WrongAddress)
            assert f"There is no model server at {server.base_url}/chat/completions." in sentence(ending)
            assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"OPENAI_BASE_URL": "https://127.0.0.1:{plain}/v1"}, "It does not speak TLS"),
        ({"OPENAI_BASE_URL": "http://example.invalid/v1", "HTTP_PROXY": "http://[::broken"}, "proxy"),
    ],
    ids=["https to an http port", "a proxy that is none"],
)
async def test_an_address_that_cannot_be_right_is_told_at_once(
    tmp_path: Path, variables: dict[str, str], said: str
) -> None:
    async def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    listening = await asyncio.start_server(plain, "127.0.0.1", 0)
    async with listening, ModelServer(lambda _: say("Hello.")) as server:
        names = {"plain": listening.sockets[0].getsockname()[1]}
        place = Place(tmp_path, server)
        place.env |= {name: value.format(**names) for name, value in variables.items()}
        async with conversation(place) as chat:
            await chat.say("Hello.")
            ending = await chat.ending()
            assert isinstance(ending, end.WrongAddress)
            assert said.format(**names) in sentence(ending)
            assert [fact.attempt for fact in chat.facts(e.ModelAsked)] == [1]
