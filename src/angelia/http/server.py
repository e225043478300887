"""A server that the person named, and requests to it: how every model is asked, at no more than it has to cost.

What is rare goes by httpx2, and only then is it loaded (25 ms of a start): proxies, logins and letters beyond ASCII in
an address, and whoever asks for `client`.
"""

import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, quote, urlsplit

from msgspec import Struct

from angelia.http.connection import HttpTimeouts, Origin, OutgoingRequest
from angelia.http.errors import RemoteProtocolError, error_named
from angelia.http.pool import ConnectionPool

if TYPE_CHECKING:
    import httpx2

REDIRECTS = frozenset({301, 302, 303, 307, 308})

_PATH_SAFE = "/%:@!$&'()*+,;=~-._?"
"""What may stand in a path and a query as it is (RFC 3986, sections 3.3 and 3.4)."""


class HttpReply(Struct, frozen=True):
    """A reply whose head is there: headers under their names in lower case, the body as it comes. Close it.

    What a server encoded (gzip, deflate) although it was asked not to is decoded.
    """

    status: int
    headers: Mapping[str, str]
    pieces: AsyncIterator[bytes]
    aclose: Callable[[], Awaitable[None]]

    @property
    def is_success(self) -> bool:
        """Whether the request was granted."""
        return 200 <= self.status < 300

    @property
    def is_redirect(self) -> bool:
        """Whether it only says where else to ask."""
        return self.status in REDIRECTS and "location" in self.headers

    async def read(self) -> bytes:
        """All that is left of the body.

        Raises:
            HttpError: it broke off.
        """
        return b"".join([piece async for piece in self.pieces])


class HttpServer:
    """One server by its base URL, and the connections to it. `client` is httpx2's, over the same connections."""

    def __init__(self, base_url: str, pool: ConnectionPool | None, make: "Callable[[], httpx2.AsyncClient]") -> None:
        """`pool` is the way without httpx2, None where there is none; `make` makes the client of the base URL."""
        self.base_url = base_url.rstrip("/")
        self._direct = _Direct(pool, urlsplit(base_url)) if pool else None
        self._make = make
        self._client: httpx2.AsyncClient | None = None

    @property
    def client(self) -> "httpx2.AsyncClient":
        """A client for everything below the base URL, made when it is first asked for."""
        self._client = self._client or self._make()
        return self._client

    async def post(self, path: str, headers: Mapping[str, str], body: bytes, connect: float | None) -> HttpReply:
        """Send a request below the base URL; its reply as soon as the head is there. `connect` is in seconds; there is
        no other limit.

        Raises:
            HttpError: it came to nothing.
        """
        if self._direct is not None:
            return await self._direct.post(path, headers, body, connect)
        import httpx2

        request = self.client.build_request(
            "POST",
            f"{self.base_url}/{path}",
            content=body,
            headers=dict(headers),
            timeout=httpx2.Timeout(None, connect=connect),
        )
        try:
            response = await self.client.send(request, stream=True)
        except httpx2.RequestError as error:
            raise error_named(type(error).__name__, str(error)) from error
        return HttpReply(response.status_code, response.headers, _translated(response), response.aclose)

    async def aclose(self) -> None:
        """Close every connection."""
        if self._client is not None:
            await self._client.aclose()
        if self._direct is not None:
            await self._direct.pool.aclose()


class _Direct:
    """Requests to one server without anybody in between. All that is the same for each of them is made once."""

    def __init__(self, pool: ConnectionPool, parts: SplitResult) -> None:
        self.pool = pool
        self._origin = origin_of(parts)
        _, host, port = self._origin
        named = f"[{host}]" if ":" in host else host
        self._host = (named if port in (80, 443) and parts.port is None else f"{named}:{port}").encode("ascii")
        self._path = parts.path.rstrip("/")

    async def post(self, path: str, headers: Mapping[str, str], body: bytes, connect: float | None) -> HttpReply:
        lines = [(b"host", self._host), (b"user-agent", b"angelia"), (b"content-length", b"%d" % len(body))]
        lines += [(name.encode("ascii"), value.encode()) for name, value in headers.items()]
        target = quote(f"{self._path}/{path}", safe=_PATH_SAFE).encode("ascii")
        request = OutgoingRequest("POST", self._origin, target, lines, _one(body))
        reply = await self.pool.exchange(request, HttpTimeouts(connect))
        known: dict[str, str] = {}
        for raw_name, raw_value in reply.headers:
            name, value = raw_name.decode("ascii").lower(), raw_value.decode("latin-1")
            known[name] = f"{known[name]}, {value}" if name in known else value
        encoding = known.get("content-encoding", "identity").lower()
        pieces = reply.pieces() if encoding in {"", "identity"} else _decoded(reply.pieces(), encoding)
        return HttpReply(reply.status, known, pieces, reply.aclose)


def origin_of(parts: SplitResult) -> Origin:
    """Where a URL with a host leads."""
    secure = parts.scheme == "https"
    return secure, parts.hostname or "", parts.port or (443 if secure else 80)


def goes_directly(parts: SplitResult) -> bool:
    """Whether a URL has nothing in it that httpx2 is better asked about."""
    return parts.username is None and parts.netloc.isascii() and not parts.query


async def _one(body: bytes) -> AsyncGenerator[bytes]:
    yield body


async def _decoded(pieces: AsyncIterator[bytes], encoding: str) -> AsyncGenerator[bytes]:
    if encoding not in {"gzip", "x-gzip", "deflate"}:
        raise RemoteProtocolError(f"The reply is encoded as {encoding!r}, which nobody asked for.")
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib, whichever it begins with
    try:
        async for piece in pieces:
            if plain := decoder.decompress(piece):
                yield plain
        if last := decoder.flush():
            yield last
    except zlib.error as error:
        raise RemoteProtocolError(f"The reply calls itself {encoding} and is not: {error}.") from error


async def _translated(response: "httpx2.Response") -> AsyncGenerator[bytes]:
    import httpx2

    try:
        async for piece in response.aiter_bytes():
            yield piece
    except httpx2.RequestError as error:
        raise error_named(type(error).__name__, str(error)) from error
