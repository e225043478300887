"""A locked file that says to other processes: this one is alive."""

import fcntl
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from angelia.core.ids import sortable_id
from angelia.store.port import LeaseEnd, StoreConnection

TTL_MS = 30_000
"""How long a lease holds without renewal while its holder's process still exists (stopped, or hung)."""


class Presence:
    """One file in `folder`, made and locked at the first `name`, removed by `close`.

    The kernel lets go of the lock when the process ends, however it ends.
    """

    ttl_ms = TTL_MS

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = ""
        self._file = -1

    @property
    def here(self) -> str:
        """The number of this process."""
        return f"process {os.getpid()}"

    def name(self, holder: str) -> str:
        """The file's name, for others to ask about; `holder` is who they are told has it.

        Raises:
            OSError: the folder cannot be written.
        """
        while not self._name:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            name = f"{sortable_id()}.lock"
            path = self._folder / name
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            fcntl.flock(file, fcntl.LOCK_EX)
            if not path.exists():  # somebody cleaned up between the two calls
                os.close(file)
                continue
            try:
                os.write(file, holder.encode())
            except OSError:  # the disk is full: nothing is left of it, and it can be asked for again
                path.unlink(missing_ok=True)
                os.close(file)
                raise
            self._name, self._file = name, file
        return self._name

    def lives(self, _: StoreConnection, presence: str) -> bool:
        """See `store.port.Presences`."""
        return bool(presence) and is_alive(self._folder, presence)

    def until(self, _: StoreConnection, ttl_ms: int) -> tuple[str, int]:
        """Which start of the machine this is, and so many milliseconds from now, counted from there."""
        return boot_id(), boottime_ms() + ttl_ms

    def held(self, _: StoreConnection, leases: Sequence[LeaseEnd]) -> list[bool]:
        """Of each, whether its process still runs, and this is not later, nor after another start."""
        return [self._holds(*one) for one in leases]

    def _holds(self, presence: str, clock: str, expires: int) -> bool:
        return clock == boot_id() and boottime_ms() < expires and is_alive(self._folder, presence)

    def left_ms(self, _: StoreConnection, leases: Sequence[LeaseEnd]) -> list[int]:
        """See `store.port.Presences`; what was taken after another start is over."""
        now = boottime_ms()
        return [max(expires - now, 0) if clock == boot_id() else 0 for _, clock, expires in leases]

    def close(self) -> None:
        """Say that this process is done."""
        if self._name:
            (self._folder / self._name).unlink(missing_ok=True)
            os.close(self._file)
            self._name = ""


def is_alive(folder: Path, name: str) -> bool:
    """Whether the process that made the file `name` still runs; the file of a dead one is removed."""
    path = folder / name
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared, so that two who ask do not see each other
        path.unlink(missing_ok=True)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(file)


def alive(folder: Path) -> tuple[str, ...]:
    """Who is alive in `folder`, as they called themselves."""
    with suppress(FileNotFoundError):
        return tuple(path.read_text() for path in sorted(folder.glob("*.lock")) if is_alive(folder, path.name))
    return ()


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
