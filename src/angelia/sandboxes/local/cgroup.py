"""One command's control group: limits of all that it starts together, what met them, and the end of all of it.

Of version 2 alone (cgroups(7); the kernel's Documentation/admin-guide/cgroup-v2.rst): a folder in which the limits are
files. A group is made beneath one whose processes all lie in groups within, else the kernel refuses to pass on limits.
"""

import os
import select
import time
from contextlib import suppress
from pathlib import Path

from angelia.sandboxes.local.processes import PROC

ROOT = Path("/sys/fs/cgroup")
CONTROLLERS = ("memory", "pids")
CPU_WEIGHT = 25
"""Of a command's, or of all of them in a scope; everything else has 100 (`cpu.weight`). Who wants a processor that is
not free gets four fifths of it before a command does; what is free, a command has whole. It counts beside a service of
ours, whose sibling a scope is, and not beside a login's session, which lies elsewhere in the tree: each has half there.
"""
_GONE_S = 2.0
"""Until the kernel has let go of what was ended."""


class Cgroup:
    """A group that is made for one command, beneath `parent`."""

    def __init__(self, parent: Path, name: str, limits: dict[str, int]) -> None:
        """Make it, with the weight of commands. `limits` are its files with what is written there; one of 0 is none.

        Raises:
            OSError: `parent` is gone, or not ours to make groups in.
        """
        self.folder = parent / name
        self.folder.mkdir()
        try:
            for file, most in limits.items():
                if most:
                    (self.folder / file).write_text(str(most), "ascii")
            with suppress(FileNotFoundError):  # what `pass_on` could do without
                (self.folder / "cpu.weight").write_text(str(CPU_WEIGHT), "ascii")
        except OSError:
            self.folder.rmdir()
            raise

    def take(self, pid: int) -> None:
        """Move a process into it, with what it will start.

        Raises:
            PermissionError: it comes from where the kernel lets only somebody else take it.
            OSError: it has ended.
        """
        (self.folder / "cgroup.procs").write_text(str(pid), "ascii")

    def counted(self, file: str, key: str) -> int:
        """What the kernel counted in one of its files of events."""
        with suppress(OSError):
            for line in (self.folder / file).read_text("ascii").splitlines():
                name, _, number = line.partition(" ")
                if name == key:
                    return int(number)
        return 0

    def remove(self) -> None:
        """End whatever is left in it, and remove it. What the kernel does not let go within 2 s stays, empty."""
        with suppress(OSError):
            (self.folder / "cgroup.kill").write_text("1", "ascii")  # since Linux 5.14
        with suppress(OSError):
            self._wait_until_empty()
            self.folder.rmdir()

    def _wait_until_empty(self) -> None:
        """The kernel tells changes of this file as POLLPRI, after each reading of it."""
        deadline = time.monotonic() + _GONE_S
        with (self.folder / "cgroup.events").open("rb", buffering=0) as events:
            poll = select.poll()
            poll.register(events, select.POLLPRI)
            while b"populated 1" in os.pread(events.fileno(), 4096, 0):
                if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                    return


def group_of(pid: int) -> Path | None:
    """Where a process is in the one hierarchy of version 2; None where there is none.

    Raises:
        OSError: it has ended.
    """
    if not (ROOT / "cgroup.controllers").exists():
        return None
    for line in (PROC / str(pid) / "cgroup").read_text("ascii").splitlines():
        if line.startswith("0::/"):
            return ROOT / line.removeprefix("0::/")
    return None


def handed_to_us(group: Path) -> bool:
    """Whether it is the top of what was handed to this user (`Delegate=` of a service): ours, what is above is not."""
    me = os.getuid()
    return bool(me) and group.stat().st_uid == me and group.parent.stat().st_uid != me


def pass_on(group: Path, name: str) -> None:
    """Move whatever is in a group into one of this name within it, so that it can pass on limits.

    Weights are passed on where they can be: before systemd 252 a user has no `cpu`.

    Raises:
        OSError: it may not, or lacks a controller.
    """
    inner = group / name
    inner.mkdir(exist_ok=True)
    while members := (group / "cgroup.procs").read_text("ascii").split():
        for member in members:
            with suppress(ProcessLookupError):
                (inner / "cgroup.procs").write_text(member, "ascii")
    control = group / "cgroup.subtree_control"
    control.write_text(" ".join(f"+{name}" for name in CONTROLLERS), "ascii")
    if "cpu" in (group / "cgroup.controllers").read_text("ascii").split():
        control.write_text("+cpu", "ascii")
