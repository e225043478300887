"""What is printed above the prompt: in order, whole, and once."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from angelia.cancellation import end_if_cancelled
from angelia.faces.words.output import Painted
from angelia.faces.words.paint import Paint
from angelia.faces.words.transcript_lines import Tone, TranscriptLine

Job = Callable[[], Awaitable[None]]

TOGETHER_SECONDS = 1 / 12
"""Lines that come sooner after the last ones are printed together."""

_BLOCKS = {Tone.PERSON, Tone.REPLY, Tone.QUESTION, Tone.TABLE}
"""Tones that have a blank line before them."""
_APART = {Tone.PERSON, Tone.REPLY, Tone.REPLY_GOES_ON}
"""What follows these stands apart from them."""


class Screen:
    """A queue of lines and of jobs that write; one task prints them in their order."""

    def __init__(self, paint: Paint) -> None:
        self.paint = paint
        self._queue: asyncio.Queue[TranscriptLine | Job] = asyncio.Queue()
        self._taken: TranscriptLine | Job | None = None
        self._before: Tone | None = None
        self._out: Callable[[Painted], None]

    def put(self, *lines: TranscriptLine) -> None:
        """Print lines when it is their turn."""
        for line in lines:
            self._queue.put_nowait(line)

    def note(self, text: str) -> None:
        """Print a note."""
        self.put(TranscriptLine(Tone.NOTE, text))

    def table(self, lines: Sequence[str]) -> None:
        """Print what a command lists."""
        self.put(TranscriptLine(Tone.TABLE, "\n".join(lines)))

    def warn(self, text: str) -> None:
        """Print a warning."""
        self.put(TranscriptLine(Tone.WARNING, text))

    def then(self, job: Job) -> None:
        """Run a job that writes, when it is its turn."""
        self._queue.put_nowait(job)

    async def printed(self) -> None:
        """Wait until all is printed that was put before."""
        reached = asyncio.Event()

        async def reach() -> None:
            reached.set()

        self.then(reach)
        await reached.wait()

    def write(self, *lines: TranscriptLine) -> None:
        """Print lines at once and flush them; for jobs."""
        if text := "".join(map(self._painted, lines)):
            self._out(Painted(text))

    def draw(self, escapes: Painted) -> None:
        """Print what no paint touches, at once; for jobs."""
        self._out(escapes)

    async def run(self, out: Callable[[Painted], None], still: Callable[[], Awaitable[None]]) -> None:
        """Print whatever comes by `out`, which flushes, once `still` says that it can be."""
        self._out = out
        loop, printed = asyncio.get_running_loop(), 0.0
        while True:
            end_if_cancelled()
            self._taken = await self._queue.get()
            if isinstance(self._taken, TranscriptLine) and (early := printed + TOGETHER_SECONDS - loop.time()) > 0:
                await asyncio.sleep(early)  # what comes meanwhile is printed with it
            await still()
            what, self._taken = self._taken, None
            await self._print(what)
            printed = loop.time()

    async def drain(self) -> None:
        """Print what is left; for the end."""
        if self._taken is not None:
            what, self._taken = self._taken, None
            await self._print(what)
        while not self._queue.empty():
            await self._print(self._queue.get_nowait())

    async def _print(self, what: TranscriptLine | Job) -> None:
        """Print one, and the lines that wait behind it in one go; then a job that follows them."""
        lines: list[TranscriptLine] = []
        while isinstance(what, TranscriptLine):
            lines.append(what)
            if self._queue.empty():
                self.write(*lines)
                return
            what = self._queue.get_nowait()
        self.write(*lines)
        await what()

    def _painted(self, line: TranscriptLine) -> str:
        blank = self._before is not None and (line.tone in _BLOCKS or self._before in _APART)
        own = line.tone is Tone.OUTPUT and self._before is Tone.PERSON  # what a command of their own wrote
        blank = blank and line.tone is not Tone.REPLY_GOES_ON and not own
        self._before = line.tone
        return "\n" * blank + self.paint.line(line)
