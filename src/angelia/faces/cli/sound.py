"""The sound of this machine: programs that are found here record what is said and play what is to be heard."""

import asyncio
import shutil
import signal
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from angelia.core.errors import AngeliaError
from angelia.core.text import clean, one_line
from angelia.models.speech.command import begun, run_program

FILE = "{file}"
"""Stands for the path of the sound in the lines below."""

RECORDERS = (
    ("arecord", "-q", "-f", "S16_LE", "-r", "16000", "-c", "1", FILE),
    ("parecord", "--file-format=wav", "--format=s16le", "--rate=16000", "--channels=1", FILE),
    ("sox", "-q", "-d", "-b", "16", "-r", "16000", "-c", "1", FILE),
    ("ffmpeg", "-loglevel", "error", "-y", "-f", "pulse", "-i", "default", "-ac", "1", "-ar", "16000", FILE),
)
"""What records until it is interrupted, the first that is here: 16 kHz, mono, as Whisper hears."""

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

_HEADER = 44
"""Bytes of a WAV file without any sound."""


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
    with tempfile.TemporaryDirectory(prefix="angelia-sound-") as folder:
        path = Path(folder) / "sound.wav"
        await asyncio.to_thread(path.write_bytes, wav)
        await run_program(_filled(line, path), b"", "plays")


class SoundRecording:
    """What is recorded from `begin` to `end`."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="angelia-sound-")
        self._path = Path(self._folder.name) / "recording.wav"
        self._line = _RECORDS.found()
        self._process: asyncio.subprocess.Process | None = None

    async def begin(self) -> None:
        """Listen from here on."""
        self._process = await begun(_filled(self._line, self._path))

    async def end(self) -> Path:
        """Listen no more; the file is there until `forget`.

        Raises:
            NoSound: nothing was recorded; says what the program complained of.
        """
        process = self._process
        assert process is not None
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        try:
            async with asyncio.timeout(_ENDS_S):
                _, complaint = await process.communicate()
        except TimeoutError:
            process.kill()
            _, complaint = await process.communicate()
        if not self._path.is_file() or self._path.stat().st_size <= _HEADER:
            last = clean(complaint.decode(errors="replace")).strip().rpartition("\n")[2]
            why = one_line(last, 300) or "It wrote no sound."
            raise NoSound(f"{self._line[0]} recorded nothing.", why, "Is there a microphone, and may it be used?")
        return self._path

    async def forget(self) -> None:
        """Stop it, and take the file away. Idempotent."""
        process = self._process
        if process and process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.communicate()
        self._folder.cleanup()


def _filled(line: Sequence[str], path: Path) -> tuple[str, ...]:
    return tuple(word.replace(FILE, str(path)) for word in line)
