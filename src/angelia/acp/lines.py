"""Messages as lines: read with a bound on their length, and written whole, in order."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
from msgspec import Struct

from angelia.core.errors import UNREADABLE

MOST_BYTES = 50_000_000
"""The longest message that is taken: five pictures of 7 MB, since base64 adds a third."""

HEAD = 4_096
"""Bytes that are kept of either end of a line that is too long, enough to find out whose answer waits for it."""

_CHUNK = 262_144
_ID = rb'"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")\s*'
_EARLY = re.compile(_ID + rb"[,}]")
_LATE = re.compile(_ID + rb'(?:,\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*)*\}\s*$')
_BODY = re.compile(rb'"(?:params|result|error)"\s*:')


class TooLong(Struct, frozen=True):
    """A line over the limit: its beginning, its end, and how many bytes it had."""

    head: bytes
    tail: bytes
    size: int


class AcpGone(Exception):
    """Nobody reads what we write any more."""


async def lines_in(read: Callable[[int], Awaitable[bytes]], most: int = MOST_BYTES) -> AsyncIterator[bytes | TooLong]:
    """The lines of a stream, empty ones left out; what is longer than `most` bytes is told of and not kept."""
    held, size = bytearray(), 0
    while chunk := await read(_CHUNK):
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            held += piece
            if line := _line(held, size + len(piece), most):
                yield line
            held, size = bytearray(), 0
        held += rest
        size += len(rest)
        if size > most:
            del held[HEAD:-HEAD]
    if line := _line(held, size, most):
        yield line


def _line(held: bytearray, size: int, most: int) -> bytes | TooLong:
    return TooLong(bytes(held[:HEAD]), bytes(held[-HEAD:]), size) if size > most else bytes(held).strip()


def id_in(head: bytes, tail: bytes) -> int | str | None:
    """The id of a message that cannot be read, so that nobody waits for it in vain: before what it says, or behind.

    >>> id_in(b'{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"id":8', b'"id":9}}')
    7
    >>> id_in(b'{"params":{"id":8', b'"id":9},"id":7,"method":"session/prompt"}')
    7
    """
    found = _EARLY.search(_BODY.split(head, 1)[0]) or _LATE.search(tail)
    try:
        return msgspec.json.decode(found[1], type=int | str) if found else None
    except UNREADABLE:
        return None


class LineWriter(asyncio.BaseProtocol):
    """The writing end of a pipe; given to `loop.connect_write_pipe`, which calls it back."""

    def __init__(self) -> None:
        self._pipe: asyncio.WriteTransport | None = None
        self._empty = asyncio.Event()
        self._empty.set()
        self._gone = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The pipe is there. Without a reserve, `flushed` means that the other side's end of the pipe holds it all."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._pipe = transport
        transport.set_write_buffer_limits(high=0)

    def pause_writing(self) -> None:
        """Something waits to be written."""
        self._empty.clear()

    def resume_writing(self) -> None:
        """All of it is written."""
        self._empty.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The reader went away."""
        self._gone = True
        self._empty.set()

    def write(self, message: bytes) -> None:
        """Write one message after all that came before; to nobody, if nobody is there."""
        if self._pipe and not self._gone:
            self._pipe.write(message + b"\n")

    def leave(self) -> None:
        """Write no more; what waits for the reader is let go."""
        if self._pipe:
            self._pipe.abort()

    async def flushed(self) -> None:
        """Wait until everything is written.

        Raises:
            AcpGone: nobody reads it.
        """
        await self._empty.wait()
        if self._gone or self._pipe is None or self._pipe.is_closing():
            raise AcpGone
