"""A folder removed with all that is in it, however deep it is and whatever permissions were taken away.

A command can make folders within folders by the ten thousands: too deep to descend into by a call for each, by an open
descriptor for each, or by their path, which the kernel takes to 4096 bytes. So what is more than two deep is moved up,
and every folder is at some time one of the topmost.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

from angelia.core.ids import sortable_id


def remove_tree(folder: Path) -> None:
    """Remove a tree. What cannot be removed stays, and so does what is above it."""
    with suppress(RecursionError, OSError):  # it cannot be loaded where no file can be opened
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            _empty(top)
        finally:
            os.close(top)
        folder.rmdir()


def _empty(top: int) -> None:
    """Remove all that is beneath an open folder, level by level, until nothing more can be."""
    tried: set[str] = set()
    while names := [name for name in os.listdir(top) if name not in tried]:
        for name in names:
            tried.add(name)
            with suppress(OSError):
                _remove(top, name)


def _remove(top: int, name: str) -> None:
    if not _opened_up(top, name):
        os.unlink(name, dir_fd=top)
        return
    handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=top)
    try:
        for inner in os.listdir(handle):  # noqa: PTH208 - it is a descriptor
            if _opened_up(handle, inner):
                os.rename(inner, sortable_id(), src_dir_fd=handle, dst_dir_fd=top)
            else:
                os.unlink(inner, dir_fd=handle)
    finally:
        os.close(handle)
    os.rmdir(name, dir_fd=top)


def _opened_up(above: int, name: str) -> bool:
    """Whether it is a folder, no link; then we may do in it as we like from now on."""
    if not stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
        return False
    os.chmod(name, 0o700, dir_fd=above)
    return True
