"""A clock that also runs while the machine sleeps, and the name of the boot that it counts from."""

import time
from functools import cache
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""macOS has no CLOCK_BOOTTIME, and its CLOCK_MONOTONIC goes on during sleep."""


def boottime_ms() -> int:
    """Milliseconds since the machine started; nobody can set this clock."""
    return time.clock_gettime_ns(_CLOCK) // 1_000_000


@cache
def boot_id() -> str:
    """Names this start of the machine; empty where the system does not tell (presence files decide there)."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""
