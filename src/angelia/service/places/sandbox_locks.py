"""Which places are open in which process of ours.

A process holds one locked file, however many sandboxes it has open, and a small file for each of them beside it: a
gateway with a thousand chats would come to its limit of open files by the locks alone.
"""

import os
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from angelia.core.ids import PlaceId, sortable_id
from angelia.sandboxes.shared.private_folders import make_private
from angelia.store.presence import Presence, is_alive

_FOLDER = "open"


class SandboxLock(Struct, frozen=True):
    """A sandbox that a living process holds open. `since` is Unix milliseconds."""

    place: PlaceId
    spec: str
    workspace: str
    since: int
    process: int = 0


class HeldSandbox(Struct, frozen=True):
    """What a process says that it holds open, until this is closed."""

    locks: "SandboxLocks"
    path: Path

    def close(self) -> None:
        """It is not open any more."""
        self.locks.let_go(self.path)


class SandboxLocks:
    """The sandboxes that processes of ours hold open beneath `state`."""

    def __init__(self, state: Path) -> None:
        self._folder = state / _FOLDER
        self._presence: Presence | None = None
        self._held = set[Path]()

    def hold(self, sandbox_lock: SandboxLock) -> HeldSandbox:
        """Say that this process holds it open, until the answer is closed or the process dies.

        Raises:
            OSError: the state cannot be written.
        """
        make_private(self._folder, exist_ok=True)
        self._presence = self._presence or Presence(self._folder)
        records = self._folder / Path(self._presence.name(f"process {os.getpid()}")).stem
        records.mkdir(mode=0o700, exist_ok=True)
        path = records / f"{sortable_id()}.json"
        unfinished = path.with_suffix(".part")
        unfinished.write_bytes(msgspec.json.encode(msgspec.structs.replace(sandbox_lock, process=os.getpid())))
        unfinished.replace(path)
        self._held.add(path)
        return HeldSandbox(self, path)

    def let_go(self, path: Path) -> None:
        """A sandbox is not open any more; nothing happens if that was said before."""
        if path in self._held:
            self._held.remove(path)
            path.unlink(missing_ok=True)
        if not self._held and self._presence is not None:
            _remove(path.parent)
            self._presence.close()
            self._presence = None

    def all(self) -> list[SandboxLock]:
        """All that are open now, oldest first; what dead processes left of theirs is removed."""
        found: list[SandboxLock] = []
        for lock in sorted(self._folder.glob("*.lock")):
            if is_alive(self._folder, lock.name):
                for path in sorted(lock.with_suffix("").glob("*.json")):
                    with suppress(FileNotFoundError):  # closed since we looked
                        found.append(msgspec.json.decode(path.read_bytes(), type=SandboxLock))
            else:
                _remove(lock.with_suffix(""))
        return sorted(found, key=lambda one: one.since)


def _remove(records: Path) -> None:
    with suppress(OSError):  # nothing is held by what stays
        for path in records.iterdir():
            path.unlink()
        records.rmdir()
