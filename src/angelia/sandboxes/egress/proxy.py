"""The HTTP proxy through which confined commands reach the network: it judges each host and connects to what it judged.

A client says a name; the name is resolved once, by the function that was handed in, which judges every address behind
it and returns them or refuses; the connection goes to one of these very addresses. So a name that answers otherwise the
next time changes nothing, and a redirect is a further request, judged like the first. Where a command was granted some
hosts and not the network, other names are not even resolved.

What passes through a tunnel is not seen: whoever runs a granted host, or shares its address, may be told whatever the
command knows, and may pass it on.

Bounded: connections at a time, bytes of a head, seconds until there is a whole head, and until somebody has answered.
An open tunnel may be silent for as long as its command lives. Nobody is read faster than the other side takes it.
"""

import asyncio
import ipaddress
import os
import socket
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress

from msgspec import Struct

from angelia.cancellation import cancel_and_wait
from angelia.core.errors import AngeliaError, PolicyDenied
from angelia.core.text import clean, one_line
from angelia.sandboxes.egress.addresses import Addresses
from angelia.sandboxes.egress.requests import (
    MOST_HEAD,
    Forward,
    ProxyRefusal,
    Target,
    Tunnel,
    read_request,
    read_response,
)

_CHUNK = 64 * 1024
_FAREWELL_S = 5.0
_MOST_REFUSALS = 5
"""So many are told about one command, each host once."""


class ProxyLimits(Struct, frozen=True):
    """`connections` at a time, over all commands of a sandbox; seconds for a request's head, until a connection
    stands, and of these for each address that a host has.

    A connection is two descriptors of ours, and a process often has 1,024.
    """

    connections: int = 200
    head: float = 30.0
    connect: float = 30.0
    address: float = 10.0


class EgressProxy:
    """The proxy of one sandbox; each command has an ear of its own in it, so its hosts are never another's."""

    def __init__(self, addresses: Addresses, limits: ProxyLimits = ProxyLimits()) -> None:  # noqa: B008  frozen
        self.addresses, self.limits = addresses, limits
        self.connections = 0
        self._served: set[ProxiedHosts] = set()

    async def serve(self, listening: socket.socket, hosts: Sequence[str]) -> "ProxiedHosts":
        """Answer whoever connects to `listening`, which becomes ours; without `hosts`, all public ones are reached."""
        served = ProxiedHosts(self, hosts, self._served.discard)
        await served.listen(listening)
        self._served.add(served)
        return served

    async def close(self) -> None:
        """End every connection. Idempotent."""
        await asyncio.gather(*(served.close() for served in tuple(self._served)))


class ProxiedHosts:
    """The network of one command: the hosts that it may reach, and what was refused."""

    def __init__(
        self, proxy: EgressProxy, hosts: Sequence[str], closed: Callable[["ProxiedHosts"], object] = lambda _: None
    ) -> None:
        self._proxy, self._closed = proxy, closed
        self._hosts = tuple(host.lower().rstrip(".") for host in hosts)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.refusals: dict[str, str] = {}

    async def listen(self, listening: socket.socket) -> None:
        """Begin."""
        # In two steps: whoever is cancelled as asyncio lets the loop go round has no server yet that could be closed.
        server = await asyncio.start_server(self._take, sock=listening, limit=MOST_HEAD, start_serving=False)
        try:
            await server.start_serving()
        except BaseException:
            server.close()
            raise
        self._server = server

    async def close(self) -> None:
        """Hear nobody any more, and cut what is open. Idempotent."""
        if self._server is not None:
            self._server.close()
        await cancel_and_wait(*self._tasks)
        self._closed(self)

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        limits = self._proxy.limits
        if self._proxy.connections >= limits.connections:
            # Nothing waits for such a one, not even for its request: they would be held without a bound.
            writer.write(_refusal(ProxyRefusal(503, f"{limits.connections} connections are open already.")))
            writer.close()
            return
        self._proxy.connections += 1
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(lambda task: self._over(task, writer))

    def _over(self, task: "asyncio.Task[None]", writer: asyncio.StreamWriter) -> None:
        self._tasks.discard(task)
        self._proxy.connections -= 1
        writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its first byte to its last."""
        # Either side may go away at any time: the other is told by the end of its connection.
        with suppress(OSError, EOFError):
            try:
                await self._answer(reader, writer)
            except ProxyRefusal as refusal:
                writer.write(_refusal(refusal))
            await _until_taken(reader, writer)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = read_request(await _head(reader, self._proxy.limits.head))
        far_reader, far = await self._connect(asked.target)
        try:
            match asked:
                case Tunnel():
                    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    await _both(_pass_on(reader, far), _pass_on(far_reader, writer))
                case Forward():
                    far.write(asked.head)
                    await _first(_send_body(reader, far, asked), self._respond(far_reader, writer))
        finally:
            far.transport.abort()

    async def _connect(self, target: Target) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to an address that was judged.

        Raises:
            ProxyRefusal: none is allowed, or none answers.
        """
        if self._hosts and target.host not in self._hosts:
            raise self._refused(
                target,
                f"{target.host} is not among the hosts that this command was granted: {', '.join(self._hosts)}. "
                "Name it in `hosts` as well, or ask for the whole network with none.",
            )
        failure = "nobody answered"
        with suppress(TimeoutError):
            async with asyncio.timeout(self._proxy.limits.connect):
                try:
                    judged = await self._proxy.addresses(target.origin, target.host, target.port)
                except PolicyDenied as denied:
                    raise self._refused(target, str(denied)) from denied
                except AngeliaError as error:
                    raise self._refused(target, str(error), 502) from error
                for address in judged:
                    try:
                        async with asyncio.timeout(self._proxy.limits.address):
                            return await _dial(address, target.port)
                    except OSError as error:  # a TimeoutError is one, and has no number
                        failure = os.strerror(error.errno) if error.errno else failure
        raise self._refused(target, f"{target.host}:{target.port} could not be reached: {failure}.", 502)

    def _refused(self, target: Target, sentence: str, status: int = 403) -> ProxyRefusal:
        if len(self.refusals) < _MOST_REFUSALS:
            self.refusals.setdefault(target.host, one_line(clean(sentence), 400))
        return ProxyRefusal(status, sentence)

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A response: interim heads, the head, then whatever comes until the server ends the connection."""
        status = 0
        while status < 200:
            try:
                status, head = read_response(await reader.readuntil(b"\r\n\r\n"))
            except EOFError:
                raise ProxyRefusal(502, "The server ended the connection before its response was whole.") from None
            except asyncio.LimitOverrunError:
                raise ProxyRefusal(502, f"The head of the server's response is over {MOST_HEAD:,} bytes.") from None
            writer.write(head)
        await _pass_on(reader, writer)


async def _dial(address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to an address, never to a name: that would be resolved again, by nobody who judges."""
    return await asyncio.open_connection(str(ipaddress.ip_address(address)), port, limit=MOST_HEAD)


