"""The prompt of a terminal that cannot move its cursor: whole lines in, whole lines out."""

import asyncio
import codecs
import os
import signal
import sys
from collections.abc import Callable

from angelia.faces.cli.chat.input import Act, BreakKey, EndKey, PromptFrame, Typed
from angelia.faces.words.call_output import WholeOutput
from angelia.faces.words.output import Painted, draw, echo

ASK_SECONDS = 0.15
"""After the last line that was written, the next one is asked for."""


class Lines:
    """Reads standard input line by line, without taking a thread that could not be ended."""

    def __init__(self, around: PromptFrame, hear: Callable[[Act], None]) -> None:
        self._around, self._hear = around, hear
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self._broke = False
        self._asked = False
        self._asking: asyncio.TimerHandle | None = None
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
            self.refresh()
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

    def pick(self, command: str) -> bool:
        """Never: a list that changes needs a cursor that can be moved."""
        return False

    def put_back(self, text: str) -> None:
        """Never: a line that was entered is not typed on."""

    async def view(self, whole: WholeOutput) -> bool:
        """Never: lines are only added."""
        return False

    def refresh(self) -> None:
        """See the port: ask once nothing more comes and nothing runs."""
        if self._asking:
            self._asking.cancel()
        self._asking = asyncio.get_running_loop().call_later(ASK_SECONDS, self._ask)

    async def still(self) -> None:
        """At once: nothing that was written is drawn anew."""

    def write(self, text: Painted) -> None:
        """See the port."""
        if self._asked:
            echo()
            self._asked = False
        draw(text)
        self.refresh()

    def _ask(self) -> None:
        """Ask for the next message, or for an answer; not while something runs, though it is heard then too."""
        self._asking = None
        if not self._asked and not self._around.busy():
            before = self._around.before()
            echo({"› ": "You: ", "answer › ": "Answer: "}.get(before, "y or n: "), end="")
            self._asked = True

    def _read(self) -> None:
        data = os.read(sys.stdin.fileno(), 65_536)
        if not data:
            self._hear(EndKey())
            return
        *lines, self._pending = (self._pending + self._decoder.decode(data)).split("\n")
        self._broke = False
        self._asked = False
        for line in lines:
            self._hear(Typed(line.rstrip("\r")))

    def _interrupt(self) -> None:
        again, self._broke = self._broke, True
        self._hear(BreakKey(again))
