"""Claims about the proxy of confined commands: it connects to the address that was judged, and to no other."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import cast

import pytest

from angelia.sandboxes.egress.addresses import no_addresses
from angelia.sandboxes.egress.proxy import EgressProxy, ProxyLimits

from .egress_world import Names, web

pytestmark = pytest.mark.anyio

OPEN = "127.0.0.0/8"
Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


@asynccontextmanager
async def proxied(proxy: EgressProxy, *hosts: str) -> AsyncIterator[Connect]:
    """A proxy on loopback; gives a way to connect to it."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    await proxy.serve(listening, hosts)
    async with AsyncExitStack() as stack:

        async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            stack.callback(writer.close)
            return reader, writer

        yield connect
    await proxy.close()


async def ask(connect: Connect, request: str, body: bytes = b"") -> bytes:
    """What comes back until the connection ends."""
    reader, writer = await connect()
    writer.write(f"{request}\r\n\r\n".encode() + body)
    return await reader.read()


def get(host: str, port: int) -> str:
    return f"GET http://{host}:{port}/x HTTP/1.1"


async def test_a_name_that_answers_otherwise_the_next_time_changes_nothing() -> None:
    async with web("judged", host="127.0.0.2") as judged, web("other", port=judged.port):
        names = Names("127.0.0.2/32", name=[["127.0.0.2"], ["127.0.0.1"]])
        async with proxied(EgressProxy(names.addresses)) as connect:
            assert (await ask(connect, get("name.example", judged.port))).endswith(b"judged")
            assert names.asked == ["name.example"]  # once, and what was judged is what was reached
            refused = await ask(connect, get("name.example", judged.port))
    assert b"403" in refused
    assert b"127.0.0.1 is this machine" in refused


async def test_one_refused_address_refuses_a_name() -> None:
    names = Names("127.0.0.2/32", name=[["127.0.0.2", "10.0.0.1"]])
    async with web("here", host="127.0.0.2") as here, proxied(EgressProxy(names.addresses)) as connect:
        assert b"10.0.0.1 is a private network" in await ask(connect, get("name.example", here.port))
    assert not here.heard


@pytest.mark.parametrize("form", ["GET http://{}/ HTTP/1.1", "CONNECT {} HTTP/1.1"])
@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("127.0.0.1:8000", "allow_ranges"),
        ("[::1]:8000", "allow_ranges"),
        ("10.1.2.3:80", "allow_ranges"),
        ("192.168.1.1:443", "allow_ranges"),
        ("169.254.1.1:80", "allow_ranges"),
        ("169.254.169.254:80", "metadata service"),
        ("[fd00:ec2::254]:80", "metadata service"),
        ("[::ffff:127.0.0.1]:8000", "allow_ranges"),
        ("metadata.google.internal:80", "metadata service"),
        ("2130706433:8000", "only looks like a host"),
        ("0x7f.1:8000", "only looks like a host"),
        ("inside.example:8000", "allow_ranges"),
        ("public.example:22", "belongs to another service"),
    ],
)
async def test_private_places_are_refused_in_both_forms_as_for_fetch(form: str, where: str, reason: str) -> None:
    names = Names(inside=[["10.0.0.1"]], public=[["93.184.216.34"]])
    async with proxied(EgressProxy(names.addresses)) as connect:
        refused = (await ask(connect, form.format(where))).decode()
    assert refused.startswith("HTTP/1.1 403 ")
    status, _, body = refused.partition("\r\n")
    assert reason in status  # of a tunnel's response many programs show the first line alone
    assert reason in body


async def test_without_a_judge_nothing_is_reached() -> None:
    async with web("here") as here, proxied(EgressProxy(no_addresses)) as connect:
        assert b"403" in await ask(connect, get("127.0.0.1", here.port))
    assert not here.heard


async def test_a_host_that_was_not_granted_is_not_even_resolved_and_the_refusal_names_it() -> None:
    names = Names(OPEN, a=[["127.0.0.1"]], b=[["127.0.0.1"]])
    async with web("here") as here, proxied(EgressProxy(names.addresses), "A.example.") as connect:
        assert (await ask(connect, get("a.example", here.port))).endswith(b"here")
        refused = await ask(connect, get("b.example", here.port))
    assert b"b.example is not among the hosts that this command was granted: a.example." in refused
    assert names.asked == ["a.example"]


async def test_a_refusal_is_read_although_a_body_was_still_being_sent() -> None:
    body = bytes(3_000_000)
    request = f"POST http://b.example/ HTTP/1.1\r\nContent-Length: {len(body)}"
    async with proxied(EgressProxy(no_addresses), "a.example") as connect:
        assert b"403" in await ask(connect, request, body)


