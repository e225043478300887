"""An answer whose events are numbered goes on where its stream was cut, however often, and is given up in the end."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from angelia.tools.mcp import answer_size, kept_stream, reopening
from angelia.tools.mcp.failures import AnswerLost
from angelia.tools.mcp.server import Site, given
from tests.mcp.asking_server import at_a_site
from tests.mcp.reached import only, reached
from tests.mcp.test_site_answers import Press, said

pytestmark = pytest.mark.anyio

MANY = 1_100
"""Cuts of one answer: more than the library can go on from."""


@pytest.fixture(autouse=True)
async def in_time(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Nothing here waits for ever, and for no pause of ours long."""
    monkeypatch.setattr(reopening, "PAUSES", (0.001,))
    monkeypatch.setattr(kept_stream, "SOONEST_S", 0.001)
    async with asyncio.timeout(120):
        yield


Body = Callable[[int, Any], bytes]
"""What is sent the nth time, for a request of this id, before the stream ends."""


class Cutting:
    """Stands before a site, and answers calls by streams that end; `asked` is from where on each was asked for."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._app: Any = None
        self._call: Any = None
        self.asked: list[str] = []

    def app(self, app: Any) -> Any:
        """The site behind it."""
        self._app = app
        return self

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        message = await receive() if scope.get("method") == "POST" else {}
        last = dict(scope.get("headers", ())).get(b"last-event-id", b"").decode()
        called = b'"tools/call"' in message.get("body", b"")
        if called:
            self._call = json.loads(message["body"])["id"]
        if called or last.startswith("c"):
            await self._answer(last, send)
            return
        first = iter([message] if message else [])

        async def again() -> Any:
            return next(first, None) or await receive()

        await self._app(scope, again, send)

    async def _answer(self, last: str, send: Any) -> None:
        self.asked.append(last)
        body = self._body(len(self.asked), self._call)
        head = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200 if body else 503, "headers": head})
        await send({"type": "http.response.body", "body": body})


def event(number: int, data: str = "") -> bytes:
    """A numbered event of a site that wants to be asked again soon."""
    return f"id: c{number}\nretry: 1\ndata: {data}\n\n".encode()


def answer(call: Any, text: str = "printed") -> str:
    """A result."""
    return json.dumps({"jsonrpc": "2.0", "id": call, "result": {"content": [{"type": "text", "text": text}]}})


@pytest.mark.soak
async def test_an_answer_that_is_cut_a_thousand_times_comes(tmp_path: Path) -> None:
    cutting = Cutting(lambda n, call: event(n, answer(call) if n > MANY else ""))
    async with (
        at_a_site(Press().server, "old", cutting.app) as url,
        reached(tmp_path, Site(url, given({}))) as (servers, _),
    ):
        assert await said(only(servers), "cut") == "printed"
    assert cutting.asked == ["", *(f"c{number}" for number in range(1, MANY + 1))]


async def test_an_answer_is_waited_for_while_a_site_is_away_for_some_tries(tmp_path: Path) -> None:
    cutting = Cutting(lambda n, call: event(n, answer(call) if n > 5 else "") if n in (1, 6) else b"")
    async with (
        at_a_site(Press().server, "old", cutting.app) as url,
        reached(tmp_path, Site(url, given({}))) as (servers, _),
    ):
        assert await said(only(servers), "cut") == "printed"
    assert cutting.asked == ["", *["c1"] * 5]


async def test_an_answer_that_never_goes_on_is_lost(tmp_path: Path) -> None:
    cutting = Cutting(lambda n, _: event(n) if n == 1 else b"")
    async with (
        at_a_site(Press().server, "old", cutting.app) as url,
        reached(tmp_path, Site(url, given({}))) as (servers, _),
    ):
        with pytest.raises(AnswerLost):
            await said(only(servers), "cut")
    assert len(cutting.asked) > kept_stream.MOST_TRIES


async def test_an_answer_that_is_too_large_is_not_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_size, "MOST_ANSWER", 10_000)
    cutting = Cutting(lambda n, call: event(1) + event(2, answer(call, "x" * 20_000)))
    async with (
        at_a_site(Press().server, "old", cutting.app) as url,
        reached(tmp_path, Site(url, given({}))) as (servers, _),
    ):
        with pytest.raises(AnswerLost, match="byte limit"):
            await said(only(servers), "cut")
    assert cutting.asked == [""]
