"""Whether a command met one of its limits: told at its end, and where the disk runs short it is ended.

The size of a file and memory are the kernel's to hold (`resource_limits`, `command_groups`). How full a disk may become
no limit of a process says: it is looked at each second, and a command that leaves less than `free_mb`, or less than
half of what was free when it began if that was little, is ended. What stores Angelia's own records needs that space.
"""

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from angelia.core.counts import counted
from angelia.sandboxes.local.resource_limits import MB, LocalSettings


class LimitsMet:
    """Of one command: `places` are what it can write to."""

    def __init__(self, settings: LocalSettings, places: Sequence[Path]) -> None:
        self._settings = settings
        most = settings.free_mb * MB
        self._least = {place: min(most, _free(place) // 2) for place in places} if most else {}
        self._killed = _killed_for_memory()
        self._short = ""

    def disk_is_short(self) -> bool:
        """Whether the command has to be ended; `told` says why."""
        for place, least in self._least.items():
            if (free := _free(place)) < least:
                self._short = (
                    f"It was ended because the disk runs full: {free // MB:,} MB are free for {place}, and "
                    f"{least // MB:,} MB are kept (`sandbox.local.free_mb`). What it wrote is still there."
                )
        return bool(self._short)

    def told(self, ended_by: int, by_group: tuple[str, ...] | None) -> tuple[str, ...]:
        """Sentences about what was met; `ended_by` is the signal that ended it, 0 for none.

        `by_group` is what its control group has to say, which knows its own processes; None where it had none.
        """
        notes = [self._short] if self._short else []
        if ended_by == signal.SIGXFSZ:
            most = self._settings.file_mb
            notes.append(f"A file of it reached {most:,} MB, the most that one may have (`sandbox.local.file_mb`).")
        if by_group is not None:
            notes += by_group
        elif more := _killed_for_memory() - self._killed:
            notes.append(
                f"While it ran, memory ran out and the kernel ended {counted(more, 'process')}; a command's come first."
            )
        return tuple(notes)


def _free(place: Path) -> int:
    """Bytes; as much as can be where nobody can say."""
    with suppress(OSError):
        found = os.statvfs(place)
        return found.f_bavail * found.f_frsize
    return 1 << 62


def _killed_for_memory() -> int:
    """Processes that the kernel ended since it began: of the control group that Angelia and what it starts are in, if
    that counts them, so that a container that met its own limit is nobody's news; else of this machine.
    """
    for file in _counters(_text(Path("/proc/self/cgroup"))):
        _, found, behind = f"\n{_text(file)}".rpartition("\noom_kill ")
        if found:
            return int(behind.split("\n", 1)[0])
    return 0


def _counters(groups: str) -> list[Path]:
    r"""Files with a line `oom_kill`, the best one first, where a process is in `groups` (cgroups(7), proc(5)).

    >>> [str(file) for file in _counters("4:memory:/a\n0::/b/c\n")]
    ['/sys/fs/cgroup/memory/a/memory.oom_control', '/sys/fs/cgroup/b/c/memory.events', '/proc/vmstat']
    """
    files = list[Path]()
    for line in groups.splitlines():
        _, controllers, group = line.split(":", 2)
        if "memory" in controllers.split(","):
            files.append(Path(f"/sys/fs/cgroup/memory{group}", "memory.oom_control"))
        elif not controllers:
            files.append(Path(f"/sys/fs/cgroup{group}", "memory.events"))
    return [*files, Path("/proc/vmstat")]


def _text(file: Path) -> str:
    with suppress(OSError):
        return file.read_text("ascii", "replace")
    return ""
