"""Straight to a server over real sockets: connections are kept while they are sound, and nothing waits for ever."""

import asyncio
import gc
import random
import ssl
import subprocess
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx2
import pytest

from angelia.http.client import http_client
from angelia.http.pool import ConnectionPool
from angelia.http.transport import DirectTransport
from tests.models.loopback import STREAM, Peer, Server, chunked, says

pytestmark = pytest.mark.anyio
HI = says("200 OK", b"Hi", kind=b"text/plain")


@pytest.fixture
async def few(server: Server) -> AsyncIterator[httpx2.AsyncClient]:
    """A client that keeps one connection."""
    async with httpx2.AsyncClient(
        transport=DirectTransport(ConnectionPool(None, most_idle=1, keep=60.0)), base_url=server.url
    ) as client:
        yield client


async def test_no_more_connections_are_kept_than_there_may_be(server: Server, few: httpx2.AsyncClient) -> None:
    both = asyncio.Barrier(2)

    async def meets(peer: Peer) -> None:
        await both.wait()
        await HI(peer)

    server.answers = [meets, meets, HI]
    first, second = await asyncio.gather(few.get("a"), few.get("b"))
    assert (first.text, second.text, server.connections) == ("Hi", "Hi", 2)
    both_again = await asyncio.gather(few.get("c"), few.get("d"))
    assert [one.text for one in both_again] == ["Hi", "Hi"]
    assert server.connections == 3


async def test_a_connection_that_was_closed_meanwhile_is_not_used_again(
    server: Server, http: httpx2.AsyncClient
) -> None:
    closed = asyncio.Event()

    async def once(peer: Peer) -> None:
        await HI(peer)
        peer.writer.close()
        await peer.writer.wait_closed()
        closed.set()

    server.answers = [once, once, HI]
    for _ in range(3):
        closed.clear()
        assert (await http.get("x")).text == "Hi"
        if len(server.requests) < 3:
            await closed.wait()
    assert server.connections == 3


async def test_a_connection_is_kept_no_longer_than_it_may_be(server: Server) -> None:
    server.answers = [HI]
    async with httpx2.AsyncClient(
        transport=DirectTransport(ConnectionPool(None, most_idle=9, keep=-1.0)), base_url=server.url
    ) as client:
        assert [(await client.get("x")).text for _ in range(2)] == ["Hi", "Hi"]
    assert server.connections == 2


async def test_a_reply_that_is_left_in_the_middle_hangs_up(server: Server, http: httpx2.AsyncClient) -> None:
    async def holding(peer: Peer) -> None:
        await peer.send(STREAM, chunked(b"some", end=False))
        await server.over.wait()

    server.answers = [holding, HI]
    async with http.stream("POST", "x") as response:
        assert await anext(response.aiter_raw()) == b"some"
    assert (await http.get("x")).text == "Hi"
    assert server.connections == 2


