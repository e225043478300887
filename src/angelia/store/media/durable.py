"""A file that gets its name only when its bytes are safe on the disk."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedRandom
from pathlib import Path
from typing import BinaryIO

from angelia.core.crash import crash_point
from angelia.core.ids import sortable_id
from angelia.store.sql.faults import explained

UNFINISHED = ".part-"
"""How the names of files begin that were not finished; a crash leaves them behind."""

_FICLONE = 0x40049409
"""`linux/fs.h`. Where the number means something else or the file system cannot share, bytes are copied."""


class Unfinished:
    """A new file without its name. Whatever the disk complains about becomes a `StoreError`."""

    def __init__(self, file: BufferedRandom, path: Path) -> None:
        self._file, self._path = file, path
        self._home = path.parent.parent

    def write(self, data: bytes) -> None:
        """Add `data` at the end."""
        with explained(self._home):
            self._file.write(data)

    def share(self, source: BinaryIO) -> bool:
        """Take over the content of `source` without copying; False, and nothing done, where that is impossible."""
        return shared(source, self._file)

    def whole(self) -> BufferedRandom:
        """The file, at its beginning, with everything written so far in it."""
        with explained(self._home):
            self._file.flush()
        self._file.seek(0)
        return self._file

    def keep(self, path: Path) -> None:
        """Make it durable as `path`, in the same folder: its bytes first, then its name."""
        with explained(self._home):
            self._safe()
            self._path.rename(path)
            sync_folder(path.parent)
        crash_point("blob.after_rename")

    def keep_new(self, path: Path) -> bool:
        """As `keep`, unless there is a file of that name, which stays as it is; whether this one is kept."""
        with explained(self._home):
            self._safe()
            try:
                path.hardlink_to(self._path)
            except FileExistsError:
                return False
            sync_folder(path.parent)
        crash_point("blob.after_rename")
        return True

    def _safe(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        crash_point("blob.before_rename")


@contextmanager
def unfinished(folder: Path) -> Iterator[Unfinished]:
    """A new file in `folder`, which is made if need be; unless it is kept, it is gone on the way out."""
    path = folder / f"{UNFINISHED}{sortable_id()}"
    with explained(folder.parent):
        _make(folder)
        file = open(path, "x+b", opener=lambda name, flags: os.open(name, flags, 0o400))  # noqa: SIM115 - only `open` takes an opener
    try:
        yield Unfinished(file, path)
    finally:
        path.unlink(missing_ok=True)
        with explained(folder.parent):
            file.close()


def shared(source: BinaryIO, target: BinaryIO) -> bool:
    """Let `target` take over the content of `source` without copying; False, and nothing done, where it cannot."""
    try:
        fcntl.ioctl(target.fileno(), _FICLONE, source.fileno())
    except OSError:
        return False  # two file systems, or one that cannot share blocks: the caller copies instead
    return True


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _make(folder: Path) -> None:
    if not folder.is_dir():
        folder.mkdir(mode=0o700, exist_ok=True)
        sync_folder(folder.parent)
