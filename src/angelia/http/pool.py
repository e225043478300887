"""Connections straight to servers, over HTTP/1.1, each used again for the next request.

The event loop hands each piece of a reply to whoever reads it: nothing between them costs more than the piece.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from ipaddress import ip_address

from angelia.http.connection import HttpConnection, HttpTimeouts, Origin, OutgoingRequest
from angelia.http.deadlines import DeadlineTimer
from angelia.http.errors import ConnectError, ConnectTimeout, ReadTimeout


class ConnectionPool:
    """Connections to servers, each for one request at a time; at most `most_idle` are kept for `keep` seconds."""

    def __init__(self, trust: ssl.SSLContext | None, *, most_idle: int, keep: float) -> None:
        self._trust = trust
        self._most_idle = most_idle
        self._keep = keep
        self._idle: list[HttpConnection] = []
        self._open: set[HttpConnection] = set()
        if trust:
            trust.set_alpn_protocols(["http/1.1"])

    async def exchange(self, request: OutgoingRequest, timeouts: HttpTimeouts) -> "PooledReply":
        """Connect if need be, and send; returns as soon as the head of the reply is there. Close the reply.

        Raises:
            HttpError: it came to nothing.
        """
        connection = self._kept(request.origin) or await self._connect(request.origin, timeouts.connect)
        try:
            incoming = await connection.exchange(request, timeouts)
        except BaseException:
            self.let_go(connection)
            raise
        return PooledReply(self, connection, timeouts.read, incoming.status, incoming.reason, incoming.headers)

    async def aclose(self) -> None:
        """Close every connection, and wait until none is left."""
        for connection in self._open:
            connection.close()
        while self._open:
            await asyncio.wait([connection.closed for connection in self._open])
        self._idle.clear()

    def let_go(self, connection: HttpConnection) -> None:
        """Keep a connection whose reply was read to its end; any other is closed."""
        if not connection.reusable:
            connection.close()
            return
        now = asyncio.get_running_loop().time()
        connection.idle_since = now
        self._idle.append(connection)
        while self._idle and (len(self._idle) > self._most_idle or now - self._idle[0].idle_since > self._keep):
            self._idle.pop(0).close()

    def _kept(self, origin: Origin) -> HttpConnection | None:
        """The connection that was used last, if it is still of use."""
        oldest = asyncio.get_running_loop().time() - self._keep
        for connection in [one for one in reversed(self._idle) if one.origin == origin]:
            self._idle.remove(connection)
            if connection.idle_since >= oldest and connection.quiet:
                return connection
            connection.close()
        return None

    async def _connect(self, origin: Origin, seconds: float | None) -> HttpConnection:
        loop = asyncio.get_running_loop()
        secure, host, port = origin
        try:
            async with asyncio.timeout(seconds):
                _, connection = await loop.create_connection(
                    lambda: HttpConnection(origin),
                    host,
                    port,
                    ssl=self._trust if secure else None,
                    happy_eyeballs_delay=0.25 if _is_name(host) else None,  # RFC 8305, section 5
                )
        except TimeoutError as error:
            raise ConnectTimeout(f"no connection within {seconds:g} s") from error
        except OSError as error:
            raise ConnectError(str(error)) from error
        self._open.add(connection)
        connection.closed.add_done_callback(lambda _: self._open.discard(connection))
        return connection


def _is_name(host: str) -> bool:
    """An address needs no race for its connections, and asyncio loses the winner's socket when a race is cancelled."""
    try:
        ip_address(host)
    except ValueError:
        return True
    return False


class PooledReply:
    """One reply whose head is there; its body is read as it comes."""

    def __init__(
        self,
        pool: ConnectionPool,
        connection: HttpConnection,
        silence: float | None,
        status: int,
        reason: bytes,
        headers: list[tuple[bytes, bytes]],
    ) -> None:
        self.status, self.reason = status, reason
        self.headers = headers
        self._pool = pool
        self._connection = connection
        self._silence = silence
        self._closed = False

    async def pieces(self) -> AsyncGenerator[bytes]:
        """The body as it comes, as it was sent.

        Raises:
            HttpError: it broke off.
        """
        more, patience = self._connection.more, DeadlineTimer() if self._silence else None
        try:
            while piece := await (patience.wait(more(), self._silence) if patience and self._silence else more()):
                yield piece
        except TimeoutError as error:
            raise ReadTimeout(f"nothing came for {self._silence:g} s") from error
        finally:
            if patience:
                patience.close()

    async def aclose(self) -> None:
        """Let the connection go: for the next request, or for good if this reply was not read to its end."""
        if not self._closed:
            self._closed = True
            self._pool.let_go(self._connection)
