"""A site of before 2026-07-28 has its own stream to us before it is asked anything, and is used without it, too."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from angelia.tools.mcp import standalone_stream
from angelia.tools.mcp.server import Site, given
from angelia.tools.mcp.servers import trouble
from tests.mcp.asking_server import Asking, at_a_site
from tests.mcp.reached import only, reached
from tests.mcp.test_elicitation import Person

pytestmark = pytest.mark.anyio

HANDSHAKE = 3
"""Requests: discover, which is refused, initialize, and that it is initialized."""

TURNS = 2_000
"""Of the event loop, which is that of both sides: a request that is not waited with comes within some ten, since there
is a connection for it.
"""


class SlowStream:
    """Stands before a site whose answer to the GET is held back; `seen` is what came and was answered, in order."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.seen: list[str] = []
        self._shaken, self._answers = asyncio.Event(), 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def answered(message: Any) -> None:
            if scope["method"] == "GET" and message["type"] == "http.response.start":
                await self._shaken.wait()
                for _ in range(TURNS):
                    await asyncio.sleep(0)
                self.seen.append("GET answered")
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                self._answers += 1
                if self._answers == HANDSHAKE:
                    self._shaken.set()

        if scope["type"] == "http":
            self.seen.append(scope["method"])
            await self._app(scope, receive, answered)
        else:
            await self._app(scope, receive, send)


class NoStream:
    """Stands before a site, and answers a GET with a status, or with nothing at all."""

    def __init__(self, app: Any, status: int) -> None:
        self._app, self._status = app, status

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope.get("method") != "GET":
            await self._app(scope, receive, send)
        elif self._status:
            head = [(b"content-length", b"0")]
            await send({"type": "http.response.start", "status": self._status, "headers": head})
            await send({"type": "http.response.body"})
        else:
            while (await receive())["type"] != "http.disconnect":
                pass


async def test_a_site_is_asked_nothing_before_its_stream_stands(tmp_path: Path) -> None:
    slow: list[SlowStream] = []

    def before(app: Any) -> SlowStream:
        slow.append(SlowStream(app))
        return slow[0]

    person = Person("")
    async with (
        at_a_site(Asking().server, "old", before) as url,
        reached(tmp_path, Site(url, given({}))) as (servers, _),
    ):
        await only(servers).call("pay", {}, lambda _: None, person.reached)
    assert len(person.asked) == 1
    seen = slow[0].seen
    assert seen[: seen.index("GET answered")].count("POST") == HANDSHAKE


@pytest.mark.parametrize("status", [405, 500, 0])
async def test_a_site_without_such_a_stream_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    if not status:
        monkeypatch.setattr(standalone_stream, "ANSWERED_S", 0.05)
    person = Person("")
    async with (
        at_a_site(Asking().server, "old", lambda app: NoStream(app, status)) as url,
        reached(tmp_path, Site(url, given({}))) as (servers, _),
    ):
        assert not trouble(only(servers))
        await only(servers).call("pay", {}, lambda _: None, person.reached)
    assert len(person.asked) == 1
