"""The two folders that a browser and we both see: one it downloads into, one it only reads for uploads.

A browser that a page has taken over is a stranger there: what it may write to we only read from, a file at a time and
never through a link, and where we write it cannot.
"""

import os
import stat
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

from angelia.browsers.port import ActFailed, ActOutcome
from angelia.held_folder import OF_BROWSERS, HeldFolder
from angelia.sandboxes.local.processes import end_bearers

DOWNLOADS, UPLOADS = "/files/down", "/files/up"
"""Where they are for the browser."""
_PIECE = 1_000_000


class SharedFolders:
    """Made with the browser, gone with it (see `HeldFolder`). `user` is the uid that the browser has, 0 for ours."""

    def __init__(self, user: int) -> None:
        self._held = HeldFolder(OF_BROWSERS, end_bearers)
        self._user = user
        self._numbers = count(1)
        self._down, self._up = self._held.path / "down", self._held.path / "up"
        self._down.mkdir(mode=0o700)
        self._up.mkdir(mode=0o700)
        if user:
            self._held.path.chmod(0o711)
            os.chown(self._down, user, user)
            self._readable(self._up)

    @property
    def mark(self) -> str:
        """What the browser's processes bear."""
        return self._held.path.name

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
        self._held.close()

    def _readable(self, path: Path) -> None:
        """For the browser, where it is somebody else; and for nobody else."""
        if self._user:
            os.chown(path, -1, self._user)
            path.chmod(0o750 if path.is_dir() else 0o640)
