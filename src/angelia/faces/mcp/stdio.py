"""One client over stdin and stdout: the program that started us."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from angelia.acp.lines import AcpGone, LineWriter, lines_in
from angelia.acp.own_pipes import own_pipes
from angelia.faces.mcp.asks import Asks
from angelia.faces.mcp.library import mcp_server
from angelia.faces.mcp.tools import OfferedTool
from angelia.service.app import App

LAST_WORDS_S = 2.0
"""How long a client that leaves may take to read what was on its way; the log has it in any case."""


async def serve_stdio(app: App, workspace: Path, tools: Sequence[OfferedTool]) -> None:
    """Answer until the client closes our stdin. What runs then stays open in the log.

    Raises:
        MissingPart: the part that speaks the protocol is not installed.
    """
    asks = Asks(app, workspace)
    library = (await mcp_server(app, asks, tools)).library
    from mcp.server.stdio import stdio_server

    ours: Any = ()  # the library's own streams: good for files, at which nobody can wait
    if pipes := await own_pipes():
        ours = (_said(*pipes), _Answers(pipes[1]))
    try:
        async with stdio_server(*ours) as (incoming, outgoing):
            await library.run(incoming, outgoing, library.create_initialization_options())
    finally:
        await asks.close()


async def _said(reader: asyncio.StreamReader, writer: LineWriter) -> AsyncIterator[str]:
    """What the client says, line by line; unlike the library's thread, it can be left at any time."""
    async for line in lines_in(reader.read, most=sys.maxsize):
        assert isinstance(line, bytes), "no line is too long"
        yield line.decode(errors="replace")
    asyncio.get_running_loop().call_later(LAST_WORDS_S, writer.leave)


class _Answers:
    """What the client is told, as the library writes it to a file. To a client that has gone it is told to nobody."""

    def __init__(self, writer: LineWriter) -> None:
        self._writer = writer

    async def write(self, line: str) -> None:
        """Write a line."""
        self._writer.write(line.removesuffix("\n").encode())

    async def flush(self) -> None:
        """Wait until it is written, or nobody reads it any more."""
        with suppress(AcpGone):
            await self._writer.flushed()
