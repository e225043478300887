"""How much a server may say at once: the same over every transport, and what is more is told as that."""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from angelia.sandboxes.by_commands import sidecar
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.tools.mcp import answer_size, sandboxed_server
from angelia.tools.mcp.connection import McpConnection
from angelia.tools.mcp.failures import AnswerLost, ServerLost
from angelia.tools.mcp.server import SandboxProgram, ServerProgram, Site, given
from tests.mcp.asking_server import Era, at_a_site, served
from tests.mcp.reached import only, reached
from tests.mcp.relay import relayed
from tests.mcp.test_site_answers import LARGE, Before, Press, said

pytestmark = pytest.mark.anyio

BOUND = 1_000_000
ANSWERS = Path(__file__).with_name("large_server.py")
HTTP: list[tuple[Era, bool]] = [("old", False), ("old", True), ("new", False), ("new", True)]


@pytest.fixture(autouse=True)
async def in_time() -> AsyncIterator[None]:
    """Nothing here waits for ever."""
    async with asyncio.timeout(120):
        yield


@asynccontextmanager
async def program(folder: Path, *, inside: bool) -> AsyncIterator[McpConnection]:
    """A server over its pipes, of this machine or in a sandbox."""
    python = "python3" if inside else sys.executable  # a checkout may lie where a sandbox does not look
    argv = (python, str(shutil.copy(ANSWERS, folder)))
    sandbox = LocalSandbox(folder, home=folder / "own", state=folder / "run")
    way = SandboxProgram(argv, given({})) if inside else ServerProgram(argv, given({}))
    try:
        async with reached(folder, way, sandbox=sandbox) as (servers, _):
            yield only(servers)
    finally:
        await sandbox.close()


@asynccontextmanager
async def older_site(folder: Path) -> AsyncIterator[McpConnection]:
    """A site of HTTP+SSE."""
    server = MCPServer("press")

    @server.tool()
    def large(size: int) -> str:
        """Prints much."""
        return "x" * size

    async with served(server.sse_app()) as url, reached(folder, Site(f"{url}/sse", given({}), (), "sse")) as (one, _):
        yield only(one)


async def printed(connection: McpConnection, size: int) -> int:
    """How many characters come of a call for so many."""
    result = await connection.call("large", {"size": size}, lambda _: None)
    return sum(len(block.text) for block in result.content if block.type == "text")


def bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server may say a megabyte at once."""
    monkeypatch.setattr(answer_size, "MOST_ANSWER", BOUND)
    monkeypatch.setattr(sidecar, "MOST_LINE", BOUND)
    monkeypatch.setattr(sandboxed_server, "MOST_LINE", BOUND)


async def test_a_large_answer_comes_whole_over_the_older_transport(tmp_path: Path) -> None:
    async with older_site(tmp_path) as site:
        assert await printed(site, LARGE) == LARGE


async def test_what_is_too_large_over_the_older_transport_is_told_and_the_next_call_goes_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounded(monkeypatch)
    async with older_site(tmp_path) as site:
        with pytest.raises(ServerLost, match=f"exceeded the {BOUND} byte limit"):
            await printed(site, BOUND)
        assert await printed(site, 9) == 9


@pytest.mark.parametrize("inside", [False, pytest.param(True, marks=pytest.mark.real("bwrap"))])
async def test_a_line_that_is_too_large_is_told_and_the_next_call_goes_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: bool
) -> None:
    bounded(monkeypatch)
    async with program(tmp_path, inside=inside) as server:
        assert await printed(server, BOUND // 2) == BOUND // 2
        with pytest.raises(ServerLost, match=f"a line of more than {BOUND:,} bytes"):
            await printed(server, BOUND)
        assert await printed(server, 9) == 9


@pytest.mark.parametrize(("era", "as_json"), HTTP)
async def test_an_answer_that_is_too_large_is_lost_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, era: Era, as_json: bool
) -> None:
    bounded(monkeypatch)
    press = Press()
    async with (
        at_a_site(press.server, era, json_response=as_json) as url,
        reached(tmp_path, Site(url, given({}))) as (servers, _),
    ):
        ready = only(servers).state
        waiting = asyncio.create_task(said(only(servers), "wait"))
        await press.waits.wait()
        with pytest.raises(AnswerLost, match=rf"{BOUND:,} bytes|{BOUND} byte limit"):
            await said(only(servers), "large")
        press.may_answer.set()
        assert await waiting == "printed"
        assert only(servers).state is ready


@pytest.mark.parametrize("era", ["old", "new"])
async def test_a_call_whose_connection_breaks_is_lost_alone(tmp_path: Path, era: Era) -> None:
    press = Press()
    async with (
        at_a_site(press.server, era, json_response=True) as url,
        relayed(url) as relay,
        reached(tmp_path, Site(relay.url, given({}))) as (servers, _),
    ):
        waiting = asyncio.create_task(said(only(servers), "wait"))
        await press.waits.wait()
        relay.word = b'"cut"'
        with pytest.raises(AnswerLost, match="it broke off"):
            await said(only(servers), "cut")
        press.may_answer.set()
        assert await waiting == "printed"


async def short(send: Any) -> None:
    """Promises more than it sends."""
    head = [(b"content-type", b"application/json"), (b"content-length", b"100")]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": b'{"jsonrpc": "2.0", ', "more_body": False})


@pytest.mark.parametrize("era", ["old", "new"])
async def test_json_that_breaks_off_is_lost_alone(tmp_path: Path, era: Era) -> None:
    press, before = Press(), Before(short)
    async with (
        at_a_site(press.server, era, before.app) as url,
        reached(tmp_path, Site(url, given({}))) as (servers, _),
    ):
        waiting = asyncio.create_task(said(only(servers), "wait"))
        await press.waits.wait()
        before.word = '"cut"'
        with pytest.raises(AnswerLost, match="it broke off"):
            await said(only(servers), "cut")
        press.may_answer.set()
        assert await waiting == "printed"
