"""Which places are open in which process of ours."""

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from angelia.core.ids import PlaceId
from angelia.store.presence import Presence, alive

_FOLDER = "open"


class SandboxLock(Struct, frozen=True):
    """A sandbox that a living process holds open. `since` is Unix milliseconds."""

    place: PlaceId
    spec: str
    workspace: str
    since: int
    process: int = 0


def move_in(state: Path, sandbox_lock: SandboxLock) -> Presence:
    """Say that this process holds it open, until the answer is closed or the process dies.

    Raises:
        OSError: `state` cannot be written.
    """
    presence = Presence(state / _FOLDER)
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    presence.name(msgspec.json.encode(msgspec.structs.replace(sandbox_lock, process=os.getpid())).decode())
    return presence


def sandbox_locks(state: Path) -> list[SandboxLock]:
    """All that are open now, oldest first; what dead processes left of theirs is removed."""
    return [msgspec.json.decode(text, type=SandboxLock) for text in alive(state / _FOLDER) if text]
