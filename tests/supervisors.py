"""Supervisors of watched commands, forked from a warm process: a fresh one takes 0.1 s of a processor."""

import signal
import socket
import subprocess
from pathlib import Path
from typing import cast

import msgspec

from angelia.sandboxes.undo.supervision import begin_supervisor
from angelia.sandboxes.undo.supervisor import Supervised
from tests.nursery import ROOT, Birth, Child

FRESH = begin_supervisor
"""As it is begun where nobody has one that is warm."""


class _Forked:
    """As much of a `subprocess.Popen` as a `Supervision` looks at."""

    def __init__(self, child: Child) -> None:
        self._child = child

    def wait(self, timeout: float) -> int:
        """Its status."""
        try:
            return self._child.wait(timeout)
        except TimeoutError as error:
            raise subprocess.TimeoutExpired("a supervisor", timeout) from error

    def kill(self) -> None:
        """At once."""
        self._child.kill(signal.SIGKILL)


def forked(folder: Path, told: Supervised, control: socket.socket) -> "subprocess.Popen[bytes]":
    """See `begin_supervisor`; what it writes goes into `folder`."""
    birth = Birth((msgspec.json.encode(told).decode(),), {}, str(ROOT), "angelia.sandboxes.undo.supervisor:main")
    return cast("subprocess.Popen[bytes]", _Forked(Child(birth, folder, control.fileno())))
