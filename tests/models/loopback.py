"""A loopback server that says exactly what a test hands it."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

Answer = Callable[["Peer"], Awaitable[None]]


@dataclass
class Peer:
    """One request as the server got it, and the socket to answer on."""

    head: bytes
    body: bytes
    connection: int
    writer: asyncio.StreamWriter

    async def send(self, *pieces: bytes) -> None:
        """Write, piece by piece."""
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()

    def reset(self) -> None:
        """Close with a TCP reset: what is in flight is lost."""
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


@dataclass
class Server:
    """Answers requests in the order of `answers`; the last one answers all that follow."""

    answers: list[Answer] = field(default_factory=list)
    requests: list[Peer] = field(default_factory=list)
    url: str = ""
    connections: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.connections += 1
        number = self.connections
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                sizes = [line[15:] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
                peer = Peer(head, await reader.readexactly(int(sizes[0]) if sizes else 0), number, writer)
                self.requests.append(peer)
                await self.answers[min(len(self.requests), len(self.answers)) - 1](peer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client went away, which is its right
        finally:
            writer.close()


def chunked(*chunks: bytes, end: bool = True) -> bytes:
    """Chunks as HTTP/1.1 frames them; without `end`, the body is cut."""
    framed = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return framed + (b"0\r\n\r\n" if end else b"")


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
"""The head of a streamed reply."""


def streams(*chunks: bytes) -> Answer:
    """An answer that streams these chunks and ends cleanly."""

    async def answer(peer: Peer) -> None:
        await peer.send(STREAM, chunked(*chunks))

    return answer


def says(status: str, body: bytes, *headers: bytes, kind: bytes = b"application/json") -> Answer:
    """An answer that is not streamed."""

    async def answer(peer: Peer) -> None:
        lines = [f"HTTP/1.1 {status}".encode(), b"content-type: " + kind, b"content-length: %d" % len(body), *headers]
        await peer.send(b"\r\n".join(lines) + b"\r\n\r\n" + body)

    return answer
