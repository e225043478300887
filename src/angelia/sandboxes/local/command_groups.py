"""Where this process may make a control group for each command: what was handed to it, a scope of systemd's, or not.

Tried once, with the first command, off the event loop: a moment of some 20 ms in which that one is held back. What
fails later (the user's service manager ends with the last login, unless it lingers) ends it for this process: commands
have the limits of single processes from then on, and the log says so.
"""

import atexit
import logging
import os
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from angelia.core.text import clean, one_line
from angelia.sandboxes.local.cgroup import ROOT, Cgroup, group_of, handed_to_us, pass_on
from angelia.sandboxes.local.resource_limits import MB, LocalSettings

if TYPE_CHECKING:
    from angelia.sandboxes.local.systemd_scope import SystemdScope

logger = logging.getLogger("angelia.sandboxes")


@cache
def may_be_had() -> bool:
    """Whether it is worth a try: the one hierarchy of version 2 is there."""
    return (ROOT / "cgroup.controllers").exists()


def memory_of(settings: LocalSettings) -> int:
    """Bytes that a command may have with all that it starts; 0 for no limit."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * settings.memory_percent // 100


class LimitedCommand:
    """A command in a group of its own."""

    def __init__(self, group: Cgroup, settings: LocalSettings) -> None:
        self._group, self._settings = group, settings

    def end(self) -> tuple[str, ...]:
        """End what is left of it; what `told` said."""
        told = self.told()
        self._group.remove()
        return told

    def told(self) -> tuple[str, ...]:
        """Sentences about the limits that it met."""
        return (*self._memory(), *self._processes())

    def _memory(self) -> tuple[str, ...]:
        killed = self._group.counted("memory.events", "oom_kill")
        if not killed:
            return ()
        ended = f"the kernel ended {killed} of its processes"
        if not self._group.counted("memory.events", "oom"):
            return (f"While it ran, memory ran out on this machine, and {ended}; a command's come first.",)
        most = memory_of(self._settings) // MB
        where = f"`sandbox.local.memory_percent`, {self._settings.memory_percent}"
        return (f"It reached {most:,} MB of memory, the most that it may have with all it starts ({where}): {ended}.",)

    def _processes(self) -> tuple[str, ...]:
        refused = self._group.counted("pids.events", "max")
        most = f"{self._settings.processes:,} processes and threads"
        return (f"It had {most}, and {refused:,} more were refused (`sandbox.local.processes`).",) if refused else ()


class CommandGroups:
    """What this process may divide. Its methods wait, and may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = 0
        self._folder: Path | None = None
        self._scope: SystemdScope | None = None
        self.why_not = ""
        """Why there are none, once that was tried."""

    def limited(self, pid: int, name: str, settings: LocalSettings) -> LimitedCommand | None:
        """Put a process that has started nothing yet into a group of its own; None where that cannot be."""
        group = self.group(pid, name, {"memory.max": memory_of(settings), "pids.max": settings.processes})
        return LimitedCommand(group, settings) if group else None

    def group(self, pid: int, name: str, limits: dict[str, int]) -> Cgroup | None:
        """The same, with limits as `Cgroup` has them."""
        with self._lock:
            folder = self._found()
            if folder is None:
                return None
            try:
                group = Cgroup(folder, name, limits)
                return group if self._taken(group, pid) else None
            except OSError as error:
                self._give_up(error)
                logger.warning("Commands have only the limits of single processes from now on: %s.", self.why_not)
                return None

    def folder(self) -> Path | None:
        """Where the groups are; None where there can be none, and `why_not` says why."""
        with self._lock:
            return self._found()

    def _taken(self, group: Cgroup, pid: int) -> bool:
        taken = False
        try:
            taken = self._take(group, pid)
        finally:
            if not taken:
                group.remove()
        return taken

    def _take(self, group: Cgroup, pid: int) -> bool:
        try:
            group.take(pid)
        except ProcessLookupError:
            return False  # it ended at once, and says why itself
        except PermissionError:
            if self._scope is None:
                raise
            self._scope.take(group.folder.name, pid)
        return True

    def _found(self) -> Path | None:
        if self._process != os.getpid():  # the first time, or forked
            self._process = os.getpid()
            self._folder = None
            self._scope = None
            self.why_not = ""
            try:
                self._folder = self._given()
            except OSError as error:
                self._give_up(error)
        return self._folder

    def _given(self) -> Path:
        own = group_of(os.getpid())
        if own is None:
            raise OSError("this machine has no control groups of version 2")
        if handed_to_us(own):
            pass_on(own, "main")
            return own
        from angelia.sandboxes.local.systemd_scope import SystemdScope

        self._scope = SystemdScope()
        atexit.register(self._scope.close)
        return self._scope.folder

    def _give_up(self, error: OSError) -> None:
        self.why_not = one_line(clean(error.strerror or str(error)), 200)
        self._folder = None


GROUPS = CommandGroups()
"""Of this process."""
