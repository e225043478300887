"""Taking back what a command left: the original is put in its place again, or what is new is moved out of reach.

Whoever left it may still run and change the folders meanwhile, so every folder on the way is opened by its name in the
one before it and no link is followed (openat(2), O_NOFOLLOW): nothing outside the workspace is ever touched.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from angelia.core.ids import sortable_id

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Original(Struct, frozen=True):
    """A file as it stood before: where it led, if it was a link, else its bytes."""

    mode: int
    link: str = ""
    content: bytes = b""


class Quarantine:
    """A folder of our home, for ourselves alone, where what was taken away can be looked at, and nothing runs."""

    def __init__(self, folder: Path, workspace: Path) -> None:
        self._folder, self._workspace = folder, workspace
        self._count = 0

    def take_away(self, path: str) -> Path:
        """Move a file or link here; where it lies now.

        Raises:
            OSError: it could not be moved.
        """
        with self._parent(path) as (folder, name):
            return self._take(folder, name)

    def put_back(self, path: str, original: Original) -> Path:
        """Move what stands there here, and give its place back to the original; where the other lies now.

        Raises:
            OSError: it could not be done; what stood there may have been moved by then.
        """
        with self._parent(path) as (folder, name):
            taken = self._take(folder, name)
            if original.link:
                os.symlink(original.link, name, dir_fd=folder)
                return taken
            draft = f"{name}.angelia-{os.getpid()}"
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=folder)
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
            with open(handle, "wb") as file:  # noqa: PTH123
                file.write(original.content)
                os.fchmod(handle, original.mode)
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            return taken

    @contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, str]]:
        """The folder of a path, open, and the name in it; one that we own and cannot write is made writable."""
        *folders, name = Path(path).relative_to(self._workspace).parts
        handle = os.open(self._workspace, _FOLDER)
        try:
            for inner in folders:
                deeper = os.open(inner, _FOLDER, dir_fd=handle)
                os.close(handle)
                handle = deeper
            mode = os.fstat(handle).st_mode
            if mode & 0o300 != 0o300:
                os.fchmod(handle, stat.S_IMODE(mode) | 0o300)
            yield handle, name
        finally:
            os.close(handle)

    def _take(self, folder: int, name: str) -> Path:
        place = self._next(name)
        try:
            os.rename(name, place, src_dir_fd=folder)
        except OSError:  # another file system: what is copied is what is there now, and it goes
            entry = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(entry.st_mode):
                place.symlink_to(os.readlink(name, dir_fd=folder))
            elif stat.S_ISREG(entry.st_mode):
                handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
                with open(handle, "rb") as source, place.open("wb") as target:  # noqa: PTH123
                    while chunk := source.read(1 << 20):
                        target.write(chunk)
            os.unlink(name, dir_fd=folder)
        with suppress(OSError):
            if not place.is_symlink():
                place.chmod(0o600)
        return place

    def _next(self, name: str) -> Path:
        folder = self._folder / sortable_id()
        folder.mkdir(mode=0o700, parents=True)
        self._folder.chmod(0o700)
        return folder / f"{name[:100].lstrip('.') or 'file'}.taken"
