"""WebSockets of fake networks: a port that is listened on, and left with every connection reset."""

import logging
import socket
import struct
from collections.abc import Awaitable, Callable, Iterable

from websockets.asyncio.server import Server, ServerConnection, serve


async def listening(meet: Callable[[ServerConnection], Awaitable[None]], port: int, most: int = 1 << 20) -> Server:
    """A server on that port, 0 for any; frames of more than `most` bytes end a connection."""
    quiet = logging.getLogger("tests.quiet")
    quiet.setLevel(logging.CRITICAL)
    return await serve(meet, "127.0.0.1", port, ping_interval=None, logger=quiet, max_size=most)


def port_of(server: Server) -> int:
    """Where it listens."""
    port: int = next(iter(server.sockets)).getsockname()[1]
    return port


async def leave(server: Server, connections: Iterable[ServerConnection]) -> None:
    """Reset every connection, and listen no more."""
    server.close(close_connections=False)
    for connection in list(connections):
        if not connection.transport.is_closing():
            linger: socket.socket = connection.transport.get_extra_info("socket")
            linger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.transport.abort()
    await server.wait_closed()
