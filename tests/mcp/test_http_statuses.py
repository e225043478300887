"""What the HTTP status of an answer says of the call that it answers: whether it was made, and may be made again."""

import asyncio
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from angelia.tools.mcp.failures import ServerLost, ServerRefused
from angelia.tools.mcp.server import Site, given
from tests.mcp.asking_server import Era, at_a_site, listed
from tests.mcp.reached import only, reached

pytestmark = pytest.mark.anyio


class Post:
    """A server that notes each call; `fails` is the error that it answers them with once `may_fail`."""

    def __init__(self, fails: str = "") -> None:
        self.calls = 0
        self.may_fail = asyncio.Event()
        self._fails = fails
        self.server: Server[Any] = Server("post", on_list_tools=self._list, on_call_tool=self._call)

    async def _list(self, _: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[listed("send")])

    async def _call(self, _: ServerRequestContext[Any, Any], __: types.CallToolRequestParams) -> types.CallToolResult:
        self.calls += 1
        if self._fails:
            await self.may_fail.wait()
            raise MCPError(types.INTERNAL_ERROR, self._fails)
        return types.CallToolResult(content=[types.TextContent(text="sent")])


class Proxy:
    """Stands before a site; it hands calls on, and answers the first of them by itself all the same."""

    def __init__(self, app: Any, status: int) -> None:
        self._app, self._status = app, status

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not self._status:
            await self._app(scope, receive, send)
            return
        message = await receive()
        whole = b"tools/call" in message.get("body", b"")
        given = iter([message])

        async def again() -> Any:
            return next(given, None) or await receive()

        async def nowhere(_: Any) -> None:
            return

        await self._app(scope, again, nowhere if whole else send)
        if whole:
            await answered(send, self._status)
            self._status = 0


async def answered(send: Any, status: int) -> None:
    """An answer without a word."""
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body"})


@pytest.mark.parametrize("era", ["old", "new"])
@pytest.mark.parametrize(("status", "comes"), [(502, ServerLost), (504, ServerLost), (429, ServerRefused)])
async def test_where_a_proxy_says_that_the_server_is_away_nobody_knows_what_a_call_did(
    tmp_path: Path, era: Era, status: int, comes: type[Exception]
) -> None:
    post = Post()
    async with (
        at_a_site(post.server, era, lambda app: Proxy(app, status)) as url,
        reached(tmp_path, Site(url, given({}))) as (servers, _),
    ):
        with pytest.raises(comes, match=f"HTTP {status}"):
            await only(servers).call("send", {}, lambda _: None)
        assert post.calls == 1
        result = await only(servers).call("send", {}, lambda _: None)
    assert result.content == [types.TextContent(text="sent")]


async def test_a_call_is_made_again_only_where_its_own_request_was_refused(tmp_path: Path) -> None:
    """That another one was, meanwhile, says nothing of a session that is spoken of in its error."""
    post, asked = Post("the session of the browser has ended"), 0

    def before(app: Any) -> Any:
        async def no_stream(scope: Any, receive: Any, send: Any) -> None:
            nonlocal asked
            if scope.get("method") != "GET":
                await app(scope, receive, send)
                return
            await answered(send, 404)
            asked += 1
            if post.calls:
                post.may_fail.set()

        return no_stream

    async with (
        at_a_site(post.server, "old", before) as url,
        reached(tmp_path, Site(url, given({}))) as (servers, _),
    ):
        with pytest.raises(ServerRefused, match="browser"):
            await only(servers).call("send", {}, lambda _: None)
    assert (post.calls, asked) == (1, 2)
