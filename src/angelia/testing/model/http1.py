"""As much of HTTP/1.1 as a scripted server needs: requests in, bodies and streams out, connections cut on command."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Mapping
from http import HTTPStatus

from msgspec import Struct


class HttpRequest(Struct, frozen=True):
    """A request, read whole. Header names are in lower case; `path` is without the `query`."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    query: str = ""


async def read_request(reader: asyncio.StreamReader) -> HttpRequest | None:
    """The next request of a connection, or None when the client has left.

    Raises:
        ValueError: the bytes are no HTTP.
    """
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        method, target, _ = first.split(" ")
        pairs = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        path, _, query = target.partition("?")
        return HttpRequest(method, path, headers, await _body(reader, headers), query)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    body = b""
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readuntil(b"\r\n")
    return body


class Answering:
    """One response on its way out. A client that has left ends every method with ConnectionError."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        writer.transport.set_write_buffer_limits(high=0)
        connection: socket.socket = writer.get_extra_info("socket")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def whole(self, status: int, body: bytes, *, mime: str = "application/json", **headers: str) -> None:
        """A response with its length."""
        await self.head(status, mime, length=len(body), **headers)
        await self.raw(body)

    async def head(self, status: int, mime: str, *, length: int = -1, **headers: str) -> None:
        """Status line and headers; without a `length` the body comes in chunks. `_` in a name means `-`."""
        framing = f"content-length: {length}" if length >= 0 else "transfer-encoding: chunked"
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else "Overloaded"
        head = f"HTTP/1.1 {status} {phrase}\r\ncontent-type: {mime}\r\n{framing}\r\n{more}\r\n"
        await self.raw(head.encode("latin-1"))

    async def chunk(self, data: bytes) -> None:
        """One chunk of a body; no bytes at all end the body."""
        await self.raw(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def raw(self, data: bytes) -> None:
        """Bytes, written through to the socket."""
        self._writer.write(data)
        await self._writer.drain()

    def reset(self) -> None:
        """End the connection by a TCP reset."""
        connection: socket.socket = self._writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def silence(self) -> None:
        """Say nothing until the client leaves."""
        while await self._reader.read(65536):
            pass

    async def close(self) -> None:
        """Close the connection. Idempotent."""
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()
