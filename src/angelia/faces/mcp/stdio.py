"""One client over stdin and stdout: the program that started us."""

from collections.abc import Sequence
from pathlib import Path

from angelia.faces.mcp.asks import Asks
from angelia.faces.mcp.library import mcp_server
from angelia.faces.mcp.tools import OfferedTool
from angelia.service.app import App


async def serve_stdio(app: App, workspace: Path, tools: Sequence[OfferedTool]) -> None:
    """Answer until the client closes our stdin. What runs then stays open in the log.

    Raises:
        MissingPart: the part that speaks the protocol is not installed.
    """
    asks = Asks(app, workspace)
    library = (await mcp_server(app, asks, tools)).library
    from mcp.server.stdio import stdio_server

    try:
        async with stdio_server() as (incoming, outgoing):
            await library.run(incoming, outgoing, library.create_initialization_options())
    finally:
        await asks.close()
