"""The scripted server misbehaves on command, and refuses what a provider would refuse."""

from typing import Any

import httpx2
import pytest

from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import CutUnit, How, call, cut_after, garbage, say
from tests.testing.requests_by_hand import PATHS, asked, post

pytestmark = pytest.mark.anyio

CUTS = [How.RESET, How.CLOSE]


@pytest.mark.parametrize("wire", PATHS)
@pytest.mark.parametrize("how", CUTS)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_cut_reply_breaks_the_body(wire: str, how: How, *, stream: bool) -> None:
    step = cut_after(say("one two three four"), 2, how=how)
    async with ModelServer([step]) as server, httpx2.AsyncClient() as client:
        with pytest.raises(httpx2.TransportError):
            await post(client, server, wire, asked(wire, stream=stream))


@pytest.mark.parametrize("wire", PATHS)
@pytest.mark.parametrize("how", [How.END, How.ERROR])
async def test_a_reply_can_end_without_its_finish_event(wire: str, how: How) -> None:
    finishes = ("[DONE]", '"finish_reason":"stop"', "message_stop", "response.completed")
    steps = [cut_after(say("one two three four"), after, how=how) for after in (2, 99)]
    async with ModelServer(steps) as server, httpx2.AsyncClient() as client:
        early, late = [(await post(client, server, wire, asked(wire, stream=True))).text for _ in steps]
    assert "two" in early
    assert "three" not in early
    assert "four" in late
    assert not [finish for finish in finishes if finish in early + late]
    assert ("error" in early.lower().replace('"error":null', "")) == (how is How.ERROR)


@pytest.mark.parametrize("wire", PATHS)
async def test_a_reply_can_be_cut_at_every_byte(wire: str) -> None:
    reply = say("one") + call("shell", {"command": "true"})
    async with ModelServer(lambda request: reply) as server, httpx2.AsyncClient() as client:
        whole = (await post(client, server, wire, asked(wire, stream=True))).content.replace(b"x1", b"")
    steps = [cut_after(reply, at, unit=CutUnit.BYTES, how=How.END) for at in range(0, len(whole), 97)]
    async with ModelServer(steps) as server, httpx2.AsyncClient() as client:
        sizes = [len((await post(client, server, wire, asked(wire, stream=True))).content) for _ in steps]
    assert sizes == list(range(0, len(whole), 97))


@pytest.mark.parametrize("wire", PATHS)
async def test_silence_lasts_until_the_client_leaves_and_the_server_notices(wire: str) -> None:
    step = cut_after(say("one two three"), 1, how=How.SILENCE)
    async with ModelServer([step]) as server:
        async with (
            httpx2.AsyncClient() as client,
            client.stream("POST", server.url + PATHS[wire], json=asked(wire, stream=True)) as response,
        ):
            arrived = ""
            async for text in response.aiter_text():
                arrived += text
                if "one" in arrived:
                    break
            assert server.open_connections == 1
        await server.when(lambda s: s.open_connections == 0)
    assert "two" not in arrived


BROKEN: dict[str, dict[str, Any]] = {
    "chat": {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "a", "type": "function", "function": {"name": "x", "arguments": "{}"}}],
            },
            {"role": "user", "content": "go on"},
        ],
    },
    "responses": {
        "model": "m",
        "input": [
            {"type": "function_call", "call_id": "a", "name": "x", "arguments": "{}"},
            {"role": "user", "content": "go on"},
        ],
    },
    "anthropic": {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "forged"}]},
            {"role": "user", "content": "go on"},
        ],
    },
}


@pytest.mark.parametrize("wire", PATHS)
async def test_an_illegal_history_is_refused_and_fails_the_test_that_sent_it(wire: str) -> None:
    server = await ModelServer([say("never")]).__aenter__()
    async with httpx2.AsyncClient() as client:
        response = await post(client, server, wire, BROKEN[wire])
    assert response.status_code == 400
    assert server.script.left == 1
    with pytest.raises(AssertionError, match=r"no result|signature"):
        await server.__aexit__(None, None, None)


async def test_a_request_beyond_the_script_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="one more request came"):
        async with ModelServer([say("only this")]) as server, httpx2.AsyncClient() as client:
            assert [(await post(client, server, "chat", asked("chat"))).status_code for _ in range(2)] == [200, 400]


async def test_garbage_comes_with_status_200() -> None:
    async with ModelServer([garbage()]) as server, httpx2.AsyncClient() as client:
        response = await post(client, server, "chat", asked("chat", stream=True))
    assert response.status_code == 200
    assert "captive portal" in response.text
