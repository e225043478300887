"""The pipe by which a browser of ours is spoken to: messages that end with a NUL, in both directions.

There is no port that somebody else could connect to, and the browser ends with it.
"""

import asyncio
import os
from collections.abc import Callable

MOST_MESSAGE = 256 * 1024 * 1024
"""Bytes of one message. A page's picture comes in one; anything above this is no answer to a question of ours."""


class PipeTransport:
    """See `cdp.Transport`. Its methods belong to one event loop."""

    def __init__(self, reading: int, writing: int) -> None:
        """`reading` and `writing` are ends of pipes, and become ours."""
        self._reading, self._writing = reading, writing
        self._held: list[bytes] = []
        self._unsent = bytearray()
        self._loop = asyncio.get_running_loop()
        self._take: Callable[[bytes], None] = lambda _: None
        self._ended: Callable[[], None] = lambda: None
        for handle in (reading, writing):
            os.set_blocking(handle, False)

    def begin(self, take: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        """Hand each message to `take`, until `ended` is called."""
        self._take, self._ended = take, ended
        self._loop.add_reader(self._reading, self._read)

    def send(self, message: bytes) -> None:
        """Have a message on its way."""
        if self._reading >= 0:
            self._unsent += message + b"\0"
            self._write()

    def close(self) -> None:
        """Hang up. Idempotent."""
        if self._reading < 0:
            return
        self._loop.remove_reader(self._reading)
        self._loop.remove_writer(self._writing)
        for handle in (self._reading, self._writing):
            os.close(handle)
        self._reading = self._writing = -1
        self._ended()

    def _write(self) -> None:
        try:
            written = os.write(self._writing, self._unsent)
        except BlockingIOError:
            written = 0
        except OSError:
            self.close()
            return
        del self._unsent[:written]
        if self._unsent:
            self._loop.add_writer(self._writing, self._write)
        else:
            self._loop.remove_writer(self._writing)

    def _read(self) -> None:
        try:
            data = os.read(self._reading, 1 << 20)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        *whole, rest = data.split(b"\0")
        for piece in whole:
            self._held.append(piece)
            message = b"".join(self._held)
            self._held.clear()
            self._take(message)
        if rest:
            self._held.append(rest)
            if sum(map(len, self._held)) > MOST_MESSAGE:
                self.close()