@asynccontextmanager
async def serving(chat: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> AsyncIterator[str]:
    """The URL of a server for one connection, which has let go of it afterwards."""
    left = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await chat(reader, writer)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        left.set()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
    listening.close()
    await asyncio.wait_for(left.wait(), 60)


async def test_a_server_that_refuses_a_large_body_early_is_heard(http: httpx2.AsyncClient) -> None:
    """It reads no further than the head: its answer counts, not that it takes nothing in."""
    heard = asyncio.Event()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Content Too Large\r\ncontent-length: 3\r\n\r\nno!")
        await asyncio.wait_for(heard.wait(), 60)

    async with serving(refuse) as url:
        response = await http.post(url, content=b"x" * 30_000_000)
        heard.set()
    assert (response.status_code, response.text) == (413, "no!")


async def test_a_body_without_a_length_goes_out_in_chunks(http: httpx2.AsyncClient) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for part in (b"Hello", b"", b", world"):
            yield part

    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.extend([await reader.readuntil(b"\r\n\r\n"), await reader.readuntil(b"0\r\n\r\n")])
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    async with serving(listen) as url:
        assert (await http.post(url, content=parts())).status_code == 204
    head, body = heard
    assert b"transfer-encoding: chunked" in head.lower()
    assert body == b"5\r\nHello\r\n7\r\n, world\r\n0\r\n\r\n"


async def test_a_slow_reader_does_not_make_us_hold_everything(server: Server, http: httpx2.AsyncClient) -> None:
    """A server that has more to say than we hold is made to wait, and nothing of it is lost."""
    piece = bytes(range(256)) * 256
    said = 0

    async def talks(peer: Peer) -> None:
        nonlocal said
        await peer.send(STREAM)
        for _ in range(400):
            await peer.send(chunked(piece, end=False))
            said += 1
        await peer.send(b"0\r\n\r\n")

    server.answers = [talks]
    async with http.stream("POST", "x") as response:
        pieces = response.aiter_raw()
        read = len(await anext(pieces))
        for _ in range(2000):  # turns of the loop in which nobody reads
            await asyncio.sleep(0)
        assert said < 400
        read += sum([len(more) async for more in pieces])
    assert read == 400 * len(piece)


async def test_every_silence_has_its_end(server: Server, http: httpx2.AsyncClient) -> None:
    async def silent(_: Peer) -> None:
        await server.over.wait()

    async def half(peer: Peer) -> None:
        await peer.send(STREAM, chunked(b"some", end=False))
        await server.over.wait()

    server.answers = [silent, half]
    for _ in range(2):
        with pytest.raises(httpx2.ReadTimeout):
            await http.get("x", timeout=httpx2.Timeout(10.0, read=0.05))


async def test_what_cannot_be_reached_or_is_no_server_says_so(server: Server, http: httpx2.AsyncClient) -> None:
    async def rambles(peer: Peer) -> None:
        await peer.send(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")

    async def leaves(peer: Peer) -> None:
        peer.reset()

    server.answers = [rambles, leaves]
    with pytest.raises(httpx2.RemoteProtocolError, match="SSH"):
        await http.get("x")
    with pytest.raises((httpx2.ReadError, httpx2.RemoteProtocolError)):
        await http.get("x")
    with pytest.raises(httpx2.ConnectError):
        await http.get("http://127.0.0.1:1/")
    with pytest.raises(httpx2.UnsupportedProtocol):
        await http.get("ftp://127.0.0.1/")


async def test_no_header_can_begin_another(server: Server, http: httpx2.AsyncClient) -> None:
    server.answers = [HI]
    with pytest.raises(httpx2.LocalProtocolError):
        await http.get("x", headers={"authorization": "Bearer sk\r\nx-other: 1"})
    assert not server.requests
    assert (await http.get("x")).text == "Hi"


@pytest.mark.real("openssl")
async def test_tls_is_checked_against_the_authorities_and_the_name(server: Server, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=here"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command.split(), *names], check=True, capture_output=True)  # noqa: ASYNC221 - nothing else runs
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    port = listening.sockets[0].getsockname()[1]
    server.answers = [HI]
    async with await http_client(f"https://127.0.0.1:{port}/v1", {"SSL_CERT_FILE": str(certificate)}) as knows:
        assert [(await knows.get("x")).text for _ in range(3)] == ["Hi"] * 3
        assert server.connections == 1
        with pytest.raises(httpx2.ConnectError, match="certificate"):
            await knows.get(f"https://localhost:{port}/")
    async with await http_client(f"https://127.0.0.1:{port}/v1", {}) as knows_not:
        with pytest.raises(httpx2.ConnectError, match="certificate"):
            await knows_not.get("x")
    listening.close()


async def test_what_was_not_read_of_a_reply_belongs_to_no_other(server: Server, http: httpx2.AsyncClient) -> None:
    server.answers = [says("429 Too Many Requests", b"not read"), HI]
    async with http.stream("GET", "x"):
        pass
    assert (await http.get("x")).text == "Hi"


def _numbered(number: int, way: str) -> bytes:
    """A reply that nothing else could be, framed in one of the ways of HTTP."""
    body = b"".join(b"<%d>" % number for _ in range(1 + number * 37 % 5000))
    pieces = [body[at : at + 700] for at in range(0, len(body), 700)]
    match way:
        case "chunks":
            return STREAM + chunked(*pieces)
        case "until closed":
            return b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + body
        case _:
            return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body


@pytest.mark.parametrize("seed", range(12))
async def test_every_request_gets_its_own_reply_whatever_became_of_those_before(
    server: Server, http: httpx2.AsyncClient, seed: int
) -> None:
    """Several tasks at once read replies whole, in part, not at all, or stop waiting for them."""
    drawn = random.Random(seed)

    async def replies(peer: Peer) -> None:
        number = int(peer.head.split()[1].rpartition(b"/")[2])
        raw = _numbered(number, ("chunks", "length", "until closed")[number % 3])
        cuts = sorted(random.Random(number).sample(range(len(raw)), 4))
        for begin, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
            await peer.send(raw[begin:end])
            await asyncio.sleep(0)
        if number % 3 == 2:
            peer.writer.close()

    async def one(number: int) -> None:
        async with http.stream("GET", str(number)) as response:
            match drawn.choice(("whole", "whole", "some", "nothing", "stop")):
                case "whole":
                    assert set((await response.aread()).decode().split("<")[1:]) == {f"{number}>"}
                case "some":
                    some = await anext(response.aiter_raw())
                    assert f"<{number}>".encode().startswith(some[: len(f"<{number}>")])
                case "stop":
                    with suppress(TimeoutError):
                        async with asyncio.timeout(0):
                            await response.aread()
                case _:
                    for _ in range(drawn.choice((0, 60))):  # turns of the loop in which all of it may come
                        await asyncio.sleep(0)

    async def some(numbers: range) -> None:
        for number in numbers:
            await one(number)

    server.answers = [replies]
    await asyncio.gather(*(some(range(first, first + 15)) for first in (100, 200, 300)))
    assert len(server.requests) == 45


async def test_stopping_while_it_connects_leaves_no_socket_behind(server: Server) -> None:
    server.answers = [HI]
    with warnings.catch_warnings(record=True) as left:
        warnings.simplefilter("always")
        for turns in range(15):
            direct = DirectTransport(ConnectionPool(None, most_idle=1, keep=60.0))
            async with httpx2.AsyncClient(transport=direct, base_url=server.url) as client:
                asking = asyncio.create_task(client.get("x"))
                for _ in range(turns):
                    await asyncio.sleep(0)
                asking.cancel()
                with suppress(asyncio.CancelledError):
                    await asking
        gc.collect()
    assert not [one for one in left if issubclass(one.category, ResourceWarning)]