async def _head(reader: asyncio.StreamReader, seconds: float) -> bytes:
    try:
        async with asyncio.timeout(seconds):
            return await reader.readuntil(b"\r\n\r\n")
    except TimeoutError:
        raise ProxyRefusal(408, f"The request's head was not whole after {seconds:g} seconds.") from None
    except asyncio.LimitOverrunError:
        raise ProxyRefusal(431, f"The request's head is over {MOST_HEAD:,} bytes.") from None


async def _both(one: Awaitable[None], other: Awaitable[None]) -> None:
    """Both ways at once; where one breaks, the other ends with it."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_awaited(one))
            group.create_task(_awaited(other))
    except* (OSError, EOFError, ProxyRefusal) as several:
        raise several.exceptions[0] from None


async def _first(one: Coroutine[None, None, None], other: Coroutine[None, None, None]) -> None:
    """Until either is done, which ends the other."""
    tasks = [asyncio.create_task(one), asyncio.create_task(other)]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await cancel_and_wait(*tasks)
    for task in done:
        task.result()


async def _awaited(one: Awaitable[None]) -> None:
    await one


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Everything that comes, no faster than it is taken, and its end."""
    while chunk := await reader.read(_CHUNK):
        writer.write(chunk)
        await writer.drain()
    writer.write_eof()


async def _send_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: Forward) -> None:
    """The request's body and not a byte more: what follows it is nobody's. Done when the client has gone.

    A server may refuse a body and not take it; its response is still to be read.
    """
    with suppress(OSError):
        await _send_to_end(reader, writer, asked)
    while await reader.read(_CHUNK):
        pass


async def _send_to_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: Forward) -> None:
    await _send_exactly(reader, writer, asked.length)
    while asked.chunked:
        line = await _body_line(reader, writer)
        if not (size := _chunk_size(line)):
            break
        await _send_exactly(reader, writer, size + 2)
    while asked.chunked and await _body_line(reader, writer) != b"\r\n":
        pass  # a trailer
    await writer.drain()


async def _body_line(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    try:
        line = await reader.readuntil(b"\r\n")
    except asyncio.LimitOverrunError:
        raise EOFError("a chunk's size or a trailer has no end") from None
    writer.write(line)
    return line


async def _send_exactly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: int) -> None:
    while left:
        chunk = await reader.read(min(left, _CHUNK))
        if not chunk:
            raise EOFError("the client ended in the middle of its body")
        left -= len(chunk)
        writer.write(chunk)
        await writer.drain()


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    if not digits or len(digits) > 15 or digits.strip(b"0123456789abcdefABCDEF"):
        raise EOFError(
            "a chunk's size cannot be read"
        )  # too late for a response of ours: the server's may be under way
    return int(digits, 16)


def _refusal(refusal: ProxyRefusal) -> bytes:
    """As a response. Its reason phrase is the sentence: of a tunnel's response few programs show more."""
    sentence = one_line(clean(refusal.sentence), 400)
    body = f"{sentence}\n".encode()
    head = f"HTTP/1.1 {refusal.status} {sentence}".encode("ascii", "replace")
    fields = f"\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    return head + fields.encode() + body


async def _until_taken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the other side has what was written, or some seconds.

    What it still sends is read and dropped: a connection that is closed over unread bytes is reset, and what the other
    side has not read by then is lost to it.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(_FAREWELL_S):
            await writer.drain()
            writer.write_eof()
            while await reader.read(_CHUNK):
                pass
