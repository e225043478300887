"""Straight to a server over HTTP/1.1, where the event loop hands each piece of a reply to whoever reads it.

Nothing between them costs more than the piece. Everything else about HTTP is left to httpx2.
"""

import asyncio
import selectors
import ssl
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import httpx2

from angelia.models.http1 import Incoming, Malformed, head
from angelia.models.waiting import Patience

_MOST_AHEAD = 1 << 20
"""Bytes of a reply that are held for a reader who is slower than its server."""


class Direct(httpx2.AsyncBaseTransport):
    """Connections to servers, each for one request at a time; at most `most_idle` are kept for `keep` seconds."""

    def __init__(self, trust: ssl.SSLContext | None, *, most_idle: int, keep: float) -> None:
        self._trust, self._most_idle, self._keep = trust, most_idle, keep
        self._idle: list[_Connection] = []
        self._open: set[_Connection] = set()
        if trust:
            trust.set_alpn_protocols(["http/1.1"])

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """See httpx2: connects if it has to, sends, and returns as soon as the head of the reply is there."""
        timeouts = request.extensions.get("timeout", {})
        connection = self._kept(_origin(request.url)) or await self._connect(request.url, timeouts.get("connect"))
        try:
            incoming = await connection.exchange(request, timeouts)
        except BaseException:
            self.let_go(connection)
            raise
        return httpx2.Response(
            incoming.status,
            headers=incoming.headers,
            stream=_Body(self, connection, timeouts.get("read")),
            extensions={"http_version": b"HTTP/1.1", "reason_phrase": incoming.reason},
        )

    async def aclose(self) -> None:
        """Close every connection, and wait until none is left."""
        for connection in self._open:
            connection.close()
        while self._open:
            await asyncio.wait([connection.closed for connection in self._open])
        self._idle.clear()

    def let_go(self, connection: "_Connection") -> None:
        """Keep a connection whose reply was read to its end; any other is closed."""
        if not connection.reusable:
            connection.close()
            return
        now = asyncio.get_running_loop().time()
        connection.idle_since = now
        self._idle.append(connection)
        while self._idle and (len(self._idle) > self._most_idle or now - self._idle[0].idle_since > self._keep):
            self._idle.pop(0).close()

    def _kept(self, origin: "_Origin") -> "_Connection | None":
        """The connection that was used last, if it is still of use."""
        oldest = asyncio.get_running_loop().time() - self._keep
        for connection in [one for one in reversed(self._idle) if one.origin == origin]:
            self._idle.remove(connection)
            if connection.idle_since >= oldest and connection.quiet:
                return connection
            connection.close()
        return None

    async def _connect(self, url: httpx2.URL, seconds: float | None) -> "_Connection":
        loop, origin = asyncio.get_running_loop(), _origin(url)
        secure, host, port = origin
        named = not (":" in host or host.replace(".", "").isdigit())  # a name may have addresses that lead nowhere
        try:
            async with asyncio.timeout(seconds):
                trust = self._trust if secure else None
                race = 0.25 if named else None  # RFC 8305, section 5
                _, connection = await loop.create_connection(
                    lambda: _Connection(origin), host, port, ssl=trust, happy_eyeballs_delay=race
                )
        except TimeoutError as error:
            raise httpx2.ConnectTimeout(f"no connection within {seconds:g} s") from error
        except OSError as error:
            raise httpx2.ConnectError(str(error)) from error
        self._open.add(connection)
        connection.closed.add_done_callback(lambda _: self._open.discard(connection))
        return connection


_Origin = tuple[bool, str, int]
"""Whether it is reached over TLS, host, port."""


def _origin(url: httpx2.URL) -> _Origin:
    if url.scheme not in ("http", "https"):
        raise httpx2.UnsupportedProtocol(f"{url.scheme!r} is not spoken here.")
    secure = url.scheme == "https"
    return secure, url.raw_host.decode("ascii"), url.port or (443 if secure else 80)


class _Body(httpx2.AsyncByteStream):
    """The body of one reply, as it comes."""

    def __init__(self, direct: Direct, connection: "_Connection", silence: float | None) -> None:
        self._direct, self._connection, self._silence = direct, connection, silence
        self._closed = False

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        more, patience = self._connection.more, Patience() if self._silence else None
        try:
            while piece := await (patience.wait(more(), self._silence) if patience and self._silence else more()):
                yield piece
        except TimeoutError as error:
            raise httpx2.ReadTimeout(f"nothing came for {self._silence:g} s") from error
        finally:
            if patience:
                patience.close()

    async def aclose(self) -> None:
        """Let the connection go: for the next request, or for good if this reply was not read to its end."""
        if not self._closed:
            self._closed = True
            self._direct.let_go(self._connection)


