"""A site of the older HTTP+SSE transport that refuses a message: who waits for the answer hears so at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from angelia.tools.mcp.connection import McpConnection
from angelia.tools.mcp.failures import ServerLost, ServerRefused
from angelia.tools.mcp.server import Site, given
from angelia.tools.mcp.servers import trouble
from tests.mcp.asking_server import served
from tests.mcp.reached import only, reached

pytestmark = pytest.mark.anyio

PROMPTLY_S = 30.0
"""How long one of these waits before it counts as silence; a call may be silent for four times as long."""


class Porter:
    """Stands before a site and refuses messages in which `word` stands, `times` times. Where the status is negative it
    hangs up before it said why; a redirect leads elsewhere, or without words back to the same place. `streams` counts
    how often it was connected to.
    """

    def __init__(self, app: Any, word: bytes, status: int, said: str, times: int = 1) -> None:
        self._app, self._word = app, word
        self._status, self._said, self._times = status, said.encode(), times
        self.streams = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.streams += scope.get("method") == "GET"
        if scope.get("method") != "POST" or not self._times:
            await self._app(scope, receive, send)
            return
        message = await receive()
        if self._word not in message["body"]:
            given_back = iter([message])

            async def again() -> Any:
                return next(given_back, None) or await receive()

            await self._app(scope, again, send)
            return
        self._times -= 1
        back = scope["raw_path"] + b"?" + scope["query_string"]
        head = [
            (b"content-length", str(len(self._said)).encode()),
            (b"location", b"http://elsewhere.example/" if self._said else back),
        ]
        await send({"type": "http.response.start", "status": abs(self._status), "headers": head})
        if self._status < 0:
            raise ConnectionResetError
        await send({"type": "http.response.body", "body": self._said})


@asynccontextmanager
async def at_the_older_site(
    folder: Path, word: bytes, status: int, said: str, times: int = 1
) -> AsyncIterator[tuple[McpConnection, Porter]]:
    """A connection to a site whose porter refuses that, and the porter."""
    server = MCPServer("post")

    @server.tool()
    def send(words: str) -> str:
        """Sends it."""
        return f"sent {words}"

    porter = Porter(server.sse_app(), word, status, said, times)
    async with (
        served(porter) as site,
        reached(folder, Site(f"{site}/sse", given({}), (), "sse"), seconds=4 * PROMPTLY_S) as (servers, _),
    ):
        yield only(servers), porter


async def sent(connection: McpConnection, words: str) -> str:
    """What a call says."""
    async with asyncio.timeout(PROMPTLY_S):
        result = await connection.call("send", {"words": words}, lambda _: None)
    return " ".join(block.text for block in result.content if block.type == "text")


@pytest.mark.parametrize(
    ("status", "said", "comes", "words"),
    [
        (413, "At most\n4 MB, please.", ServerRefused, "HTTP 413: At most 4 MB, please."),
        (429, "", ServerRefused, "HTTP 429"),
        (308, "Moved.", ServerRefused, "HTTP 308: Moved."),
        (503, "Down for the night.", ServerLost, "answered with HTTP 503: Down for the night."),
        (-202, "Taken.", ServerLost, r"went away while this ran \(it has ended\)"),
    ],
)
async def test_a_refused_call_is_told_at_once_with_status_and_words_and_the_next_one_goes_through(
    tmp_path: Path, status: int, said: str, comes: type[Exception], words: str
) -> None:
    async with at_the_older_site(tmp_path, b"tools/call", status, said) as (connection, _):
        with pytest.raises(comes, match=f"^{words}$"):
            await sent(connection, "one")
        assert await sent(connection, "two") == "sent two"


async def test_a_session_that_the_site_has_forgotten_is_begun_anew_and_the_call_goes_through(tmp_path: Path) -> None:
    async with at_the_older_site(tmp_path, b"tools/call", 404, "Could not find session") as (connection, _):
        assert await sent(connection, "one") == "sent one"


async def test_a_redirect_within_the_site_is_followed_with_the_call(tmp_path: Path) -> None:
    async with at_the_older_site(tmp_path, b"tools/call", 307, "") as (connection, _):
        assert await sent(connection, "one") == "sent one"


async def test_a_refused_notification_is_nobody_s_answer_and_stops_nothing(tmp_path: Path) -> None:
    async with at_the_older_site(tmp_path, b"notifications/initialized", 500, "Not now.") as (connection, porter):
        assert await sent(connection, "one") == "sent one"
        assert porter.streams == 1


async def test_a_site_that_refuses_the_first_message_says_so(tmp_path: Path) -> None:
    async with asyncio.timeout(PROMPTLY_S):
        async with at_the_older_site(tmp_path, b"initialize", 403, "Members only.", times=100) as (connection, _):
            assert "wants a login (HTTP 403)" in trouble(connection)
