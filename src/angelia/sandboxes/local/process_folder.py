"""The folder of this process beneath another, whose one locked file says to other processes that this one lives.

A gateway with a thousand chats would come to its limit of open files by a lock for each of their sandboxes.
"""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from angelia.core.ids import sortable_id
from angelia.sandboxes.shared.tree_removal import remove_tree

_OLDER = "commands"
"""What lies in a folder that an older version left: it had a lock for each life, whose record lies there."""


class ProcessFolder:
    """A folder `NAME` and a locked file `NAME.lock` beneath `state`, for everything that one process keeps there.

    The kernel drops the lock when the process dies, however it dies; what is in the folder is dead from then on.
    """

    def __init__(self, state: Path) -> None:
        """Lock a name.

        Raises:
            OSError: `state` cannot be written, or no more files can be opened.
        """
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock, name = _lock_new_name(state)
        self.path = state / name
        self.used = 0
        """How often it was asked for."""
        try:
            self.path.mkdir(mode=0o700)
        except OSError:
            self._end()
            raise

    @property
    def stands(self) -> bool:
        """Whether others can still find the lock."""
        return bool(os.fstat(self._lock).st_nlink)

    def let_go(self) -> None:
        """Who asked for it by `of_process` needs it no longer; with the last of them it goes."""
        with _GUARD:
            self.used -= 1
            if not self.used:
                key = _key(self.path.parent)
                if _OURS.get(key) is self:
                    del _OURS[key]
                self._end()

    def abandon(self, something: Path) -> None:
        """Take `something` in, and be dead: it is left to whoever comes next.

        Raises:
            OSError: it cannot be moved; it stays where it is.
        """
        try:
            something.rename(self.path / something.name)
        except OSError:
            self._end()
            raise
        os.close(self._lock)

    def _end(self) -> None:
        with suppress(OSError):
            self.path.rmdir()
        if not self.path.exists():  # what could not be removed is tried again by the next start
            self.path.with_suffix(".lock").unlink(missing_ok=True)
        os.close(self._lock)


_OURS: dict[tuple[int, str], ProcessFolder] = {}
_GUARD = threading.Lock()


def of_process(state: Path) -> ProcessFolder:
    """The one of this process beneath `state`, until it was let go as often as it was asked for.

    Raises:
        OSError: as `ProcessFolder`.
    """
    with _GUARD:
        found = _OURS.get(_key(state))
        if found is None or not found.stands:
            found = _OURS[_key(state)] = ProcessFolder(state)
        found.used += 1
        return found


def of_dead_processes(state: Path) -> Iterator[Path]:
    """What dead processes kept beneath `state`, each locked while it is looked at, and forgotten after that."""
    for lock in sorted(state.glob("*.lock")):
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # closed since we looked, or another start has reaped it
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            continue
        try:
            folder = state / lock.stem
            yield from [folder] if (folder / _OLDER).exists() else sorted(folder.glob("*"))
            remove_tree(folder)
            lock.unlink(missing_ok=True)
        finally:
            os.close(handle)


def _key(state: Path) -> tuple[int, str]:
    """A process that was forked has none of those before it."""
    return os.getpid(), os.path.abspath(state)  # noqa: PTH100 - no link is followed


def _lock_new_name(state: Path) -> tuple[int, str]:
    """Create and lock a file that no reaper has taken in the instant between the two."""
    while True:
        name = sortable_id()
        handle = os.open(state / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            continue
        if os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)
