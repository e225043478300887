"""A command in a sandbox at Modal as a stream."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from angelia.cancellation import cancel_and_wait
from angelia.sandboxes.modal.errors import plain_words
from angelia.sandboxes.port import SandboxError, SandboxGone, StderrMode
from angelia.sandboxes.shared.error_tail import ErrorTail

if TYPE_CHECKING:
    from modal import Sandbox
    from modal.container_process import ContainerProcess

_LAST_WORDS = 10.0
"""Seconds that errors may still take to come once the output has ended: they end by themselves, unless something that
escaped the launcher holds them open.
"""
_PIECE = 1 << 20
"""Bytes sent at once; the SDK takes up to 16 MiB (modal 1.6, `io_streams.TASK_COMMAND_ROUTER_MAX_BUFFER_SIZE`)."""


class ModalExecStream:
    """See `sandboxes.by_commands.stream_port.ExecStream`."""

    def __init__(self, process: "ContainerProcess[bytes]", errors: StderrMode) -> None:
        self._process = process
        self._chunks = aiter(process.stdout)
        self._errors = ErrorTail()
        self._hearing = asyncio.create_task(self._hear()) if errors is StderrMode.APART else None
        self._let_go = asyncio.get_running_loop().create_future()
        self._ended = False

    async def read(self) -> bytes:
        """Some output, nothing at its end."""
        reading = asyncio.ensure_future(self._next())
        try:
            await asyncio.wait([reading, self._let_go], return_when=asyncio.FIRST_COMPLETED)
            return await reading if reading.done() else b""
        finally:
            if not reading.done():
                await cancel_and_wait(reading)

    @property
    def last_errors(self) -> bytes:
        """The end of what came by the second output, where that is apart."""
        return self._errors.last

    async def write(self, data: bytes) -> None:
        """Send input."""
        with plain_words("take a command's input"):
            for at in range(0, len(data), _PIECE):
                self._process.stdin.write(data[at : at + _PIECE])
                await self._process.stdin.drain.aio()

    async def end_input(self) -> None:
        """Let the input end after what was sent."""
        with suppress(ValueError), plain_words("end a command's input"):  # it was ended before
            self._process.stdin.write_eof()
            await self._process.stdin.drain.aio()

    async def status(self) -> int:
        """Its status."""
        if self._hearing is not None and not self._let_go.done():
            await asyncio.wait([self._hearing], timeout=_LAST_WORDS)
        with plain_words("tell how a command ended"):
            status = await (self._process.poll.aio() if self._let_go.done() else self._process.wait.aio())
        if status is None or status < 0:
            raise SandboxGone("The command does not end, and has been left.", then="See what it has done.")
        self._ended = True
        return status

    async def close(self) -> None:
        """Let go; the launcher takes that for the word to end."""
        if self._let_go.done():
            return
        self._let_go.set_result(None)
        await cancel_and_wait(self._hearing)
        if not self._ended:
            with suppress(SandboxError, ValueError), plain_words("end a command"):  # it has ended already
                self._process.stdin.write_eof()
                await self._process.stdin.drain.aio()

    async def _hear(self) -> None:
        with suppress(SandboxError), plain_words("hand on what a command complains of"):  # its output tells of a cut
            async for chunk in self._process.stderr:
                self._errors.add(chunk)

    async def _next(self) -> bytes:
        with plain_words("hand on what a command says"):
            return await anext(self._chunks, b"")


async def modal_wire(
    sandbox: "Sandbox", argv: Sequence[str], errors: StderrMode = StderrMode.MERGED
) -> ModalExecStream:
    """Run `argv` in it.

    Raises:
        SandboxGone: it has ended.
        Unreachable: the service does not answer.
    """
    from modal.stream_type import StreamType

    # merged, the launcher says nothing on its second output
    second = StreamType.PIPE if errors is StderrMode.APART else StreamType.DEVNULL
    with plain_words("run a command"):
        return ModalExecStream(await sandbox.exec.aio(*argv, stderr=second, text=False), errors)
