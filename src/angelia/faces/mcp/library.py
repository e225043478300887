"""Loads what needs the library: over a second of work, in a thread."""

import asyncio
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from angelia.core.errors import MissingPart
from angelia.faces.mcp.asks import Asks
from angelia.faces.mcp.tools import OfferedTool
from angelia.service.app import App

if TYPE_CHECKING:
    from angelia.faces.mcp.server import AngeliaMcpServer


async def mcp_server(app: App, asks: Asks, tools: Sequence[OfferedTool]) -> "AngeliaMcpServer":
    """A server over one open home.

    Raises:
        MissingPart: the part that speaks the protocol is not installed.
    """
    try:
        module = await asyncio.to_thread(import_module, "angelia.faces.mcp.server")
    except ModuleNotFoundError as error:
        raise MissingPart("Serving MCP", "mcp") from error
    server: AngeliaMcpServer = module.AngeliaMcpServer(app, asks, tools)
    return server
