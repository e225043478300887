"""Whoever asks while Angelia is being ended is answered: with what there is, or with why there is nothing."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, MutableMapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from angelia.core.principal import OWNER
from angelia.faces.web.api_keys import KeyScope, KeyTerms
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import RouteRequest, RouteResponse, StreamedResponse
from angelia.faces.web.asgi.routes import Route, Routes
from angelia.faces.web.asgi.server import LIMITS, WebServer
from angelia.faces.web.v1.refusals import openai_error
from angelia.faces.web.v1.turns import message_key
from angelia.store.media.durable import UNFINISHED
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import hang, say
from tests.web.visitor import opened, visiting

pytestmark = pytest.mark.anyio

CHAT = {"model": "angelia", "messages": [{"role": "user", "content": "How many eggs?"}]}
RESPONSE = {"model": "angelia", "input": "How many eggs?"}
PART = {"text": "How many eggs?"}
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "a completion": ("/v1/chat/completions", CHAT),
    "a streamed completion": ("/v1/chat/completions", {**CHAT, "stream": True}),
    "a response": ("/v1/responses", RESPONSE),
    "a streamed response": ("/v1/responses", {**RESPONSE, "stream": True}),
    "a message": ("/v1/messages", {**CHAT, "max_tokens": 100}),
    "a streamed message": ("/v1/messages", {**CHAT, "max_tokens": 100, "stream": True}),
    "a task": ("/a2a", {"method": "SendMessage"}),
    "a streamed task": ("/a2a", {"method": "SendStreamingMessage"}),
}
KEPT = "What is open goes on at the next start. The message is kept; `GET /v1/chat/completions/chatcmpl_"


def errors_in(folder: Path) -> list[str]:
    """Lines of the log that tell of a fault."""
    told = (folder / "home" / "angelia.log").read_text() if (folder / "home" / "angelia.log").exists() else ""
    return [line for line in told.splitlines() if " ERROR " in line or "Traceback" in line]


def call(asked: dict[str, Any], number: int) -> dict[str, Any]:
    if "method" not in asked:
        return asked
    message = {"messageId": f"eggs-{number}", "role": "ROLE_USER", "parts": [PART]}
    return {"jsonrpc": "2.0", "id": 1, **asked, "params": {"message": message}}


async def test_who_waits_for_an_answer_as_angelia_ends_is_told_that_it_is_kept(tmp_path: Path) -> None:
    async with (
        ModelServer(lambda _: hang()) as model,
        opened(tmp_path, model.base_url) as app,
        httpx2.AsyncClient(timeout=60, verify=False) as client,
    ):
        async with visiting(app) as page:
            key = await page.door.keys.add("ide", KeyScope.CHAT, KeyTerms())
            head = {"authorization": f"Bearer {key}", "a2a-version": "1.0"}
            waiting = [
                asyncio.create_task(client.post(page.address + path, json=call(asked, number), headers=head))
                for number, (path, asked) in enumerate(ASKED.values())
            ]
            await model.when(lambda server: len(server.requests) == len(ASKED))
        async with asyncio.timeout(60):
            answers = dict(zip(ASKED, await asyncio.gather(*waiting), strict=True))
        for name, came in answers.items():
            assert KEPT in came.text, name
            if "streamed" not in name and name != "a task":  # an answer of JSON-RPC has the status 200 in any case
                assert (came.status_code, came.headers["x-should-retry"]) == (503, "false"), name
        kept = await app.transcript.conversations(OWNER)
        assert len(await app.transcript.unfinished([one.id for one in kept])) == len(ASKED)
    assert errors_in(tmp_path) == []


@pytest.mark.parametrize("asked", [CHAT, {**CHAT, "stream": True}], ids=["whole", "streamed"])
async def test_the_answer_is_had_later_under_the_id_that_was_told(tmp_path: Path, asked: dict[str, Any]) -> None:
    """Whoever sent no `Idempotency-Key` has no other way to it."""
    async with ModelServer([hang(), say("Three.")]) as model, httpx2.AsyncClient(timeout=60, verify=False) as client:
        async with opened(tmp_path, model.base_url) as app, visiting(app) as page:
            key = await page.door.keys.add("ide", KeyScope.CHAT, KeyTerms())
            head = {"authorization": f"Bearer {key}"}
            waiting = asyncio.create_task(client.post(f"{page.address}/v1/chat/completions", json=asked, headers=head))
            await model.when(lambda server: len(server.requests) == 1)
        told = (await waiting).text
        path = told.partition("`GET ")[2].partition("`")[0]
        async with opened(tmp_path, model.base_url) as app, visiting(app) as page:
            came = (await client.get(page.address + path, headers=head)).json()
        assert came["choices"][0]["message"]["content"] == "Three."


async def test_who_is_cut_off_before_a_turn_is_theirs_is_told_the_key_that_counts_once(tmp_path: Path) -> None:
    async def handler(request: RouteRequest) -> RouteResponse:
        message_key(request)
        raise asyncio.CancelledError

    async with opened(tmp_path, "http://127.0.0.1:9/v1") as app, visiting(app) as page:
        key = await page.door.keys.add("ide", KeyScope.CHAT, KeyTerms())
        page.door.server.routes = Routes([Route("POST", "/v1/x", RouteGuard.CHAT_KEY, handler, openai_error)])
        head = {"authorization": f"Bearer {key}"}
        for more in ({}, {"idempotency-key": "mine"}):
            came = await page.client.post(f"{page.address}/v1/x", headers={**head, **more})
            told = came.json()["error"]["message"]
            assert re.search(
                rf"under the header `Idempotency-Key: {more.get('idempotency-key', '[0-9a-z]{26}')}`", told
            )


async def test_pages_that_look_on_as_angelia_ends_come_to_the_end_of_their_streams(tmp_path: Path) -> None:
    async with (
        ModelServer([hang()]) as model,
        opened(tmp_path, model.base_url) as app,
        httpx2.AsyncClient(timeout=60, verify=False) as client,
    ):
        looking, looks = list[asyncio.Task[str]](), asyncio.Semaphore(0)

        async def seen(path: str) -> str:
            found = ""
            async with client.stream("GET", path) as came:
                async for piece in came.aiter_text():
                    if not found:
                        looks.release()
                    found += piece
            return found

        async with visiting(app) as page:
            conversation = await page.begun()
            await page.says(conversation, "How many eggs?")
            client.cookies = page.client.cookies
            for path in ("/api/events", f"/api/conversations/{conversation}/events"):
                looking.append(asyncio.create_task(seen(page.address + path)))
                await looks.acquire()
        async with asyncio.timeout(60):
            _, told = await asyncio.gather(*looking)
        last = told.strip().split("\n\n")[-1]
        assert json.loads(last.partition("data: ")[2])["trouble"].startswith("Angelia was ended here.")
    assert errors_in(tmp_path) == []


async def test_what_does_not_arrive_before_the_end_is_refused_with_why(tmp_path: Path) -> None:
    async with opened(tmp_path, "http://127.0.0.1:9/v1") as app:
        async with visiting(app) as page:
            page.door.server.limits = replace(LIMITS, answered_s=0.01)
            (cookie,) = page.client.cookies.items()
            head = {**page.head, "host": page.address.removeprefix("http://"), "cookie": "=".join(cookie)}
            lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
            reader, writer = await asyncio.open_connection("127.0.0.1", int(page.address.rpartition(":")[2]))
            writer.write(f"POST /api/uploads?name=a.txt HTTP/1.1\r\n{lines}content-length: 9\r\n\r\nsome".encode())
            while not arriving(tmp_path):  # noqa: ASYNC110 - a file tells
                await asyncio.sleep(0)
        async with asyncio.timeout(60):
            came = await reader.read()
        writer.close()
    assert came.startswith(b"HTTP/1.1 503 ")
    assert b"Angelia was ended before this was answered." in came
    assert errors_in(tmp_path) == []
    assert not arriving(tmp_path)


def arriving(folder: Path) -> list[Path]:
    """Files that are being stored."""
    return [*(folder / "home" / "blobs").rglob(f"{UNFINISHED}*")]


async def test_a_fault_in_the_middle_of_an_answer_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def pieces() -> AsyncGenerator[bytes, None]:
        yield b"some"
        raise OSError("the disk is gone")

    async def answer(_: RouteRequest) -> StreamedResponse:
        return StreamedResponse(pieces(), "text/plain")

    sent = list[MutableMapping[str, Any]]()

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    own = "http://localhost:1"
    server = WebServer(Routes([Route("GET", "/x", RouteGuard.NONE, answer)]), None, None, lambda: {own})  # type: ignore[arg-type]
    headers = [(b"host", b"localhost:1")]
    scope = {"type": "http", "method": "GET", "path": "/x", "query_string": b"", "headers": headers}
    await server(scope | {"scheme": "http", "client": ("127.0.0.1", 1)}, receive, send)
    assert [one.get("body") for one in sent] == [None, b"some"], "it ends short"
    assert "the disk is gone" in caplog.text
