"""A port that can be left and taken again at any moment, without one connection that is forgotten.

`asyncio.Server` forgets a connection that it accepted just before it is closed; a client that tries again and again
meets that moment now and then.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

from angelia.testing.model.http1 import Answering

Serve = Callable[[asyncio.StreamReader, Answering], Awaitable[None]]


class LoopbackServer:
    """Every connection is given to `serve`. The port, any or the one that is named, stays ours while nobody listens; it
    is one of loopback, if no other address of this machine is named.
    """

    def __init__(self, serve: Serve, port: int = 0, host: str = "127.0.0.1") -> None:
        self._serve, self._host = serve, host
        self._open: dict[asyncio.Task[None], Answering | None] = {}
        self._place = _bound(host, port)
        self.port: int = self._place.getsockname()[1]

    def up(self) -> None:
        """Take connections."""
        self._place.listen(1024)
        self._place.setblocking(False)
        asyncio.get_running_loop().add_reader(self._place, self._accept)

    async def down(self) -> None:
        """Reset every connection, and refuse new ones."""
        asyncio.get_running_loop().remove_reader(self._place)
        self._place.close()
        self._place = _bound(self._host, self.port)
        await self.hang_up()

    async def hang_up(self) -> None:
        """Reset every connection, whatever is done there."""
        for task, answering in self._open.items():
            if answering:
                with suppress(OSError):  # the client has closed it just now
                    answering.reset()
            task.cancel()
        if self._open:
            await asyncio.wait(list(self._open))

    async def close(self) -> None:
        """The same, and leave the port."""
        await self.down()
        self._place.close()

    def _accept(self) -> None:
        try:
            connection, _ = self._place.accept()
        except OSError:  # whoever it was has left
            return
        task = asyncio.create_task(self._meet(connection))
        self._open[task] = None
        task.add_done_callback(self._open.pop)
        task.add_done_callback(lambda _: connection.close())

    async def _meet(self, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=connection, limit=1 << 24)
        answering = Answering(reader, writer)
        task = asyncio.current_task()
        assert task
        self._open[task] = answering
        try:
            await self._serve(reader, answering)
        except ConnectionError:
            pass
        finally:
            await answering.close()


def _bound(host: str, port: int) -> socket.socket:
    place = socket.socket()
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    place.bind((host, port))
    return place
