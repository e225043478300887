"""Over a real socket: every way in which a connection can fail has its name, and a good one is used again."""

import asyncio
import json
from contextlib import aclosing

import pytest

from angelia.context.request import ModelRequest
from angelia.core.content import Text, ToolCall
from angelia.core.entry import StopReason
from angelia.core.errors import ModelError
from angelia.core.failure import Failure, FailureKind
from angelia.http.client import open_server
from angelia.http.server import HttpServer
from angelia.models.context import ProviderContext, WireTimeouts
from angelia.models.port import Piece, Reply, TextDelta
from angelia.models.registry import open_provider
from angelia.models.wires.wire import HttpProviderSession
from tests.models.loopback import STREAM, Answer, Peer, Server, chunked, says, streams
from tests.models.shapes import KEY, MODELS, WIRES, always, open_media, request, user
from tests.models.test_streams import CASES, recorded

pytestmark = pytest.mark.anyio

BEGIN = b'data: {"choices":[{"index":0,"delta":{"content":"Half an"}}]}\n\n'
END = b'data: {"choices":[{"index":0,"delta":{"content":" answer."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
HELLO = request(user(1, Text("Hello")))
PATIENT = WireTimeouts(60.0, 60.0, 60.0)
"""Of a busy machine, too; only a test in which a server falls silent waits for less."""


def session(http: HttpServer, timeouts: WireTimeouts = PATIENT, name: str = "openai-chat") -> HttpProviderSession:
    opened = open_provider(MODELS[name], ProviderContext(open_media, always(http), timeouts)).session()
    assert isinstance(opened, HttpProviderSession)
    return opened


async def ask(http: HttpServer, asked: ModelRequest = HELLO, timeouts: WireTimeouts = PATIENT) -> Reply:
    pieces = [piece async for piece in session(http, timeouts).ask(asked, KEY)]
    assert sum(isinstance(piece, Reply) for piece in pieces) == 1
    assert isinstance(pieces[-1], Reply)
    return pieces[-1]


async def fails(http: HttpServer, timeouts: WireTimeouts = PATIENT) -> tuple[Failure, tuple[object, ...]]:
    heard: list[Piece] = []

    async def listen() -> None:
        async for piece in session(http, timeouts).ask(HELLO, KEY):
            heard.append(piece)  # noqa: PERF401 - what came before the failure counts

    with pytest.raises(ModelError) as failed:
        await listen()
    assert not any(isinstance(piece, Reply) for piece in heard)
    said = "".join(piece.text for piece in heard if isinstance(piece, TextDelta))
    assert "".join(part.text for part in failed.value.partial if isinstance(part, Text)) == said
    return failed.value.failure, failed.value.partial


async def test_a_reply_comes_whole_and_one_connection_serves_two_hundred_requests(
    server: Server, http: HttpServer
) -> None:
    server.answers = [streams(BEGIN, END)]
    for _ in range(200):
        assert (await ask(http)).parts == (Text("Half an answer."),)
    assert len(server.requests) == 200
    assert server.connections == 1


async def test_a_server_that_holds_the_stream_open_after_its_end_does_not_hold_the_reply(
    server: Server, http: HttpServer
) -> None:
    async def holding(peer: Peer) -> None:
        await peer.send(STREAM, chunked(BEGIN, END, end=False))
        await server.over.wait()

    server.answers = [holding]
    assert (await ask(http)).stop is StopReason.END


async def test_the_request_says_who_asks_and_what_for(server: Server, http: HttpServer) -> None:
    server.answers = [streams(BEGIN, END)]
    await ask(http)
    head = server.requests[0].head.lower()
    assert head.startswith(b"post /v1/chat/completions ")
    assert b"authorization: bearer sk-very-secret" in head
    assert b"content-type: application/json" in head
    assert json.loads(server.requests[0].body)["messages"][1] == {"role": "user", "content": "Hello"}


def cut_by_reset() -> Answer:
    async def answer(peer: Peer) -> None:
        await peer.send(STREAM, chunked(BEGIN, end=False))
        peer.reset()

    return answer


