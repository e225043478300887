"""A request to a server goes straight to it, says the same as httpx2's would, and fails in the same words."""

import gzip
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

import httpx2
import pytest

from angelia.http.client import open_server
from angelia.http.errors import ConnectError, HttpError, RemoteProtocolError
from angelia.http.server import HttpReply, HttpServer
from tests.models.loopback import Peer, Server, says

pytestmark = pytest.mark.anyio
HEADERS = {"authorization": "Bearer k", "content-type": "application/json"}


@pytest.fixture(params=["direct", "proxy"])
async def asked(request: pytest.FixtureRequest, server: Server) -> AsyncIterator[HttpServer]:
    """The server, reached straight and by a proxy (which it plays itself)."""
    proxied = request.param == "proxy"
    environ = {"HTTP_PROXY": server.url.removesuffix("/v1")} if proxied else {}
    async with aclosing(await open_server("http://far.example/v1" if proxied else server.url, environ)) as opened:
        yield opened


async def _read(http: HttpServer) -> tuple[HttpReply, bytes]:
    reply = await http.post("x", HEADERS, b"{}", 5.0)
    try:
        return reply, await reply.read()
    finally:
        await reply.aclose()


async def test_a_reply_comes_with_its_headers_and_its_body(server: Server, asked: HttpServer) -> None:
    server.answers = [says("429 Too Many Requests", b"slow down", b"Retry-After: 7", b"X-Two: a", b"x-two: b")]
    reply, body = await _read(asked)
    assert (reply.status, reply.is_success, body) == (429, False, b"slow down")
    assert (reply.headers["retry-after"], reply.headers["x-two"]) == ("7", "a, b")
    assert server.requests[0].body == b"{}"
    assert b"authorization: bearer k" in server.requests[0].head.lower()


@pytest.mark.parametrize(("encoding", "encode"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
async def test_what_is_encoded_although_nobody_asked_is_decoded(
    server: Server, asked: HttpServer, encoding: str, encode: Callable[[bytes], bytes]
) -> None:
    server.answers = [says("200 OK", encode(b"Hello" * 100), f"content-encoding: {encoding}".encode())]
    assert (await _read(asked))[1] == b"Hello" * 100


async def test_what_is_not_encoded_as_it_says_is_an_error(server: Server) -> None:
    server.answers = [says("200 OK", b"Hello", b"content-encoding: " + name) for name in (b"gzip", b"br")]
    async with aclosing(await open_server(server.url, {})) as direct:
        with pytest.raises(RemoteProtocolError, match="gzip"):
            await _read(direct)
        with pytest.raises(RemoteProtocolError, match="br"):
            await _read(direct)


async def test_a_cut_reply_is_an_error_by_either_way(server: Server, asked: HttpServer) -> None:
    async def cut(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")
        peer.writer.close()

    server.answers = [cut]
    with pytest.raises(RemoteProtocolError):
        await _read(asked)


async def test_nobody_there_is_an_error_that_says_that_nothing_was_sent(server: Server) -> None:
    async with aclosing(await open_server("http://127.0.0.1:1/v1", {})) as nobody:
        with pytest.raises(ConnectError):
            await _read(nobody)


@pytest.mark.parametrize("base", ["/v1", "/v1/", "", "/a%20b", "/ü b", "/v1?version=2"])
async def test_the_head_is_the_one_that_httpx2_writes(server: Server, base: str) -> None:
    """Target, host and length; what httpx2 adds of itself is not asked for."""
    server.answers = [says("200 OK", b"{}")]
    url = server.url.removesuffix("/v1") + base
    async with aclosing(await open_server(url, {})) as opened:
        await _read(opened)
        await opened.client.post(f"{url.rstrip('/')}/x", content=b"{}", headers=HEADERS)
    ours, theirs = (_told(peer) for peer in server.requests)
    assert ours == theirs


def _told(peer: Peer) -> list[bytes]:
    first, *lines = peer.head.split(b"\r\n")
    return [first, *sorted(line.lower() for line in lines if line.partition(b":")[0].lower() in TOLD)]


TOLD = {b"host", b"user-agent", b"content-length", b"authorization", b"content-type"}


async def test_a_login_in_the_address_is_used(server: Server) -> None:
    server.answers = [says("200 OK", b"{}")]
    async with aclosing(await open_server(server.url.replace("//", "//me:secret@"), {})) as opened:
        reply = await opened.post("x", {}, b"{}", 5.0)
        await reply.aclose()
    assert b"basic" in server.requests[0].head.lower()


def test_each_error_has_its_twin() -> None:
    for kind in HttpError.__subclasses__():
        assert issubclass(getattr(httpx2, kind.__name__), httpx2.TransportError)


def test_a_plain_request_loads_nothing_of_httpx2() -> None:
    code = (
        "import asyncio, sys\n"
        "from contextlib import aclosing\n"
        "from angelia.http.client import open_server\n"
        "async def main():\n"
        "    async def serve(reader, writer):\n"
        "        await reader.readuntil(b'{}')\n"
        "        writer.write(b'HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\nok')\n"
        "    async with await asyncio.start_server(serve, '127.0.0.1', 0) as server:\n"
        "        port = server.sockets[0].getsockname()[1]\n"
        "        async with aclosing(await open_server(f'http://127.0.0.1:{port}/v1', {})) as opened:\n"
        "            reply = await opened.post('x', {}, b'{}', 5.0)\n"
        "            print(await reply.read(), 'httpx2' in sys.modules)\n"
        "asyncio.run(main())\n"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "b'ok' False"
