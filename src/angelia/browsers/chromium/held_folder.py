"""A folder among the temporary files that goes with whoever made it, and whose name its browser's processes bear.

One of a process that was killed goes with the daily upkeep, or when the next one is made, and so does what still bears
its name then.
"""

import fcntl
import os
import shutil
import signal
import stat
import tempfile
import time
from pathlib import Path

from angelia.sandboxes.local.processes import bears, everybody, send

_PREFIX = "angelia-browser-"
_YOUNG_S = 60.0
"""A hidden folder that is younger may be one whose maker is about to lock it, and to give it its name."""


class HeldFolder:
    """Made with a browser, gone with it."""

    def __init__(self) -> None:
        sweep()
        made = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}"))
        self._lock = _locked(made)
        self.path = made.rename(made.with_name(made.name[1:]))

    @property
    def mark(self) -> str:
        """What the browser's processes bear, as `processes.MARK`: whose were killed is seen by it."""
        return self.path.name

    def end_bearers(self) -> None:
        """End whatever bears its name."""
        _end_bearers(self.mark)

    def close(self) -> None:
        """Take all of it away. Idempotent."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _end_bearers(mark: str) -> None:
    send((pid for pid in everybody() if bears(pid, f"{mark}\0")), signal.SIGKILL)


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
                _end_bearers(folder.name)
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)
        except OSError:
            continue  # somebody else was faster
