"""A command on another machine as a stream: one session of the connection, held back when nobody reads.

asyncssh's own streams do not hold back: a reader that is slower than the other side is granted a whole window for each
packet it takes from a full buffer, and the buffer grows without end (2.24, `channel.py`, `_deliver_data`). Here reading
is paused only when the channel holds nothing, and resumed only when we hold nothing, which makes it two windows.
"""

import asyncio
from collections import deque
from typing import Any

import asyncssh

from angelia.sandboxes.by_commands.launcher import quoted
from angelia.sandboxes.port import StderrMode, Unreachable
from angelia.sandboxes.shared.error_tail import ErrorTail
from angelia.sandboxes.ssh.connection import SshConnection

CHUNK = 256 * 1024
"""Bytes handed on at once, and held before reading is paused."""
WINDOW = 1 << 20
"""Bytes that the other side may send ahead."""


class SshExecStream(asyncssh.SSHClientSession[bytes]):
    """See `sandboxes.by_commands.stream_port.ExecStream`. What comes by standard error, such as a login script's
    words, is passed over, unless errors are to be apart.
    """

    _channel: "asyncssh.SSHClientChannel[bytes]"

    def __init__(self, host: str, errors: StderrMode) -> None:
        self._host = host
        self._errors = ErrorTail() if errors is StderrMode.APART else None
        self._loop = asyncio.get_running_loop()
        self._chunks: deque[bytes] = deque()
        self._held = 0
        self._paused = self._ended = False
        self._changed = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._lost = asyncio.Event()

    def connection_made(self, chan: "asyncssh.SSHClientChannel[bytes]") -> None:
        """The session is open."""
        self._channel = chan

    def data_received(self, data: bytes, datatype: Any) -> None:
        """Some output came."""
        if datatype is not None:
            if self._errors is not None:
                self._errors.add(data)
            return
        self._chunks.append(data)
        self._held += len(data)
        self._changed.set()
        if self._held >= CHUNK and not self._paused:
            self._paused = True
            self._loop.call_soon(self._pause)  # not now: the channel may be handing on more, and must hold nothing

    def eof_received(self) -> bool:
        """No more output comes; input may still go."""
        self._ended = True
        self._changed.set()
        return True

    def pause_writing(self) -> None:
        """The other side takes no more input for now."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """It does again."""
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The session is over, in whatever way."""
        for event in (self._lost, self._changed, self._writable):
            event.set()

    async def read(self) -> bytes:
        """Some output, nothing at its end; a cut is an end, too, which then has no status."""
        while not self._chunks:
            if self._ended or self._lost.is_set():
                return b""
            self._changed.clear()
            self._resume()
            await self._changed.wait()
        taken = [self._chunks.popleft()]
        size = len(taken[0])
        while self._chunks and size < CHUNK:
            taken.append(self._chunks.popleft())
            size += len(taken[-1])
        self._held -= size
        return b"".join(taken)

    @property
    def last_errors(self) -> bytes:
        """The end of what came by the second output, where that is apart."""
        return self._errors.last if self._errors is not None else b""

    async def write(self, data: bytes) -> None:
        """Send input."""
        try:
            self._channel.write(data)
        except OSError as error:
            raise self._cut() from error
        await self._writable.wait()
        if self._lost.is_set():
            raise self._cut()

    async def end_input(self) -> None:
        """Let the input end after what was sent."""
        try:
            self._channel.write_eof()
        except OSError as error:
            raise self._cut() from error

    async def status(self) -> int:
        """Its status; where a signal ended the launcher itself, as shells say it."""
        await self._lost.wait()
        status = self._channel.get_returncode()
        if status is None:
            raise self._cut()
        return status if status >= 0 else 128 - status

    async def close(self) -> None:
        """Let go; the launcher takes that for the word to end."""
        self._channel.close()

    def _pause(self) -> None:
        if self._paused and not self._lost.is_set():
            self._channel.pause_reading()

    def _resume(self) -> None:
        if self._paused:
            self._paused = False
            self._channel.resume_reading()

    def _cut(self) -> Unreachable:
        return Unreachable(
            f"The connection to {self._host} was cut while the command ran.",
            "It has been ended there as soon as that machine noticed.",
            "See what it has done before you run it again; the next command connects anew.",
        )


async def session_wire(link: SshConnection, line: str, errors: StderrMode) -> SshExecStream:
    """Start `/bin/sh -c line` over there.

    Raises:
        AccessRefused, Unreachable: there is no connection.
    """

    async def begin(connection: asyncssh.SSHClientConnection) -> SshExecStream:
        wire = SshExecStream(link.host, errors)
        command = f"exec /bin/sh -c {quoted(line)}"
        await connection.create_session(lambda: wire, command, encoding=None, window=WINDOW)
        return wire

    return await link.use(begin)
