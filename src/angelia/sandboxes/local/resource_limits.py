"""Limits of what a confined command may use up on this machine, set on it before it begins (setrlimit(2), proc(5)).

They hold runaway programs, not everybody who means harm: each process has its own of files and memory. What a command
may have with all that it starts, its control group holds where there is one (`command_groups`).

The memory of one process is not limited by default: Go's race detector and the sanitizers of C compilers map terabytes
that they never touch, and any such limit would stop them. A command is the first that the kernel ends when memory runs
out.
"""

import logging
import sys
from pathlib import Path

from msgspec import Struct

from angelia.core.amounts import Count, Percent
from angelia.sandboxes.shared.limits import limits, processes

MB = 1_000_000
_FIRST_TO_END = "1000"
"""/proc/PID/oom_score_adj, from -1000 (never) to 1000 (before all others)."""

logger = logging.getLogger("angelia.sandboxes")


class LocalSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What a confined command on this machine may use up; 0 is no limit.

    `processes` are those that it may have beside what runs on the machine when it begins; root is not held by that.
    `file_mb` is the size of one file that it writes, `memory_mb` the data of one of its processes, both in 1,000,000
    bytes. `free_mb` is what it has to leave free on the disk of the workspace (`limits_met`).

    Where control groups of version 2 can be had (`angelia doctor` says it), `processes` are exactly its own, root's
    too, and `memory_percent` is what all of them together may use of this machine's memory, of 100.
    """

    processes: Count = 4096
    file_mb: Count = 20_000
    memory_mb: Count = 0
    free_mb: Count = 500
    memory_percent: Percent = 80


USUAL = LocalSettings()
"""What holds where nothing is set."""


def in_words(settings: LocalSettings) -> str:
    """As the model is told."""
    file = f"{settings.file_mb:,} MB in one file" if settings.file_mb else ""
    return limits(0, 0, processes(settings.processes), file, _memory(settings), nothing="")


def _memory(settings: LocalSettings) -> str:
    return f"{settings.memory_mb:,} MB of memory in one process" if settings.memory_mb else ""


def put_limits(process: int, settings: LocalSettings) -> None:
    """Limit a process that has started nothing yet, with all that it will start. Where it may not be, the log says so.

    It costs some 30 µs.
    """
    if sys.platform != "linux":
        return
    import resource

    wanted = {
        resource.RLIMIT_FSIZE: settings.file_mb * MB,
        resource.RLIMIT_DATA: settings.memory_mb * MB,
        resource.RLIMIT_NPROC: _running() + settings.processes if settings.processes else 0,
    }
    try:
        for which, most in wanted.items():
            held = resource.prlimit(process, which)[1]
            if most and (held == resource.RLIM_INFINITY or most < held):
                resource.prlimit(process, which, (most, most))
        Path(f"/proc/{process}/oom_score_adj").write_text(_FIRST_TO_END, "ascii")
    except ProcessLookupError:
        return  # it ended at once, and says why itself
    except OSError as error:  # bubblewrap is set-user-id here
        logger.warning("The limits of a command could not be set: %s.", error.strerror)


def _running() -> int:
    """Threads on this machine: the fourth word of /proc/loadavg is `running/all`. The kernel counts threads too."""
    return int(Path("/proc/loadavg").read_text("ascii").split()[3].partition("/")[2])
