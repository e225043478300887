"""Media opened by forks of the life that was handed them: a confined interpreter takes 0.1 s of a processor to begin.

A whole life of each story opens them as ever; what a process for media may is seen in `tests/store` and
`tests/sandboxes/test_confined_program`.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import cast

from angelia.service import app
from angelia.store.media import worker

MEDIA = "ANGELIA_TESTS_MEDIA"
FORKED = {MEDIA: "forked"}
"""The environment of a life in which they are."""


class _Forked:
    """As much of a `subprocess.Popen` as `MediaProcesses` looks at."""

    def __init__(self, pid: int) -> None:
        self.pid, self._lock = pid, threading.Lock()
        self._status: int | None = None

    def wait(self) -> int:
        """Its status."""
        with self._lock:
            if self._status is None:
                self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            return self._status

    def poll(self) -> int | None:
        """Its status, if it was waited for."""
        return self._status


def fork_media_processes() -> None:
    """From here on this process does so."""
    vars(app)["start_confined"] = _forked


def words_after_python(argv: Sequence[str]) -> tuple[str, ...]:
    """The words of a command line behind `-c` and what Python is to run."""
    return tuple(argv[len(argv) - argv[::-1].index("-c") + 1 :])


def _forked(argv: Sequence[str], stdin: int, memory: int) -> "subprocess.Popen[bytes]":
    """See `angelia.store.media.processes.Start`."""
    if pid := os.fork():
        return cast("subprocess.Popen[bytes]", _Forked(pid))
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        os.dup2(stdin, 0)
        os.closerange(3, 1024)
        sys.argv = ["-c", *words_after_python(argv)]
        worker.main()
    finally:
        os._exit(0)
