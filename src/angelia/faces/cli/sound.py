"""The sound of this machine: programs that are found here record what is said and play what is to be heard."""

import asyncio
import shutil
import signal
import tempfile
import wave
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from angelia.core.errors import AngeliaError
from angelia.core.text import clean, one_line
from angelia.deadline import within
from angelia.held_folder import HeldFolder
from angelia.models.program import begun, run_program
from angelia.tied_program import TiedProgram

FILE = "{file}"
"""Stands for the path of the sound in the lines of players."""

RATE = 16_000
"""Samples a second, each of 16 bits and of one channel: as Whisper hears."""

RECORDERS = (
    ("arecord", "-q", "-t", "raw", "-f", "S16_LE", "-r", f"{RATE}", "-c", "1"),
    ("parec", "--format=s16le", f"--rate={RATE}", "--channels=1"),
    ("sox", "-q", "-d", "-t", "raw", "-e", "signed-integer", "-b", "16", "-L", "-r", f"{RATE}", "-c", "1", "-"),
    ("ffmpeg", "-loglevel", "error", "-f", "pulse", "-i", "default", "-ac", "1", "-ar", f"{RATE}", "-f", "s16le", "-"),
)
"""What writes bare samples to its output until it is interrupted, the first that is here.

Through a pipe and not into a file: a recorder whose listener has died is ended by its next sample.
"""

PLAYERS = (
    ("pw-play", FILE),
    ("paplay", FILE),
    ("aplay", "-q", FILE),
    ("afplay", FILE),
    ("play", "-q", FILE),
    ("ffplay", "-loglevel", "error", "-nodisp", "-autoexit", FILE),
)
"""What plays a WAV file and ends with it, the first that is here."""

_ENDS_S = 5.0
"""Seconds that a recorder may take to write its file out."""

_PIECE = 1 << 16
"""Bytes that are taken at once, two seconds at most."""


class NoSound(AngeliaError):
    """Nothing here records or plays, or it failed; says what to do."""


class _Lines(Struct, frozen=True):
    does: str
    lines: tuple[tuple[str, ...], ...]

    def found(self) -> tuple[str, ...]:
        """The first line whose program is here.

        Raises:
            NoSound: there is none.
        """
        for line in self.lines:
            if shutil.which(line[0]):
                return line
        names = ", ".join(line[0] for line in self.lines)
        raise NoSound(f"Nothing on this machine {self.does}.", f"Looked for: {names}.", "Install one of them.")


_RECORDS, _PLAYS = _Lines("records sound", RECORDERS), _Lines("plays sound", PLAYERS)


def demand_sound() -> None:
    """Raises NoSound where nothing here records, or nothing plays."""
    _RECORDS.found()
    _PLAYS.found()


async def play(wav: bytes) -> None:
    """Play a WAV file to its end. Cancelled, it is silent at once.

    Raises:
        NoSound: nothing here plays.
        ProgramFailed: it failed, with the last line that it complained with.
    """
    line = _PLAYS.found()
    with HeldFolder() as folder:
        path = folder / "sound.wav"
        await asyncio.to_thread(path.write_bytes, wav)
        await run_program(_filled(line, path), b"", "plays")


class SoundRecording:
    """What is recorded from `begin` to `end`: into a file without a name, of which nothing stays, whatever ends us."""

    def __init__(self) -> None:
        self._line = _RECORDS.found()
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - `forget` closes it
        self._program: TiedProgram | None = None
        self._taking: asyncio.Task[bytes] | None = None
        self._bytes = 0

    async def begin(self) -> None:
        """Listen from here on."""
        self._program = await begun(self._line)
        self._taking = asyncio.create_task(self._take(self._program.process))

    async def end(self) -> AsyncIterator[bytes]:
        """Listen no more; a WAV file, which can be read until `forget`.

        Raises:
            NoSound: nothing was recorded; says what the program complained of.
        """
        program, taking = self._program, self._taking
        assert program is not None
        assert taking is not None
        with suppress(ProcessLookupError):
            program.process.send_signal(signal.SIGINT)
        try:
            complaint = await within(_ENDS_S, asyncio.shield(taking))
        except TimeoutError:
            program.kill()
            complaint = await taking
        await program.process.wait()
        program.let_go()
        if not self._bytes:
            last = clean(complaint.decode(errors="replace")).strip().rpartition("\n")[2]
            why = one_line(last, 300) or "It wrote no sound."
            raise NoSound(f"{self._line[0]} recorded nothing.", why, "Is there a microphone, and may it be used?")
        return self._pieces()

    async def forget(self) -> None:
        """Stop it, and take the file away. Idempotent."""
        program, taking = self._program, self._taking
        if program:
            program.kill()
        if taking:
            await taking
        if program:
            await program.process.wait()
        self._file.close()

    async def _pieces(self) -> AsyncIterator[bytes]:
        self._file.seek(0)
        while piece := await asyncio.to_thread(self._file.read, _PIECE):
            yield piece

    async def _take(self, process: asyncio.subprocess.Process) -> bytes:
        """Write down what comes; returns what the program complained of."""
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.close()
        complaining = asyncio.create_task(process.stderr.read())
        with wave.open(self._file, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            while data := await process.stdout.read(_PIECE):
                self._bytes += len(data)
                file.writeframesraw(data)
        return await complaining


def _filled(line: Sequence[str], path: Path) -> tuple[str, ...]:
    return tuple(word.replace(FILE, str(path)) for word in line)