@pytest.mark.parametrize(
    ("more", "body"),
    [("Content-Length: 4", b"four"), ("Transfer-Encoding: chunked", b"4\r\nfour\r\n0\r\nTrailer: x\r\n\r\n")],
)
async def test_a_connection_carries_one_request_and_its_body(more: str, body: bytes) -> None:
    heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A server that would take more requests, whatever it is told."""
        await reader.readuntil(b"\r\n\r\n")
        first = await reader.readexactly(len(body))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        heard.set_result(first + await reader.read())
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    names = Names(OPEN, a=[["127.0.0.1"]])
    async with server, proxied(EgressProxy(names.addresses)) as connect:
        reader, writer = await connect()
        request = f"POST http://a.example:{server.sockets[0].getsockname()[1]}/ HTTP/1.1\r\n{more}\r\n\r\n"
        writer.write(request.encode() + body + b"GET http://b.example/ HTTP/1.1\r\n\r\n")
        assert b"Connection: close" in await reader.readuntil(b"ok")
        writer.close()
        assert await heard == body


async def test_a_tunnel_passes_bytes_both_ways_and_the_end_of_either() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"<" + await reader.read() + b">")
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    names = Names(OPEN, a=[["127.0.0.1"]])
    async with server, proxied(EgressProxy(names.addresses)) as connect:
        reader, writer = await connect()
        writer.write(f"CONNECT a.example:{server.sockets[0].getsockname()[1]} HTTP/1.1\r\n\r\n".encode())
        writer.write(b"said before the answer came")
        assert b"200" in await reader.readuntil(b"\r\n\r\n")
        writer.write_eof()
        assert await reader.read() == b"<said before the answer came>"


async def test_a_hundred_connections_at_once_are_served() -> None:
    names = Names(OPEN, a=[["127.0.0.1"]])
    async with web("here") as here, proxied(EgressProxy(names.addresses)) as connect:
        said = await asyncio.gather(*(ask(connect, get("a.example", here.port)) for _ in range(100)))
    assert all(one.endswith(b"here") for one in said)


async def test_over_the_most_connections_one_is_refused_and_a_closed_one_makes_place() -> None:
    names = Names(OPEN, a=[["127.0.0.1"]])
    proxy = EgressProxy(names.addresses, ProxyLimits(connections=1))
    async with web("here") as here, proxied(proxy) as connect:
        reader, writer = await connect()
        writer.write(f"CONNECT a.example:{here.port} HTTP/1.1\r\n\r\n".encode())
        assert b"200" in await reader.readuntil(b"\r\n\r\n")
        assert b"503" in await ask(connect, get("a.example", here.port))
        writer.write(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
        assert (await reader.read()).endswith(b"here")
        writer.close()
        while b"503" in (said := await ask(connect, get("a.example", here.port))):
            pass  # the proxy has not seen the end of the first one yet
        assert said.endswith(b"here")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET http://a.example/ HT", b"408"),
        (b"", b"408"),
        (b"GET http://a.example/ HTTP/1.1\r\nA: " + b"x" * 99_999, b"431"),
    ],
)
async def test_a_head_that_is_late_or_endless_is_refused(sent: bytes, status: bytes) -> None:
    async with proxied(EgressProxy(no_addresses, ProxyLimits(head=0.2))) as connect:
        reader, writer = await connect()
        writer.write(sent)
        assert status in await reader.read()


async def test_a_server_that_is_not_there_is_told_from_one_that_is_refused() -> None:
    names = Names(OPEN, a=[["127.0.0.1"]])
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    async with proxied(EgressProxy(names.addresses)) as connect:
        assert b"502 a.example:" in await ask(connect, get("a.example", port))
        assert b"502 The name unknown.example" in await ask(connect, get("unknown.example", port))


async def test_the_next_address_of_a_name_is_tried() -> None:
    async with web("here", host="127.0.0.2") as here:
        names = Names(OPEN, a=[["127.0.0.3", "127.0.0.2"]])
        async with proxied(EgressProxy(names.addresses)) as connect:
            assert (await ask(connect, get("a.example", here.port))).endswith(b"here")


async def test_a_server_is_read_no_faster_than_the_command_reads() -> None:
    full: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    class Flood(asyncio.Protocol):
        """Sends for as long as somebody takes it."""

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            assert isinstance(transport, asyncio.WriteTransport)
            self._transport, self._sent = transport, 0
            self.resume_writing()

        def pause_writing(self) -> None:
            self._paused = True

        def resume_writing(self) -> None:
            self._paused = False
            asyncio.get_running_loop().call_soon(self._more)

        def _more(self) -> None:
            if self._paused or self._sent > 200_000_000:
                return
            self._transport.write(bytes(100_000))
            self._sent += 100_000
            asyncio.get_running_loop().call_soon(self._more)

        def connection_lost(self, _: Exception | None) -> None:
            full.set_result(self._sent)

    server = await asyncio.get_running_loop().create_server(Flood, "127.0.0.1", 0)
    names = Names(OPEN, a=[["127.0.0.1"]])
    proxy = EgressProxy(names.addresses)
    async with server, proxied(proxy) as connect:
        _, writer = await connect()
        cast("asyncio.Transport", writer.transport).pause_reading()
        writer.write(f"CONNECT a.example:{server.sockets[0].getsockname()[1]} HTTP/1.1\r\n\r\n".encode())
        for _ in range(3000):
            await asyncio.sleep(0)  # many turns of the loop, in which nothing holds the server up but the proxy
        writer.transport.abort()
        assert await full < 50_000_000


async def test_what_is_open_ends_with_the_proxy() -> None:
    names = Names(OPEN, a=[["127.0.0.1"]])
    proxy = EgressProxy(names.addresses)
    async with web("here") as here, proxied(proxy) as connect:
        reader, writer = await connect()
        writer.write(f"CONNECT a.example:{here.port} HTTP/1.1\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        await proxy.close()
        with suppress(ConnectionError):  # the end comes as one or the other
            assert not await reader.read()
        with pytest.raises(OSError, match="Connect call failed"):
            await connect()
    assert proxy.connections == 0


async def test_one_that_is_cancelled_as_it_begins_leaves_nothing_that_listens() -> None:
    proxy, listening = EgressProxy(Names(OPEN).addresses), socket.create_server(("127.0.0.1", 0))
    beginning = asyncio.create_task(proxy.serve(listening, ()))
    await asyncio.sleep(0)
    beginning.cancel()
    await asyncio.gather(beginning, return_exceptions=True)
    assert listening.fileno() == -1
