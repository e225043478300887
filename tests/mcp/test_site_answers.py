"""What a site answers, however large, in whatever words and however little of it: no other call pays for it."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from angelia.tools.mcp.connection import McpConnection
from angelia.tools.mcp.failures import AnswerLost, ServerRefused
from angelia.tools.mcp.server import Site, given
from tests.mcp.asking_server import Era, at_a_site, listed
from tests.mcp.reached import only, reached

pytestmark = pytest.mark.anyio

LARGE = 5_000_000
"""Characters: a photo in base64. The library's own bound on what comes by server-sent events is a fifth of it."""


class Press:
    """A server with a few tools, a text and a prompt; `wait` answers once it may."""

    def __init__(self) -> None:
        self.waits, self.may_answer = asyncio.Event(), asyncio.Event()
        self.server: Server[Any] = Server(
            "press",
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_list_resources=self._resources,
            on_read_resource=self._read,
            on_list_prompts=self._prompts,
            on_get_prompt=self._prompt,
        )

    async def _list(self, _: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[listed(name) for name in ("large", "wait", "refuse", "cut")])

    async def _call(
        self, _: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        match params.name:
            case "large":
                return types.CallToolResult(content=[types.TextContent(text="x" * LARGE)])
            case "wait":
                self.waits.set()
                await self.may_answer.wait()
            case "refuse":
                raise MCPError(types.CONNECTION_CLOSED, "out of paper")
            case _:
                pass
        return types.CallToolResult(content=[types.TextContent(text="printed")])

    async def _resources(self, _: Any, __: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[types.Resource(name="proof", uri="press://proof")])

    async def _read(self, _: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text="x" * LARGE)])

    async def _prompts(self, _: Any, __: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[types.Prompt(name="title")])

    async def _prompt(self, _: Any, __: Any) -> types.GetPromptResult:
        text = types.TextContent(text="A title for it.")
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])


Answer = Callable[[Any], Awaitable[None]]


class Before:
    """Stands before a site; the next request whose body holds `word`, once there is one, gets `answer`."""

    def __init__(self, answer: Answer) -> None:
        self.word = ""
        self._answer, self._app = answer, None

    def app(self, app: Any) -> Any:
        """The site behind it."""

        async def whole(scope: Any, receive: Any, send: Any) -> None:
            message = await receive()
            if self.word and self.word.encode() in message.get("body", b""):
                self.word = ""
                await self._answer(send)
                return
            given = iter([message])

            async def again() -> Any:
                return next(given, None) or await receive()

            await app(scope, again, send)

        return whole


async def broken_off(send: Any) -> None:
    """A stream of events that ends without any."""
    head = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body"})


def refused(status: int, code: int, said: str) -> Answer:
    """An error as servers have it that do not know a session."""

    async def answer(send: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": said}}).encode()
        head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": body})

    return answer


async def said(connection: McpConnection, tool: str) -> str:
    """The words of a result."""
    result = await connection.call(tool, {}, lambda _: None)
    return " ".join(block.text for block in result.content if block.type == "text")


@pytest.mark.parametrize("era", ["old", "new"])
async def test_a_large_answer_comes_whole(tmp_path: Path, era: Era) -> None:
    async with at_a_site(Press().server, era) as url, reached(tmp_path, Site(url, given({}))) as (servers, _):
        assert len(await said(only(servers), "large")) == LARGE
        [read] = await only(servers).contents("press://proof")
        assert len(read.text) == LARGE


@pytest.mark.parametrize("era", ["old", "new"])
async def test_an_error_is_told_in_the_servers_words_even_by_the_code_that_the_library_has_for_its_own(
    tmp_path: Path, era: Era
) -> None:
    press = Press()
    async with at_a_site(press.server, era) as url, reached(tmp_path, Site(url, given({}))) as (servers, _):
        waiting = asyncio.create_task(said(only(servers), "wait"))
        await press.waits.wait()
        with pytest.raises(ServerRefused, match="out of paper"):
            await said(only(servers), "refuse")
        press.may_answer.set()
        assert await waiting == "printed"


@pytest.mark.parametrize("era", ["old", "new"])
async def test_an_answer_that_breaks_off_is_lost_alone(tmp_path: Path, era: Era) -> None:
    press, before = Press(), Before(broken_off)
    async with (
        at_a_site(press.server, era, before.app) as url,
        reached(tmp_path, Site(url, given({}))) as (servers, _),
    ):
        waiting = asyncio.create_task(said(only(servers), "wait"))
        await press.waits.wait()
        before.word = "cut"
        with pytest.raises(AnswerLost, match="broke off its answer"):
            await said(only(servers), "cut")
        press.may_answer.set()
        assert await waiting == "printed"


async def called(connection: McpConnection) -> object:
    return await said(connection, "cut")


async def read(connection: McpConnection) -> object:
    return await connection.contents("press://proof")


async def prompted(connection: McpConnection) -> object:
    return await connection.prompt("title", {})


@pytest.mark.parametrize(
    "answer",
    [
        refused(404, -32001, "Session not found"),
        refused(400, -32000, "Bad Request: No valid session ID provided"),
        refused(400, -32000, "Bad Request: Server not initialized"),
    ],
    ids=["404", "400", "one session"],
)
@pytest.mark.parametrize(("word", "ask"), [("tools/call", called), ("resources/read", read), ("prompts/get", prompted)])
async def test_a_site_that_has_forgotten_us_is_asked_once_more_whatever_it_was_asked(
    tmp_path: Path, answer: Answer, word: str, ask: Callable[[McpConnection], Awaitable[object]]
) -> None:
    before = Before(answer)
    async with (
        at_a_site(Press().server, "old", before.app) as url,
        reached(tmp_path, Site(url, given({}))) as (servers, _),
    ):
        before.word = word
        assert await ask(only(servers))
        assert not before.word, "it was refused once"
