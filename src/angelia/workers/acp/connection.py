"""The line to a worker's program: what it writes is read in order and within bounds, what it is told waits its turn."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import msgspec
from msgspec import Struct

from angelia.acp.lines import TooLong, lines_in
from angelia.acp.rpc import Peer
from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.core.counts import counted
from angelia.core.ending import WorkerFate
from angelia.core.errors import UNREADABLE
from angelia.core.text import clean, one_line
from angelia.deadline import within
from angelia.sandboxes.port import Exit, Running, SandboxError

LONGEST_LINE = 20_000_000
"""Bytes of one message; a file of that size is none that is handed over as text."""

MOST_BYTES, MOST_MESSAGES = 200_000_000, 200_000
"""What may come between two things that are done about it; a person who reads it would need weeks."""

MOST_UNREADABLE = 20
"""Lines that are no messages: programs print a warning or two where they should not."""

FAREWELL_S = 0.5
"""Seconds that a program has to end once its input has ended."""


class Ended(Struct, frozen=True):
    """The line has ended: how, and what was seen of it."""

    fate: WorkerFate
    said: str


class _Anything(Struct, frozen=True):
    """A message of JSON-RPC, as far as one can be told from a line of something else."""

    jsonrpc: str


_anything = msgspec.json.Decoder(_Anything)


class Connection:
    """Reads until the program ends, or is of no use any more; `ended` is told of that once."""

    def __init__(
        self, running: Running, peer: Callable[[Callable[[bytes], None]], Peer], ended: Callable[[Ended], None]
    ) -> None:
        self.peer = peer(self._say)
        self._running, self._ended = running, ended
        self._space: Callable[[], Awaitable[None]] | None = None
        self._outgoing = asyncio.Queue[bytes]()
        self._bytes = self._messages = 0
        self._unreadable = 0
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._write())]

    def progressed(self) -> None:
        """Something was done about what came: what comes from now on is counted anew."""
        self._bytes = self._messages = 0

    def wait_for(self, space: Callable[[], Awaitable[None]]) -> None:
        """Take in no further message before there is space for what comes of it."""
        self._space = space

    def _say(self, message: bytes) -> None:
        self._outgoing.put_nowait(message + b"\n")

    async def _write(self) -> None:
        try:
            while True:
                end_if_cancelled()
                await self._running.write(await self._outgoing.get())
        except SandboxError:
            return  # it has ended, which whoever reads finds out with its last words

    async def _read(self) -> None:
        try:
            ended = await self._messages_until_its_end()
        except SandboxError as error:
            ended = Ended(WorkerFate.DIED, one_line(clean(error.what), 300))
        self._ended(ended)

    async def _messages_until_its_end(self) -> Ended:
        async for line in lines_in(_chunks(self._running.output()), LONGEST_LINE):
            if self._space:
                await self._space()
            if trouble := self._count(line):
                return trouble
            if isinstance(line, bytes) and self._readable(line):
                self.peer.receive(line)
            elif self._unreadable > MOST_UNREADABLE:
                said = one_line(clean(bytes(line).decode("utf-8", "replace")), 200) if isinstance(line, bytes) else ""
                return Ended(
                    WorkerFate.NONSENSE, f"no messages: {counted(self._unreadable, 'line')}; the last one: {said}"
                )
        return Ended(WorkerFate.DIED, await self.last_words())

    def _count(self, line: bytes | TooLong) -> Ended | None:
        size = line.size if isinstance(line, TooLong) else len(line)
        self._bytes, self._messages = self._bytes + size, self._messages + 1
        if isinstance(line, TooLong):
            said = f"one message had {size / 1e6:.0f} MB, and at most {LONGEST_LINE / 1e6:.0f} MB are taken"
            return Ended(WorkerFate.FLOODED, said)
        if self._bytes > MOST_BYTES or self._messages > MOST_MESSAGES:
            said = f"{counted(self._messages, 'message')} with {self._bytes / 1e6:.0f} MB came of nothing"
            return Ended(WorkerFate.FLOODED, said)
        return None

    def _readable(self, line: bytes) -> bool:
        try:
            _anything.decode(line)
        except UNREADABLE:
            self._unreadable += 1
            return False
        return True

    async def last_words(self) -> str:
        """How its program ended, and the last line of its complaints."""
        ended = await self._running.wait()
        errors = clean(self._running.last_errors.decode("utf-8", "replace")).splitlines()
        complaint = next((one_line(line, 200) for line in reversed(errors) if line.strip()), "")
        return f"{_how(ended)}{f', after it wrote: {complaint}' if complaint else ''}"

    async def close(self) -> Exit | None:
        """End the program with all that it has started; how it ended, None where nobody knows."""
        await cancel_and_wait(*self._tasks)
        await self.peer.close()
        try:
            await self._running.close_input()
            with suppress(TimeoutError):
                await within(FAREWELL_S, self._running.wait())
            await self._running.kill()
            return await self._running.wait()
        except SandboxError:
            return None


def _how(ended: Exit) -> str:
    if ended.timed_out:
        return "its time was up"
    return f"it was ended by signal {ended.signal}" if ended.signal else f"it ended with status {ended.status}"


def _chunks(output: AsyncIterator[bytes]) -> Callable[[int], Awaitable[bytes]]:
    async def read(_: int) -> bytes:
        return await anext(output, b"")

    return read
