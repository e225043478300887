"""The two folders that a browser and we both see: one it downloads into, one it only reads for uploads.

A browser that a page has taken over is a stranger there: what it may write to we only read from, a file at a time and
never through a link, and where we write it cannot.
"""

import fcntl
import os
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

from angelia.browsers.port import ActFailed, ActOutcome
from angelia.sandboxes.local.processes import bears, everybody, send

DOWNLOADS, UPLOADS = "/files/down", "/files/up"
"""Where they are for the browser."""
_PREFIX = "angelia-browser-"
_PIECE = 1_000_000
_YOUNG_S = 60.0
"""A hidden folder that is younger may be one whose maker is about to lock it, and to give it its name."""


class SharedFolders:
    """Made with the browser, gone with it; those of a process that was killed go with the daily upkeep,
    or when the next ones are made.

    `user` is the uid that the browser has, 0 for ours.
    """

    def __init__(self, user: int) -> None:
        sweep()
        made = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}"))
        self._lock = _locked(made)
        self._path = made.rename(made.with_name(made.name[1:]))
        self._user = user
        self._numbers = count(1)
        self._down, self._up = self._path / "down", self._path / "up"
        self._down.mkdir(mode=0o700)
        self._up.mkdir(mode=0o700)
        if user:
            self._path.chmod(0o711)
            os.chown(self._down, user, user)
            self._readable(self._up)

    @property
    def mark(self) -> str:
        """What the browser's processes bear, as `processes.MARK`: whose were killed is seen by it."""
        return self._path.name

    def mounts(self) -> Iterator[str]:
        """How bubblewrap shows them to the browser."""
        yield from ("--dir", "/files", "--bind", str(self._down), DOWNLOADS, "--ro-bind", str(self._up), UPLOADS)

    async def put(self, content: AsyncIterator[bytes], name: str) -> str:
        """Lay a file there under its own name; where the browser finds it."""
        folder = self._up / str(next(self._numbers))
        folder.mkdir(mode=0o700)
        with (folder / name).open("xb") as file:
            async for piece in content:
                file.write(piece)
        self._readable(folder / name)
        self._readable(folder)
        return f"{UPLOADS}/{folder.name}/{name}"

    async def get(self, name: str) -> AsyncIterator[bytes]:
        """What was downloaded under that name.

        Raises:
            ActFailed: nothing was, or something that is no file.
        """
        try:
            handle = os.open(self._down / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise ActFailed(ActOutcome.NOT_LOADED, f"What was downloaded cannot be read: {error.strerror}.") from error
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise ActFailed(ActOutcome.NOT_LOADED, "What was downloaded is no file.")
            while piece := file.read(_PIECE):
                yield piece

    def size(self, name: str) -> int:
        """Bytes of what was downloaded under that name, 0 for nothing."""
        try:
            return (self._down / name).lstat().st_size
        except OSError:
            return 0

    def drop(self, name: str) -> None:
        """Take away what was downloaded under that name."""
        (self._down / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Take all of it away. Idempotent."""
        shutil.rmtree(self._path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _readable(self, path: Path) -> None:
        """For the browser, where it is somebody else; and for nobody else."""
        if self._user:
            os.chown(path, -1, self._user)
            path.chmod(0o750 if path.is_dir() else 0o640)


def _locked(folder: Path) -> int:
    """A lock that ends with this process, or -1 if somebody has it."""
    handle = os.open(folder / "held", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return -1
    return handle


def sweep() -> None:
    """Take away what lives that are over left behind. A browser ends with its life, but for the inner process of a
    bubblewrap that was killed while it set things up: that would wait for ever.
    """
    places = Path(tempfile.gettempdir())
    for folder in (*places.glob(f"{_PREFIX}*"), *places.glob(f".{_PREFIX}*")):
        try:
            about = folder.lstat()
            ours = stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid()
            young = folder.name.startswith(".") and time.time() - about.st_mtime < _YOUNG_S
            if ours and not young and (lock := _locked(folder)) >= 0:
                send((pid for pid in everybody() if bears(pid, f"{folder.name}\0")), signal.SIGKILL)
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)
        except OSError:
            continue  # somebody else was faster
