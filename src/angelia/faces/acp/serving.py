"""One client over stdin and stdout, from its first line to its last."""

import asyncio
import os
import sys
from typing import Any

from angelia.core.errors import BadInput
from angelia.faces.acp.agent import Agent
from angelia.faces.acp.lines import LineWriter, lines_in
from angelia.service.assemble import House
from angelia.service.config import Loaded


async def serve(loaded: Loaded) -> int:
    """Answer until the client closes our stdin; then leave everything as it is in the log."""
    reader, writer = await _pipes()
    house = await House.open(loaded)
    agent = Agent(house, writer.write, writer.flushed)
    try:
        async for line in lines_in(reader.read):
            agent.peer.receive(line)
    finally:
        await agent.close()
        await house.close()
    return 0


async def _pipes() -> tuple[asyncio.StreamReader, LineWriter]:
    """Both ways to the client.

    Raises:
        BadInput: stdin or stdout is an ordinary file, which nobody waits at.
    """
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    try:
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        _, writer = await loop.connect_write_pipe(LineWriter, _private_stdout())
    except ValueError:
        raise BadInput(
            "Stdin and stdout have to be pipes: this command is started by an editor.",
            then="`angelia acp --setup zed` says how to tell Zed.",
        ) from None
    return reader, writer


def _private_stdout() -> Any:
    """Our own way to the client; whatever else prints to stdout from here on goes to stderr."""
    ours = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(ours, "wb", buffering=0)
