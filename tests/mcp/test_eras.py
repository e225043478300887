"""Which protocol is spoken first: to a site the new one, so that one which knows no other is reached."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
import uvicorn
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from angelia.tools.mcp.connection_state import Ready
from angelia.tools.mcp.server import Site, given
from tests.mcp.reached import only, reached

pytestmark = pytest.mark.anyio

HEADER_MISSING = -32020


async def refuse_handshake(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Know nothing of before 2026-07-28."""
    if ctx.method == "initialize":
        raise MCPError(HEADER_MISSING, "Missing MCP-Protocol-Version header")
    return await call_next(ctx)


async def refuse_discovery(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Know nothing of 2026-07-28."""
    if ctx.method == "server/discover":
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found")
    return await call_next(ctx)


@asynccontextmanager
async def site(middleware: Any) -> AsyncIterator[str]:
    """The address of a site with one tool."""

    async def listed(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="bloom", input_schema={"type": "object"})])

    async def called(_: Any, __: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(text="it blooms")])

    server: Server[Any] = Server("garden", on_list_tools=listed, on_call_tool=called)
    server.middleware.append(middleware)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        web = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_config=None, lifespan="on"))
        serving = asyncio.create_task(web.serve([listening]))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            web.should_exit = True
            web.force_exit = True
            await serving


@pytest.mark.parametrize("middleware", [refuse_handshake, refuse_discovery])
async def test_a_site_of_one_era_alone_is_reached_and_called(tmp_path: Path, middleware: Any) -> None:
    async with site(middleware) as url, reached(tmp_path, Site(url, given({}))) as (servers, _):
        server = only(servers)
        assert isinstance(server.state, Ready), server.state
        result = await server.call("bloom", {}, lambda _: None)
    assert [block.text for block in result.content if block.type == "text"] == ["it blooms"]
