"""A connection to the daemon that has become a plain stream both ways."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

_WITH_THE_ANSWER = 1 << 20
"""More bytes than can have come along with the answer's head: whoever reads that takes 64 KiB at once."""


class HijackedConnection(Protocol):
    """What the HTTP client leaves us (httpcore's `network_stream`)."""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Some bytes, none at the end."""
        ...

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send bytes."""
        ...

    async def aclose(self) -> None:
        """Close it."""
        ...

    def get_extra_info(self, info: str) -> object:
        """What lies beneath, by its name."""
        ...


class Stream:
    """A connection taken over. Bytes come straight from its socket, and go there: the client sets up a time-out for
    each read, which is a quarter of what reading costs, and some hundredths of what moving a large file does.
    """

    def __init__(self, connection: HijackedConnection) -> None:
        """`connection` belongs to us from now on."""
        self._connection = connection
        self._socket = connection.get_extra_info("socket")
        self._reading = asyncio.Lock()
        self._writing = asyncio.Lock()
        self._begun = self._closed = False

    async def read(self, most: int) -> bytes:
        """Some bytes, none at the end.

        Raises:
            OSError: it was cut, or closed by us.
        """
        async with self._reading:
            with _as_os_errors():
                data = await (self._some(most) if self._begun else self._first())
        if self._closed and not data:
            raise ConnectionAbortedError("closed by us")
        return data

    async def write(self, data: bytes) -> None:
        """Send bytes, straight to the socket: the client's own waiting does not bear to be given up as the socket takes
        more.

        Raises:
            OSError: it was cut, or closed by us.
        """
        async with self._writing:
            if self._closed:
                raise ConnectionAbortedError("closed by us")
            await asyncio.get_running_loop().sock_sendall(self._beneath, data)

    def end(self) -> None:
        """Send nothing more: the other side reads what was sent, and then the end; it may go on sending.

        Raises:
            OSError: it was cut, or closed by us.
        """
        self._beneath.shutdown(socket.SHUT_WR)

    async def aclose(self) -> None:
        """Close it; who waits for bytes gets an error. Idempotent."""
        self._closed = True
        with suppress(OSError):  # the other side was faster
            self._beneath.shutdown(socket.SHUT_RDWR)  # before it is closed: nobody is told of a socket that is no more
        async with self._reading, self._writing:
            await asyncio.sleep(0)  # whoever gave up waiting for the socket is forgotten by the loop in its next turn
            await self._connection.aclose()

    @property
    def _beneath(self) -> socket.socket:
        assert isinstance(self._socket, socket.socket)
        return self._socket

    async def _first(self) -> bytes:
        """What the client has read already, or else what comes."""
        self._begun = True
        return await self._connection.read(_WITH_THE_ANSWER)

    async def _some(self, most: int) -> bytes:
        await asyncio.sleep(0)  # a flood keeps nobody from their turn
        return await asyncio.get_running_loop().sock_recv(self._beneath, most)


@contextmanager
def _as_os_errors() -> Iterator[None]:
    """What the client calls a broken connection is one; anything else is a fault of ours, and keeps its name."""
    import httpcore2

    try:
        yield
    except (httpcore2.NetworkError, httpcore2.TimeoutException) as error:
        raise ConnectionResetError(str(error) or type(error).__name__) from error
