"""Our connections beneath httpx2's client, for whoever needs more of HTTP than a request and its reply."""

from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager

import httpx2

from angelia.http.connection import HttpTimeouts, Origin, OutgoingRequest
from angelia.http.errors import HttpError, UnsupportedProtocol
from angelia.http.pool import ConnectionPool, PooledReply


class DirectTransport(httpx2.AsyncBaseTransport):
    """What httpx2 sends goes out over `pool`, which is closed with the client."""

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """See httpx2: connects if it has to, sends, and returns as soon as the head of the reply is there."""
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        times = request.extensions.get("timeout", {})
        with _as_httpx2():
            outgoing = OutgoingRequest(
                request.method,
                _origin(request.url),
                request.extensions.get("target", request.url.raw_path),
                request.headers.raw,
                request.stream,
                chunked="transfer-encoding" in request.headers,
            )
            timeouts = HttpTimeouts(times.get("connect"), times.get("write"), times.get("read"))
            reply = await self._pool.exchange(outgoing, timeouts)
        return httpx2.Response(
            reply.status,
            headers=reply.headers,
            stream=_Body(reply),
            extensions={"http_version": b"HTTP/1.1", "reason_phrase": reply.reason},
        )

    async def aclose(self) -> None:
        """Close every connection, and wait until none is left."""
        await self._pool.aclose()


@contextmanager
def _as_httpx2() -> Generator[None]:
    """Our errors as their twins there."""
    try:
        yield
    except HttpError as error:
        raise getattr(httpx2, type(error).__name__)(str(error)) from error


def _origin(url: httpx2.URL) -> Origin:
    if url.scheme not in ("http", "https"):
        raise UnsupportedProtocol(f"{url.scheme!r} is not spoken here.")
    secure = url.scheme == "https"
    return secure, url.raw_host.decode("ascii"), url.port or (443 if secure else 80)


class _Body(httpx2.AsyncByteStream):
    """The body of one reply, as it comes."""

    def __init__(self, reply: PooledReply) -> None:
        self._reply = reply

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        with _as_httpx2():
            async for piece in self._reply.pieces():
                yield piece

    async def aclose(self) -> None:
        await self._reply.aclose()
