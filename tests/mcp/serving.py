"""Angelia as a server in this process, over a home of its own, and what a client of the library hears from it."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.memory import create_client_server_memory_streams
from msgspec import Struct

from angelia import Act, tool
from angelia.core import entry as e
from angelia.faces.mcp.asks import Asks
from angelia.faces.mcp.server import AngeliaMcpServer
from angelia.faces.mcp.tools import TOOLS
from angelia.service.app import App
from angelia.service.settings.config import load
from angelia.tools.function_tool import given_tools
from angelia.tools.mcp.client import Elicit, Hooks, talking
from mcp import Client
from tests.python.programs import MODEL, Program


@tool(effect=Act("book", "book a table", "bistro.example", "book at bistro.example", changes=True))
def book(guests: int) -> str:
    """Book a table at the bistro."""
    return f"A table for {guests} is booked."


class Caller(Struct, frozen=True):
    """A client, and what its server has open."""

    client: Client
    app: App
    asks: Asks

    async def call(self, tool: str, /, **arguments: Any) -> types.CallToolResult:
        """Call a tool."""
        return await self.client.call_tool(tool, arguments)

    async def said(self, tool: str, /, **arguments: Any) -> str:
        """The words of its result, which is no error."""
        result = await self.call(tool, **arguments)
        assert not result.is_error, words(result)
        return words(result)

    async def facts(self, result: types.CallToolResult) -> list[e.AnyFact]:
        """The log of the conversation of an ask."""
        entries = await self.app.transcript.entries(result.structured_content["conversation"])
        return [entry.fact for entry in entries]


def words(result: types.CallToolResult) -> str:
    """What a result says."""
    return "\n".join(block.text for block in result.content if block.type == "text")


@asynccontextmanager
async def served(program: Program, era: str = "auto", **client: Any) -> AsyncIterator[Caller]:
    """A client of a server that asks the scripted model; `era` is `legacy` for the protocol of before 2026-07-28."""
    async with serving(program) as (app, asks, server), Client(server, mode=era, cache=None, **client) as connected:
        yield Caller(connected, app, asks)


@asynccontextmanager
async def served_to_us(program: Program, elicit: Elicit) -> AsyncIterator[Caller]:
    """The same for the client that our own conversations have, in the words of 2025-11-25."""
    async with serving(program) as (app, asks, server):

        @asynccontextmanager
        async def way() -> AsyncIterator[Any]:
            options = server.create_initialization_options()
            async with create_client_server_memory_streams() as (ours, theirs), anyio.create_task_group() as group:
                group.start_soon(server.run, *theirs, options)
                yield ours
                group.cancel_scope.cancel()

        hooks = Hooks(lambda: None, lambda: None, elicit=elicit)
        async with talking(way, hooks) as client:
            yield Caller(client, app, asks)


@asynccontextmanager
async def serving(program: Program) -> AsyncIterator[tuple[App, Asks, Server[Any]]]:
    """A server that asks the scripted model."""
    given = given_tools([book], ())
    app = await App.open(load(program.home, os.environ, flags={"model": MODEL}), dict(os.environ), tools=given)
    asks = Asks(app, program.work)
    try:
        yield app, asks, AngeliaMcpServer(app, asks, TOOLS).library
    finally:
        await asks.close()
        await app.close()


def answering(answer: Callable[[types.ElicitRequestParams], types.ElicitResult]) -> Any:
    """A person at the client, who fills in forms."""

    async def elicited(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        return answer(params)

    return elicited
