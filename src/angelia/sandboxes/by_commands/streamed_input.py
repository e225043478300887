"""A command's input that stays open, at the other end of a stream of its own."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from angelia.cancellation import cancel_and_wait
from angelia.deadline import within
from angelia.sandboxes.by_commands.stream_port import ExecStream
from angelia.sandboxes.port import Exit, InputClosed, SandboxError

_PIECE = 256 * 1024
"""Bytes sent at once; what a stream holds back may be as much."""
_PATIENCE = 3.0
"""Seconds until the end of a command is known, once its input was cut; and the other way round."""


class StreamedInput:
    """What is written to a command, in turns; `ended` is done when the command is over."""

    def __init__(self, wire: ExecStream, ended: asyncio.Future[Exit]) -> None:
        self._wire, self._ended = wire, ended
        self._turn = asyncio.Lock()
        self._closed = False

    async def write(self, data: bytes) -> None:
        """See the port."""
        async with self._turn:
            if self._closed or self._is_over():
                raise closed()
            for at in range(0, len(data), _PIECE):
                if not await self._while_it_runs(self._wire.write(data[at : at + _PIECE])):
                    raise closed()

    async def close(self) -> None:
        """See `close_input` of the port."""
        async with self._turn:
            if not self._closed:
                self._closed = True
                with suppress(SandboxError):  # it has ended, or the way to it was cut: then there is no input either
                    await self._while_it_runs(self._wire.end_input())

    async def let_go(self) -> None:
        """The command is over: wait until what handed on its input is, too: nothing of it is left. Idempotent."""
        was_closed, self._closed = self._closed, True
        with suppress(TimeoutError):
            await within(_PATIENCE, self._read_out(was_closed))
        await self._wire.close()

    async def _read_out(self, was_closed: bool) -> None:
        with suppress(SandboxError):  # it has ended before us, or was cut; then the far side ends it
            if not was_closed:
                await self._wire.end_input()
        with suppress(SandboxError):
            while await self._wire.read():
                pass

    async def _while_it_runs(self, deed: Coroutine[Any, Any, None]) -> bool:
        """Do something, unless the command is over first; whether it was done.

        Raises:
            SandboxGone, Unreachable: the command was lost.
            InputClosed: only the way to its input was.
        """
        doing = asyncio.ensure_future(deed)
        try:
            either: list[asyncio.Future[Any]] = [doing, self._ended]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            error = doing.exception() if doing.done() else None
            if error is not None:  # who reads the input ends a moment before its command's end is known
                await asyncio.wait([self._ended], timeout=_PATIENCE)
            if self._is_over():
                return False
            if isinstance(error, SandboxError):
                raise InputClosed("The way to the command's input was cut.", error.what) from error
            doing.result()
            return True
        finally:
            await cancel_and_wait(doing)

    def _is_over(self) -> bool:
        """Raises SandboxGone, Unreachable: the command was lost."""
        if self._ended.done():
            self._ended.result()
        return self._ended.done()


def closed() -> InputClosed:
    """The error for whoever writes in vain."""
    return InputClosed("The command takes no input any more.", "It has ended, or its input was closed.")
