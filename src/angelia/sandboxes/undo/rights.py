"""Rights that the owner of files gives themselves, for as long as it takes to put back what was there."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LOOK = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC


def open_to_read(folder: int, name: str) -> int:
    """A file in an open folder, open for reading; its owner may read it from now on.

    Raises:
        OSError: it is not there, is a link, or is somebody else's and not for us.
    """
    try:
        return os.open(name, _READ, dir_fd=folder)
    except PermissionError:
        _add(folder, name, 0o400)
    return os.open(name, _READ, dir_fd=folder)


def let_in(folder: int, name: str) -> None:
    """The owner of a folder may look into it, and change what is in it, from now on.

    Raises:
        OSError: it is not there, is a link, or is somebody else's.
    """
    _add(folder, name, 0o700)


@contextmanager
def writable(folder: int) -> Iterator[None]:
    """The owner of an open folder may change what is in it, until this is left.

    Raises:
        OSError: it is somebody else's.
    """
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    if mode & 0o300 == 0o300 or os.access(".", os.W_OK | os.X_OK, dir_fd=folder):
        yield
        return
    _set(folder, mode | 0o700)
    try:
        yield
    finally:
        _set(folder, mode)


def _add(folder: int, name: str, bits: int) -> None:
    handle = os.open(name, _LOOK, dir_fd=folder)
    try:
        entry = os.fstat(handle)
        if stat.S_ISLNK(entry.st_mode):
            raise OSError(40, "it is a link")
        mode = stat.S_IMODE(entry.st_mode)
        if mode & bits != bits:
            _set(handle, mode | bits)
    finally:
        os.close(handle)


def _set(handle: int, mode: int) -> None:
    """Of what was opened, whatever has its name by now; one that was opened only to be looked at has this way alone."""
    if hasattr(os, "O_PATH"):
        os.chmod(f"/proc/self/fd/{handle}", mode)  # noqa: PTH101 - no name of the workspace
    else:
        os.fchmod(handle, mode)
