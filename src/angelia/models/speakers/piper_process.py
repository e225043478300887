"""Piper in a process of its own: its voice stays loaded for some minutes after it spoke, and is given back then.

It has 260 MB while it is loaded and is written in C, so it lives apart: what it dies of takes nobody along.
"""

import asyncio
import sys
from pathlib import Path

from angelia.core.errors import AngeliaError
from angelia.core.text import clean, one_line
from angelia.models.program import begun
from angelia.tied_program import TiedProgram

KEPT_S = 300.0
"""Seconds for which a voice stays loaded after it spoke: as long as people pause in a conversation."""

_PATIENCE_S = 120.0
"""Seconds that loading the voice and speaking one text may take on a slow machine."""

_HEAD = 5
"""Bytes before what it answers: one for whether it is sound, four for its length, big-endian."""


class CannotSpeak(AngeliaError):
    """Piper could not speak; says with which voice, and what it complained of."""


class PiperProcess:
    """One process with one voice, begun with the first text; one text after another."""

    def __init__(self, kept_s: float = KEPT_S) -> None:
        self._kept_s = kept_s
        self._voice = Path()
        self._program: TiedProgram | None = None
        self._one = asyncio.Lock()
        self._ending: asyncio.TimerHandle | None = None

    def use(self, voice: Path) -> None:
        """Speak with this voice from the next text on."""
        if voice != self._voice:
            self._end()
            self._voice = voice

    @property
    def loaded(self) -> bool:
        """Whether a voice is in memory."""
        return self._program is not None and self._program.process.returncode is None

    async def speak(self, text: str) -> bytes:
        """A text on one line as WAV.

        Raises:
            CannotSpeak: it ended, took too long, or says why it cannot.
        """
        async with self._one:
            if self._ending:
                self._ending.cancel()
            program = self._program if self.loaded and self._program else await self._started()
            process = program.process
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    good, answer = await _answered(process, text)
            except (OSError, EOFError, asyncio.IncompleteReadError):
                complaint = await _complaint(process)
                self._end()
                raise CannotSpeak(f"Piper ended while it spoke with {self._voice.stem}.", complaint) from None
            except TimeoutError:
                self._end()
                raise CannotSpeak(f"Piper was not done with a text within {_PATIENCE_S:g} s.") from None
            except asyncio.CancelledError:
                self._end()
                raise
            self._ending = asyncio.get_running_loop().call_later(self._kept_s, self._end)
        if not good:
            raise CannotSpeak(
                f"Piper cannot speak with {self._voice.stem}.", one_line(answer.decode("utf-8", "replace"), 300)
            )
        return answer

    async def close(self) -> None:
        """End it. Idempotent."""
        program = self._program
        self._end()
        if program:
            await program.process.wait()

    async def _started(self) -> TiedProgram:
        self._end()
        worker = (sys.executable, "-P", "-m", "angelia.models.speakers.piper_worker", str(self._voice))
        self._program = await begun(worker)
        return self._program

    def _end(self) -> None:
        if self._ending:
            self._ending.cancel()
            self._ending = None
        program, self._program = self._program, None
        if program:
            program.kill()


async def _answered(process: asyncio.subprocess.Process, text: str) -> tuple[bool, bytes]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(text.replace("\n", " ").encode() + b"\n")
    await process.stdin.drain()
    head = await process.stdout.readexactly(_HEAD)
    return head[:1] == b"s", await process.stdout.readexactly(int.from_bytes(head[1:]))


async def _complaint(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    said = clean((await process.stderr.read()).decode(errors="replace")).strip()
    return one_line(said.rpartition("\n")[2], 300)
