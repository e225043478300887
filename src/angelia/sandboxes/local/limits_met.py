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
            notes.append(f"While it ran, memory ran out and the kernel ended {more} processes; a command's come first.")
        return tuple(notes)


def _free(place: Path) -> int:
    """Bytes; as much as can be where nobody can say."""
    with suppress(OSError):
        found = os.statvfs(place)
        return found.f_bavail * found.f_frsize
    return 1 << 62


def _killed_for_memory() -> int:
    """Processes of this machine that the kernel ended since it began (`oom_kill`, proc(5), /proc/vmstat)."""
    with suppress(OSError):
        _, _, behind = Path("/proc/vmstat").read_bytes().rpartition(b"oom_kill ")
        return int(behind.split(b"\n", 1)[0] or 0)
    return 0