class _Connection(asyncio.Protocol):
    """One connection. Only one task waits at a time: to send, for the head, or for more of the body."""

    def __init__(self, origin: _Origin) -> None:
        self.origin, self.idle_since = origin, 0.0
        self.closed = asyncio.get_running_loop().create_future()
        self._incoming = Incoming("")
        self._failure: httpx2.TransportError | None = None
        self._body: list[bytes] = []
        self._ahead = 0
        self._waiter: asyncio.Future[None] | None = None
        self._asked = self._sent = self._full = self._gone = self._paused = False

    async def exchange(self, request: httpx2.Request, timeouts: Mapping[str, Any]) -> Incoming:
        """Send a request; the reply when its head is there.

        Raises:
            httpx2.TransportError: it came to nothing.
        """
        self._incoming, self._asked, self._sent = Incoming(request.method), True, False
        self._take_out()  # what nobody read of the reply before belongs to no other
        try:
            async with asyncio.timeout(timeouts.get("write")):
                await self._send(request)
        except TimeoutError as error:
            raise httpx2.WriteTimeout("the server takes nothing in") from error
        try:
            async with asyncio.timeout(timeouts.get("read")):
                while not self._incoming.status:
                    if self._failure:
                        raise self._failure
                    await self._news()
        except TimeoutError as error:
            raise httpx2.ReadTimeout(f"no answer within {timeouts['read']:g} s") from error
        return self._incoming

    async def _send(self, request: httpx2.Request) -> None:
        """Everything, unless the server has answered or left before that: its answer tells more."""
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        chunked = "transfer-encoding" in request.headers
        self._transport.write(_head_of(request))
        async for part in request.stream:
            self._transport.write(b"%x\r\n%b\r\n" % (len(part), part) if chunked and part else part)
            while self._full and not (self._gone or self._incoming.status):
                await self._news()
            if self._gone or self._incoming.status:
                return
        if chunked:
            self._transport.write(b"0\r\n\r\n")
        self._sent = True

    async def more(self) -> bytes:
        """What has come of the body; empty at its end.

        Raises:
            httpx2.TransportError: it broke off.
        """
        while not self._body:
            if self._failure:
                raise self._failure
            if self._incoming.over:
                return b""
            await self._news()
        return self._take_out()

    def _take_out(self) -> bytes:
        """What is held of the body; from then on the server may send more."""
        piece = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._body.clear()
        self._ahead = 0
        if self._paused and not self._gone:
            self._transport.resume_reading()
            self._paused = False
        return piece

    @property
    def reusable(self) -> bool:
        """Whether the last exchange was whole and nothing speaks against another."""
        return self._sent and self._incoming.over and self._incoming.reusable and not self._gone

    @property
    def quiet(self) -> bool:
        """Whether nothing has come since: a server that speaks now has closed it, or is about to."""
        if self._gone or self._transport.is_closing():
            return False
        with selectors.DefaultSelector() as selector:
            selector.register(self._transport.get_extra_info("socket").fileno(), selectors.EVENT_READ)
            return not selector.select(0)

    def close(self) -> None:
        """Hang up."""
        self._transport.abort()

    # -- what the event loop says ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Some more of the reply."""
        if not self._asked or self._incoming.over:
            self._gone = True  # nobody asked for this
            self._transport.abort()
            return
        try:
            piece = self._incoming.feed(data)
        except Malformed as error:
            self._failure = httpx2.RemoteProtocolError(str(error))
            self._transport.abort()
        else:
            if piece:
                self._body.append(piece)
                self._ahead += len(piece)
            if self._ahead > _MOST_AHEAD and not self._paused:
                self._transport.pause_reading()
                self._paused = True
        self._wake()

    def eof_received(self) -> None:
        """The server has closed its side, so we close ours."""
        self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        self._end(exc)
        self.closed.set_result(None)

    def pause_writing(self) -> None:
        """The server is slower than we are."""
        self._full = True

    def resume_writing(self) -> None:
        """It has caught up."""
        self._full = False
        self._wake()

    def _end(self, error: Exception | None) -> None:
        self._gone = True
        if self._failure is None and not self._incoming.over:
            try:
                if error:
                    self._failure = httpx2.ReadError(str(error))
                else:
                    self._incoming.ended()
            except Malformed as cut:
                self._failure = httpx2.RemoteProtocolError(str(cut))
        self._wake()

    async def _news(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _head_of(request: httpx2.Request) -> bytes:
    target = request.extensions.get("target", request.url.raw_path)
    try:
        return head(request.method, target, request.headers.raw)
    except Malformed as error:
        raise httpx2.LocalProtocolError(str(error)) from error
