"""What opens media for this process's apps, forked from a warm process: a confined interpreter takes 0.1 s to begin.

What such a process may is seen in `tests/store/test_media_processes.py` and in `tests/sandboxes`.
"""

import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from angelia.store.media import worker
from tests.media_forks import words_after_python
from tests.nursery import Birth, Child

SECONDS = 600.0
"""One that was begun in advance waits for 20 s, and the longest job takes 120."""


class _Born:
    """As much of a `subprocess.Popen` as `MediaProcesses` looks at."""

    def __init__(self, child: Child) -> None:
        self._child, self.pid, self._lock = child, child.pid, threading.Lock()
        self._status: int | None = None

    def wait(self) -> int:
        """Its status."""
        with self._lock:
            if self._status is None:
                self._status = self._child.wait(SECONDS)
            return self._status

    def poll(self) -> int | None:
        """Its status, if it was waited for."""
        return self._status


def born(folder: Path, argv: Sequence[str], stdin: int, memory: int) -> "subprocess.Popen[bytes]":
    """See `angelia.store.media.processes.Start`; what it writes goes into `folder`."""
    birth = Birth(words_after_python(argv), {}, "/", "tests.media_openers:opening")
    return cast("subprocess.Popen[bytes]", _Born(Child(birth, folder, stdin)))


def opening() -> None:
    """One that opens a medium, in a session of its own, as they are."""
    os.setsid()
    worker.main()
