"""A folder among the temporary files that goes with whoever made it, also if that is killed.

So what somebody said or painted lies nowhere for ever. It is locked for as long as its process lives; one that nobody
holds goes when the next of its kind is made, or with the daily upkeep.
"""

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

OF_PROGRAMS = "angelia-work-"
"""How folders are named in which programs are handed what they work on, and leave what came of it."""

OF_BROWSERS = "angelia-browser-"
"""How those are named that a browser has. Its processes bear the name, as `processes.MARK`; what still does when nobody
holds the folder is ended with it. A browser ends with its life, but for the inner process of a bubblewrap that was
killed while it set things up: that would wait for ever.
"""

_YOUNG_S = 60.0
"""A hidden folder that is younger may be one whose maker is about to lock it, and to give it its name."""


def _left(name: str) -> None:
    """Nothing else is to be done about it."""


class HeldFolder:
    """One folder, for its owner alone. `left` is told the name of each of this prefix that nobody holds any more before
    it is taken away.
    """

    def __init__(self, prefix: str = OF_PROGRAMS, left: Callable[[str], object] = _left) -> None:
        sweep(prefix, left)
        made = Path(tempfile.mkdtemp(prefix=f".{prefix}"))
        self._lock = _locked(made)
        self.path = made.rename(made.with_name(made.name[1:]))

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Take all of it away. Idempotent."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def sweep(prefix: str = OF_PROGRAMS, left: Callable[[str], object] = _left) -> None:
    """Take away the folders of this prefix whose makers are gone; `left` is as in `HeldFolder`."""
    places = Path(tempfile.gettempdir())
    for folder in (*places.glob(f"{prefix}*"), *places.glob(f".{prefix}*")):
        try:
            about = folder.lstat()
            ours = stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid()
            young = folder.name.startswith(".") and time.time() - about.st_mtime < _YOUNG_S
            if ours and not young and (lock := _locked(folder)) >= 0:
                left(folder.name)
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)
        except OSError:
            continue  # somebody else was faster


def _locked(folder: Path) -> int:
    """A lock that ends with this process, or -1 if somebody has it."""
    handle = os.open(folder / "held", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return -1
    return handle
