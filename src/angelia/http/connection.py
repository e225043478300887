"""One connection over HTTP/1.1: the event loop hands each piece of a reply to the one task that waits for it."""

import asyncio
import selectors
from collections.abc import AsyncIterable

from msgspec import Struct

from angelia.http.errors import (
    HttpError,
    LocalProtocolError,
    ReadError,
    ReadTimeout,
    RemoteProtocolError,
    WriteTimeout,
)
from angelia.http.http1 import Incoming, Malformed, head

_MOST_AHEAD = 1 << 20
"""Bytes of a reply that are held for a reader who is slower than its server."""

Origin = tuple[bool, str, int]
"""Whether it is reached over TLS, host, port."""


class HttpTimeouts(Struct, frozen=True):
    """Seconds; None waits for ever. `read` is the longest silence before and within a reply."""

    connect: float | None = None
    write: float | None = None
    read: float | None = None


class OutgoingRequest(Struct, frozen=True):
    """One request. `target` is what stands behind the method; a body without a length goes out in `chunked` parts."""

    method: str
    origin: Origin
    target: bytes
    headers: list[tuple[bytes, bytes]]
    parts: AsyncIterable[bytes]
    chunked: bool = False


class HttpConnection(asyncio.Protocol):
    """One connection. Only one task waits at a time: to send, for the head, or for more of the body."""

    def __init__(self, origin: Origin) -> None:
        self.origin, self.idle_since = origin, 0.0
        self.closed = asyncio.get_running_loop().create_future()
        self._incoming = Incoming("")
        self._failure: HttpError | None = None
        self._body: list[bytes] = []
        self._ahead = 0
        self._waiter: asyncio.Future[None] | None = None
        self._asked = False
        self._sent = False
        self._full = False
        self._gone = False
        self._paused = False

    async def exchange(self, request: OutgoingRequest, timeouts: HttpTimeouts) -> Incoming:
        """Send a request; the reply when its head is there.

        Raises:
            HttpError: it came to nothing.
        """
        self._incoming = Incoming(request.method)
        self._asked = True
        self._sent = False
        self._take_out()  # what nobody read of the reply before belongs to no other
        try:
            async with asyncio.timeout(timeouts.write):
                await self._send(request)
        except TimeoutError as error:
            raise WriteTimeout("the server takes nothing in") from error
        try:
            async with asyncio.timeout(timeouts.read):
                while not self._incoming.status:
                    if self._failure:
                        raise self._failure
                    await self._news()
        except TimeoutError as error:
            raise ReadTimeout(f"no answer within {timeouts.read:g} s") from error
        return self._incoming

    async def _send(self, request: OutgoingRequest) -> None:
        """Everything, unless the server has answered or left before that: its answer tells more."""
        before = _head_of(request)  # goes along with the first part: one packet less
        async for part in request.parts:
            framed = b"%x\r\n%b\r\n" % (len(part), part) if request.chunked and part else part
            self._transport.write(before + framed)
            before = b""
            while self._full and not (self._gone or self._incoming.status):
                await self._news()
            if self._gone or self._incoming.status:
                return
        self._transport.write(before + (b"0\r\n\r\n" if request.chunked else b""))
        self._sent = True

    async def more(self) -> bytes:
        """What has come of the body; empty at its end.

        Raises:
            HttpError: it broke off.
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
            self._failure = RemoteProtocolError(str(error))
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
                    self._failure = ReadError(str(error))
                else:
                    self._incoming.ended()
            except Malformed as cut:
                self._failure = RemoteProtocolError(str(cut))
        self._wake()

    def _news(self) -> asyncio.Future[None]:
        """Done as soon as the event loop has said something more."""
        self._waiter = asyncio.get_running_loop().create_future()
        return self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _head_of(request: OutgoingRequest) -> bytes:
    try:
        return head(request.method, request.target, request.headers)
    except Malformed as error:
        raise LocalProtocolError(str(error)) from error
