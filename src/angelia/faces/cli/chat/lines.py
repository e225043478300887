"""The prompt of a terminal that cannot move its cursor: whole lines in, whole lines out."""

import asyncio
import codecs
import os
import signal
import sys
from collections.abc import Callable

from angelia.faces.cli.chat.input import Act, BreakKey, EndKey, PromptFrame, Typed
from angelia.faces.words.output import Painted, draw, echo


class Lines:
    """Reads standard input line by line, without taking a thread that could not be ended."""

    def __init__(self, around: PromptFrame, hear: Callable[[Act], None]) -> None:
        self._around, self._hear = around, hear
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self._broke = False
        self._shown = asyncio.Event()
        self._ended: asyncio.Future[None] | None = None
        self._error: Exception | None = None

    async def run(self) -> None:
        """See the port."""
        loop = asyncio.get_running_loop()
        self._ended = loop.create_future()
        loop.add_reader(sys.stdin.fileno(), self._read)
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        try:
            self._ask()
            self._shown.set()
            await self._ended
        finally:
            loop.remove_reader(sys.stdin.fileno())
            loop.remove_signal_handler(signal.SIGINT)
        if self._error:
            raise self._error

    async def shown(self) -> None:
        """See the port."""
        await self._shown.wait()

    def leave(self, error: Exception | None = None) -> None:
        """See the port."""
        self._error = self._error or error
        if self._ended and not self._ended.done():
            self._ended.set_result(None)

    def refresh(self) -> None:
        """Nothing: what was written stays as it is."""

    async def still(self) -> None:
        """At once: nothing that was written is drawn anew."""

    def write(self, text: Painted) -> None:
        """See the port."""
        echo()
        draw(text)
        self._ask()

    def _ask(self) -> None:
        echo(self._around.before(), end="")

    def _read(self) -> None:
        data = os.read(sys.stdin.fileno(), 65_536)
        if not data:
            self._hear(EndKey())
            return
        *lines, self._pending = (self._pending + self._decoder.decode(data)).split("\n")
        self._broke = False
        for line in lines:
            self._hear(Typed(line.rstrip("\r")))

    def _interrupt(self) -> None:
        again, self._broke = self._broke, True
        self._hear(BreakKey(again))
