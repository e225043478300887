"""A command's pipes beside its output: an input that stays open, and errors that are kept apart."""

import asyncio
import os

from angelia.sandboxes.port import InputClosed, StderrMode, StdinMode
from angelia.sandboxes.shared.error_tail import ErrorTail

_CHUNK = 64 * 1024
"""Bytes given or taken at once: what a Linux pipe holds (pipe(7))."""
_MOST_READS = 16
"""How often errors are read once the command is over: what no signal reaches might write for ever."""


class CommandPipes:
    """Made before the process, `stdin` and `stderr` are its ends, or None; then `begin` or `give_up`; at last `end`."""

    def __init__(self, wanted: StdinMode, errors: StderrMode) -> None:
        """Raises OSError: no more files can be opened."""
        self._loop = asyncio.get_running_loop()
        self._errors = ErrorTail()
        self._turn = asyncio.Lock()
        self._waiting: asyncio.Future[None] | None = None
        self._writes: int | None = None
        self._reads: int | None = None
        self.stdin: int | None = None
        self.stderr: int | None = None
        try:
            if wanted is StdinMode.OPEN:
                self.stdin, self._writes = os.pipe()
                os.set_blocking(self._writes, False)
            if errors is StderrMode.APART:
                self._reads, self.stderr = os.pipe()
                os.set_blocking(self._reads, False)
        except OSError:
            self.give_up()
            raise

    def begin(self) -> None:
        """The process has its ends, and runs."""
        self._let_go_of_theirs()
        if self._reads is not None:
            self._loop.add_reader(self._reads, self._hear)

    def give_up(self) -> None:
        """There is no process."""
        self._let_go_of_theirs()
        self.end()

    def end(self) -> None:
        """It is over: take in its last errors, and refuse whoever writes."""
        self._close_input()
        for _ in range(_MOST_READS):
            self._hear(last=True)
        self._let_go_of_errors()

    @property
    def last_errors(self) -> bytes:
        """See the port."""
        return self._errors.last

    async def write(self, data: bytes) -> None:
        """See the port."""
        async with self._turn:
            rest = memoryview(data)
            while True:
                handle = self._writes
                if handle is None:
                    raise InputClosed("The command takes no input any more.", "It has ended, or its input was closed.")
                if not rest:
                    return
                try:
                    rest = rest[os.write(handle, rest[:_CHUNK]) :]
                    await asyncio.sleep(0)  # a flood of input must not starve everybody else
                except BlockingIOError:
                    await self._writable(handle)
                except BrokenPipeError:
                    self._close_input()

    async def close_input(self) -> None:
        """See the port."""
        async with self._turn:
            self._close_input()

    async def _writable(self, handle: int) -> None:
        self._waiting = self._loop.create_future()
        self._loop.add_writer(handle, _wake, self._waiting)
        try:
            await self._waiting
        finally:
            self._waiting = None
            if self._writes is not None:  # else it was let go of meanwhile, and its number may be somebody else's
                self._loop.remove_writer(handle)

    def _close_input(self) -> None:
        if self._writes is None:
            return
        handle, self._writes = self._writes, None
        self._loop.remove_writer(handle)
        os.close(handle)
        if self._waiting is not None:
            _wake(self._waiting)

    def _hear(self, *, last: bool = False) -> None:
        """Take in some of what there is. With `last` nobody who still holds the other end is waited for."""
        if self._reads is None:
            return
        try:
            data = os.read(self._reads, _CHUNK)
        except BlockingIOError:
            if not last:
                return
            data = b""
        self._errors.add(data)
        if not data:
            self._let_go_of_errors()

    def _let_go_of_errors(self) -> None:
        if self._reads is not None:
            self._loop.remove_reader(self._reads)
            os.close(self._reads)
            self._reads = None

    def _let_go_of_theirs(self) -> None:
        for handle in (self.stdin, self.stderr):
            if handle is not None:
                os.close(handle)
        self.stdin = self.stderr = None


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
