"""A command at the other end of a stream, from its start to the end of the last process it started."""

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress

from angelia.core.text import clean, one_line
from angelia.sandboxes.by_commands.launcher import FIFO, GO, NO_FOLDER, NO_INPUT, READY, WORD, Launch, input_boot
from angelia.sandboxes.by_commands.stream_port import ExecStream, OpenWire
from angelia.sandboxes.by_commands.streamed_input import StreamedInput, closed
from angelia.sandboxes.local.processes import GRACE
from angelia.sandboxes.local.safe_open import shown
from angelia.sandboxes.port import Exit, NoSuchFile, OutOfSpace, SandboxError, SandboxGone, StderrMode, StdinMode

HELD = 256 * 1024
"""Bytes of output that are taken in before anybody reads them; then the command waits."""
_AFTER_KILL = 4 * HELD
"""Bytes that are kept of what still comes once the command is being ended."""
PATIENCE = 3.0
"""Seconds beyond the grace until a far side that does not obey is left to the end of its lifeline."""
_MOST_SAID = 64 * 1024
"""Bytes that a login may say before the launcher answers."""


class StreamedCommand:
    """See `sandboxes.port.Running`. `launched` makes one; the command has begun by then."""

    def __init__(
        self,
        name: str,
        wire: ExecStream,
        *,
        seconds: float,
        held: bytes,
        input_wire: ExecStream | None = None,
        patience: float = PATIENCE,
    ) -> None:
        """`input_wire` hands on what is written; `held` is what of its output has come already; `patience` is how many
        seconds beyond the grace the far side has to obey.
        """
        self._name, self._wire = name, wire
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._began = time.monotonic()
        self._chunks: deque[bytes] = deque([held] if held else [])
        self._held = len(held)
        self._changed = asyncio.Condition()
        self._timed_out = False
        self._killing: asyncio.Task[None] | None = None
        self._timer = self._loop.call_later(seconds, self._time_out) if seconds else None
        self._telling: asyncio.Task[None] | None = None
        self._following = self._loop.create_task(self._follow())
        self._input = StreamedInput(input_wire, self._following) if input_wire else None
        self._following.add_done_callback(self._over)

    @property
    def id(self) -> str:
        """Names the process for as long as the sandbox lives."""
        return self._name

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self._following.done()

    async def output(self) -> AsyncIterator[bytes]:
        """Stdout and stderr, in the order they were written; see the port.

        Raises:
            SandboxGone, Unreachable: the stream was cut; what became of the command is not known, its tree is ended.
        """
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._chunks or self._following.done())
                if not self._chunks:
                    break
                output = b"".join(self._chunks)  # all there is: whoever writes it has few turns to take
                self._chunks.clear()
                self._held = 0
                self._changed.notify_all()
            yield output
        self._following.result()

    @property
    def last_errors(self) -> bytes:
        """See the port."""
        return self._wire.last_errors

    async def write(self, data: bytes) -> None:
        """See the port. The launcher holds the command's input, too, so its closing is not seen."""
        if self._input is None:
            raise closed()
        await self._input.write(data)

    async def close_input(self) -> None:
        """See the port."""
        if self._input is not None:
            await self._input.close()

    async def wait(self) -> Exit:
        """Wait for the end; a command whose output nobody reads may be waiting for its reader."""
        return await asyncio.shield(self._following)

    async def kill(self) -> None:
        """TERM, then KILL after two seconds, to everything that belongs to it; its end is awaited."""
        if not self._following.done() and self._killing is None:
            self._killing = self._loop.create_task(self._kill())
        if self._killing is not None:
            await asyncio.shield(self._killing)

    def _time_out(self) -> None:
        self._timed_out = True
        self._killing = self._killing or self._loop.create_task(self._kill())

    async def _kill(self) -> None:
        await self._tell()  # from now on nothing waits for a reader
        with suppress(SandboxError):  # cut: the far side's lifeline has ended with it, and `_follow` tells
            await self._wire.write(WORD)
        _, late = await asyncio.wait([self._following], timeout=GRACE + self._patience)
        if late:
            await self._wire.close()
            await asyncio.wait([self._following])

    async def _follow(self) -> Exit:
        try:
            while chunk := await self._wire.read():
                await self._take(chunk)
            status = await self._wire.status()
        finally:
            if self._timer is not None:
                self._timer.cancel()
            await self._wire.close()
            if self._input is not None:
                await self._input.let_go()
        number = status - 128 if 128 < status <= 192 else 0
        return Exit(
            status=-1 if number else status,
            signal=number,
            timed_out=self._timed_out,
            seconds=time.monotonic() - self._began,
        )

    async def _take(self, chunk: bytes) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._held < HELD or self._killing is not None)
            if self._held < _AFTER_KILL:
                self._chunks.append(chunk)
                self._held += len(chunk)
                self._changed.notify_all()

    def _over(self, following: asyncio.Task[Exit]) -> None:
        following.exception()  # told to whoever waits or reads; where nobody does, asyncio need not complain
        self._telling = self._loop.create_task(self._tell())

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


async def launched(
    name: str, wire: ExecStream, launch: Launch, open_wire: OpenWire, *, patience: float
) -> StreamedCommand:
    """Hand a launcher its request, and the command its input; for one that stays open a second stream is opened.

    Raises:
        NoSuchFile: its working folder does not exist.
        OutOfSpace: its input could not be stored.
        SandboxGone, Unreachable: there is nobody who answers.
    """
    input_wire: ExecStream | None = None
    try:
        await wire.write(launch.request())
        word, rest = await _word(wire, launch.token)
        if word.startswith(FIFO):
            path = os.fsdecode(word.removeprefix(FIFO + b" "))
            input_wire = await open_wire(input_boot(launch, path), StderrMode.MERGED)
            await _word(input_wire, launch.token)
            await wire.write(GO)
        if word == READY and launch.command.stdin:
            await wire.write(launch.command.stdin)
            word, rest = await _word(wire, launch.token)
        if word == NO_FOLDER:
            raise NoSuchFile(f"There is no folder {shown(launch.cwd)} to work in.")
        if word == NO_INPUT:
            raise OutOfSpace(
                f"{len(launch.command.stdin)} bytes of input could not be stored there, where `mktemp` is."
                if launch.command.input is StdinMode.GIVEN
                else "No input can be made there that stays open: `mktemp -d` or `mkfifo` did not work."
            )
        seconds = launch.command.seconds
        return StreamedCommand(name, wire, seconds=seconds, held=rest, input_wire=input_wire, patience=patience)
    except BaseException:
        await wire.close()
        if input_wire is not None:
            await input_wire.close()
        raise


async def _word(wire: ExecStream, token: bytes) -> tuple[bytes, bytes]:
    """The rest of the line that begins with `token`, and what came after it; what came before is passed over.

    Raises:
        SandboxGone: no such line came.
    """
    held = b""
    while chunk := await wire.read():
        held += chunk
        _, found, line = held.partition(token)
        if found and b"\n" in line:
            word, _, rest = line.partition(b"\n")
            return word, rest
        if len(held) > _MOST_SAID:
            break
    said = one_line(clean((held or wire.last_errors).decode(errors="replace")), 300).strip()
    raise SandboxGone(f"The command could not be started: {said or 'the sandbox gave no answer'}.")