def cut_clean(stream: bytes = STREAM, body: bytes = chunked(BEGIN, end=False)) -> Answer:
    async def answer(peer: Peer) -> None:
        await peer.send(stream, body)
        peer.writer.close()

    return answer


OPEN_END = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
CUTS = {
    "a reset": cut_by_reset(),
    "a body that stops between chunks": cut_clean(),
    "a body without a length that just ends": cut_clean(OPEN_END, BEGIN),
    "a stream that ends cleanly without its finish event": streams(BEGIN),
    "an end that stops in the middle": streams(BEGIN, END[:60]),
    "[DONE] without a finish reason": streams(BEGIN, b"data: [DONE]\n\n"),
}


@pytest.mark.parametrize("cut", CUTS)
async def test_a_cut_reply_is_never_a_reply(cut: str, server: Server, http: HttpServer) -> None:
    server.answers = [CUTS[cut]]
    failure, partial = await fails(http)
    assert failure.kind is FailureKind.STREAM_CUT
    assert partial == (Text("Half an"),) or cut == "a reset"  # a reset may swallow what was on its way


async def test_silence_in_the_middle_is_a_cut_and_silence_before_it_is_not(server: Server, http: HttpServer) -> None:
    async def falls_silent(peer: Peer) -> None:
        await peer.send(STREAM, chunked(BEGIN, end=False))
        await server.over.wait()

    async def only_headers(peer: Peer) -> None:
        await peer.send(STREAM)
        await server.over.wait()

    async def says_nothing(peer: Peer) -> None:
        await server.over.wait()

    server.answers = [falls_silent, only_headers, says_nothing]
    failure, partial = await fails(http, WireTimeouts(60.0, 60.0, silence=0.3))
    assert (failure.kind, partial) == (FailureKind.STREAM_CUT, (Text("Half an"),))
    for _ in range(2):
        failure, partial = await fails(http, WireTimeouts(60.0, first_byte=0.3, silence=0.3))
        assert (failure.kind, partial) == (FailureKind.UNREACHABLE, ())


async def test_a_stream_that_stalls_behind_its_head_obeys_the_silence(server: Server, http: HttpServer) -> None:
    async def only_headers(peer: Peer) -> None:
        await peer.send(STREAM)
        await server.over.wait()

    server.answers = [only_headers]
    failure, _ = await fails(http, WireTimeouts(60.0, 3600.0, 0.2))
    assert failure.said == "The server fell silent: 0.2 s of silence."


async def test_a_slow_reply_is_progress(server: Server, http: HttpServer) -> None:
    """More bytes come than would fit into one silence, each in time: signs of life count, even comments."""
    said = asyncio.Event()

    async def answer(peer: Peer) -> None:
        await peer.send(STREAM)
        for comment in range(5):
            await peer.send(chunked(b": still here %d\n\n" % comment, end=False))
        await peer.send(chunked(BEGIN, end=False))
        await said.wait()
        await peer.send(chunked(END))

    server.answers = [answer]
    pieces: list[Piece] = []
    async for piece in session(http, WireTimeouts(60.0, 2.0, 2.0)).ask(HELLO, KEY):
        pieces.append(piece)
        said.set()
    assert isinstance(pieces[-1], Reply)


async def test_a_server_that_is_not_there_is_unreachable(server: Server) -> None:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    listening.close()
    await listening.wait_closed()
    async with aclosing(await open_server(f"http://127.0.0.1:{port}/v1", {})) as nobody:
        failure, _ = await fails(nobody)
    assert failure.kind is FailureKind.UNREACHABLE
    assert "127.0.0.1" in failure.said


async def test_a_connection_that_closes_without_an_answer_is_unreachable(server: Server, http: HttpServer) -> None:
    async def hangs_up(peer: Peer) -> None:
        peer.writer.close()

    server.answers = [hangs_up]
    assert (await fails(http))[0].kind is FailureKind.UNREACHABLE


