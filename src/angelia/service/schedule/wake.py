"""How one process keeps time for a home, and how the others wake it when something is scheduled."""

import asyncio
import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_LOCK, _PIPE = "clock.lock", "clock.pipe"


def take_clock(home: Path) -> IO[str] | None:
    """The right to keep time for a home, held until the file is closed or the process ends; None if another has it."""
    file = (home / _LOCK).open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def clock_runs(home: Path) -> bool:
    """Whether a process keeps time for a home now.

    Whoever asks never takes the lock for it: a clock that begins at that instant would take them for another one.
    """
    with _listened_to(home) as pipe:
        return pipe is not None


def wake_clock(home: Path) -> None:
    """Have whoever keeps time look at once; nothing happens where nobody does."""
    with _listened_to(home) as pipe:
        if pipe is not None:
            with suppress(BlockingIOError, BrokenPipeError):  # full: they are being woken already; or they end just now
                os.write(pipe, b"\n")


@contextmanager
def _listened_to(home: Path) -> Iterator[int | None]:
    """The end of the pipe into which one writes, where somebody reads the other."""
    try:
        pipe = os.open(home / _PIPE, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENXIO):
            raise
        yield None
        return
    try:
        yield pipe
    finally:
        os.close(pipe)


class WakePipe:
    """What `wake_clock` writes into, read while it is open; `woken` is called in the event loop."""

    def __init__(self, home: Path, woken: Callable[[], None]) -> None:
        path = home / _PIPE
        with suppress(FileExistsError):
            os.mkfifo(path, 0o600)
        self._woken = woken
        # Open for writing as well: a pipe whose last writer has left would be readable for ever.
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._pipe, self._read)

    def _read(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._pipe, 65_536)
        self._woken()

    def close(self) -> None:
        """Listen no more."""
        self._loop.remove_reader(self._pipe)
        os.close(self._pipe)
