"""Places that outlive the process that made them: which there are of ours, whether anybody uses them, their end."""

import os
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from msgspec import Struct

from angelia.core.ids import sortable_id

PERSISTENT = {
    "docker": "angelia.sandboxes.docker.persistent",
    "apptainer": "angelia.sandboxes.apptainer.persistent",
    "modal": "angelia.sandboxes.modal.persistent",
}
"""Kinds of sandboxes whose places outlive us, and the modules that are their `Keeper`."""

_OWNER = "owner"


class Use(StrEnum):
    """Whether anybody needs a place."""

    IN_USE = "in use"
    """A process of ours holds it, or something runs in it."""
    IDLE = "idle"
    """It ends by itself after a while."""
    ENDED = "ended"
    """Nothing runs in it any more, or never did."""


class PersistentPlace(Struct, frozen=True):
    """One place of ours. `kind` is as in `PERSISTENT`, `place` its id in `SandboxContext`, `name` what it is called
    there, `at` who is asked about it (a daemon's socket); `since` is when it was made, Unix seconds. `only_copy`: the
    files of its conversations lie there alone, and go with it.
    """

    kind: str
    at: str
    name: str
    place: str
    what: str
    use: Use
    since: float
    only_copy: bool = False


class Keeper(Protocol):
    """What a kind of sandbox knows of its places. `state` is where we keep what runs."""

    async def found(self, state: Path, settings: Sequence[object]) -> Sequence[PersistentPlace]:
        """Every place that was made from this home, and none of anybody else; none where such sandboxes cannot be had.

        `settings` are all that are configured for its kind, by presets too.

        Raises:
            SandboxError: what keeps them is there, and does not tell.
        """
        ...

    async def end(self, place: PersistentPlace) -> None:
        """End a place and all that runs in it. One that is gone already is fine.

        Raises:
            SandboxError: it cannot be ended.
        """
        ...


def keeper_of(kind: str) -> Keeper:
    """The keeper of a kind of sandbox, of `PERSISTENT`."""
    return cast("Keeper", import_module(PERSISTENT[kind]))


def owner(state: Path) -> str:
    """A word that names this home among all that use the same daemon or account; made when it is first asked for.

    It lies beside what runs, which no backup takes along: a copy of a home is another owner.
    """
    path = state / _OWNER
    try:
        return path.read_text("ascii")
    except FileNotFoundError:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = state / f".{_OWNER}-{sortable_id()}"
        made.write_text(sortable_id(), "ascii")
        with suppress(FileExistsError):
            os.link(made, path)  # whoever is first wins, and its file is whole
        made.unlink()
        return path.read_text("ascii")
