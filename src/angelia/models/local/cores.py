"""How many processor cores a model may work on: two threads on one core wait for each other, and all for the last."""

import os
from collections.abc import Collection
from pathlib import Path

_MOST = 8
"""More than so many wait for memory, not for each other."""


def cores(system: Path = Path("/sys"), allowed: Collection[int] | None = None) -> int:
    """Those that this process has: by its affinity, of two threads of one core only one, and no more than its container
    is given. Half of all where a system does not say: Apple's come in fast and slow ones. At least 1, at most 8.
    """
    if allowed is None:
        if not hasattr(os, "sched_getaffinity"):
            return min(max((os.cpu_count() or 1) // 2, 1), _MOST)
        allowed = os.sched_getaffinity(0)
    siblings = "devices/system/cpu/cpu{}/topology/core_cpus_list"
    own = len({_read(system / siblings.format(number)) or str(number) for number in allowed})
    quota, _, period = _read(system / "fs/cgroup/cpu.max").partition(" ")
    given = int(quota) // int(period) if quota.isdecimal() and period.isdecimal() else own
    return min(max(min(own, given), 1), _MOST)


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