async def test_errors_before_the_stream_have_their_names(server: Server, http: HttpServer) -> None:
    busy = b'{"error":{"message":"Slow down, sk-very-secret!","code":"rate_limit_exceeded"}}'
    server.answers = [
        says("429 Too Many Requests", busy, b"retry-after-ms: 1500"),
        says("413 Payload Too Large", b"<html>", kind=b"text/html"),
        says("401 Unauthorized", b'{"error":{"message":"Incorrect API key provided"}}'),
    ]
    failure, _ = await fails(http)
    assert failure == Failure(FailureKind.BUSY, "Slow down, [redacted]!", 429, 1500)
    assert (await fails(http))[0].kind is FailureKind.BODY_TOO_LARGE
    assert (await fails(http))[0].kind is FailureKind.LOGIN_REJECTED
    assert server.connections == 1


async def test_an_error_inside_a_stream_is_understood_and_keeps_what_had_come(server: Server, http: HttpServer) -> None:
    overloaded = b'data: {"error":{"message":"The model is overloaded.","code":503}}\n\n'
    nameless = b'data: {"error":{"message":"Something broke."}}\n\n'
    server.answers = [streams(BEGIN, overloaded), streams(BEGIN, nameless), streams(nameless)]
    assert await fails(http) == (Failure(FailureKind.BUSY, "The model is overloaded.", 503), (Text("Half an"),))
    assert (await fails(http))[0].kind is FailureKind.STREAM_CUT
    assert (await fails(http))[0].kind is FailureKind.UNREACHABLE


async def test_plain_json_in_place_of_a_stream_is_a_reply(server: Server, http: HttpServer) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "shell", "arguments": "{}"}}
    message = {"role": "assistant", "content": "Hi", "tool_calls": [call]}
    whole = {
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3},
    }
    server.answers = [
        says("200 OK", json.dumps(whole).encode()),
        says("200 OK", b'{"error":{"message":"prompt is too long"}}'),
        says("200 OK", json.dumps(whole).encode()[:50]),
    ]
    reply = await ask(http)
    assert [type(part) for part in reply.parts] == [Text, ToolCall]
    assert (reply.stop, reply.usage.input) == (StopReason.TOOL_CALLS, 3)
    assert (await fails(http))[0].kind is FailureKind.CONTEXT_TOO_LONG
    assert (await fails(http))[0].kind is FailureKind.STREAM_CUT


SAID = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
WHOLE = {
    "openai-responses": {"status": "completed", "output": [SAID]},
    "anthropic": {"type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"},
    "openai-chat": {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]},
}


@pytest.mark.parametrize("name", WIRES)
async def test_every_wire_takes_a_whole_body_and_a_stream(name: str, server: Server, http: HttpServer) -> None:
    stream = {"openai-chat": "chat_calls", "openai-responses": "responses_tools"}.get(name, "anthropic_thinking")
    server.answers = [says("200 OK", json.dumps(WHOLE[name]).encode()), streams(recorded(stream))]
    spoken = session(http, name=name)
    asked = request(user(1, Text("Hello")), model=MODELS[name])
    first = [piece async for piece in spoken.ask(asked, KEY)][-1]
    second = [piece async for piece in spoken.ask(asked, KEY)][-1]
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert [part.text for part in first.parts if isinstance(part, Text)] == ["Hi"]
    assert second.stop is CASES[stream].stop
    paths = {"openai-chat": b"/v1/chat/completions", "openai-responses": b"/v1/responses"}
    assert server.requests[0].head.split(b" ")[1] == paths.get(name, b"/v1/v1/messages")


async def test_closing_the_iterator_hangs_up(server: Server, http: HttpServer) -> None:
    gone = asyncio.Event()

    async def talks_on(peer: Peer) -> None:
        await peer.send(STREAM, chunked(BEGIN, end=False))
        while not peer.writer.is_closing():
            await peer.send(chunked(b": on and on\n\n" * 1000, end=False))
            await asyncio.sleep(0)
        gone.set()

    async def watched(peer: Peer) -> None:
        try:
            await talks_on(peer)
        except ConnectionError:
            gone.set()

    server.answers = [watched]
    async with aclosing(session(http).ask(HELLO, KEY)) as pieces:
        assert await anext(pieces) == TextDelta("Half an")
    await asyncio.wait_for(gone.wait(), 60)
