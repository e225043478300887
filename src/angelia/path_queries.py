"""Questions about a path that anybody may have laid out: each has an answer, none raises and none waits.

`Path.exists`, `is_file` and `is_dir` raise, up to Python 3.13, below a folder that is closed to this user and at a link
to a name that is too long; `Path.resolve` at links in a circle (up to 3.12) and at `/proc/1/root`; and `read_bytes`
waits at a FIFO until somebody writes. Whoever may write to a folder could hold up or end with any of these whoever
looks there. In our own home such a failure is ours, and to be heard: there the methods of `Path` are right.
"""

import os
import stat
from pathlib import Path

UNKNOWN = "/proc"
"""Where links lead that nobody but root or their process can read: only the kernel makes those, in `/proc/PID`."""


def exists(path: str | Path) -> bool:
    """Whether there is something, links followed, as far as this user can see."""
    return os.path.exists(path)  # noqa: PTH110 - it never raises


def is_file(path: str | Path) -> bool:
    """Whether it is a regular file or a link to one, as far as this user can see."""
    return os.path.isfile(path)  # noqa: PTH113 - it never raises


def is_folder(path: str | Path) -> bool:
    """Whether it is a folder or a link to one, as far as this user can see."""
    return os.path.isdir(path)  # noqa: PTH112 - it never raises


def is_link(path: str | Path) -> bool:
    """Whether it is a link, as far as this user can see."""
    return os.path.islink(path)  # noqa: PTH114 - it never raises


def real_path(path: str | Path) -> str:
    """Where it leads, links followed as far as this user can follow them, and `UNKNOWN` where that cannot be said."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # a path with NUL leads nowhere
        return UNKNOWN


def beginning_of(path: str | Path, most: int) -> bytes:
    """The first `most` bytes of a regular file or of what a link leads to; b"" where there is none to be read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with open(handle, "rb") as file:  # noqa: PTH123 - a FIFO is opened without waiting
            return file.read(most) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
    except (OSError, ValueError):
        return b""
