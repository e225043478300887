"""What every sandbox is told when it is opened."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from msgspec import Struct

from angelia.sandboxes.egress.addresses import Addresses, no_addresses
from angelia.sandboxes.undo.store import UndoStore


def _unheard(_: str) -> None:
    """Nobody wants to know."""


class SandboxContext(Struct, frozen=True):
    """Which one, and where. `id` names the place among all of this home: whoever opens it by the same id works in the
    same one. `workspace` is a path inside the sandbox, empty for the sandbox's own choice.

    `home` is Angelia's own and stays unseen inside; `state` takes records of what runs. `progress` is told what takes
    more than a second. With `confine = "off"` sandboxes that cannot confine commands run them all the same. A `visit`
    looks in from outside: a sandbox that outlives its processes, and that nobody else uses, stays as it was found when
    we leave.
    `addresses` judges where confined commands that have the network may connect to. `undo` takes what commands change
    in a workspace of this machine; none keeps nothing.
    """

    id: str
    workspace: str
    home: Path
    state: Path
    progress: Callable[[str], None] = _unheard
    confine: Literal["auto", "off"] = "auto"
    visit: bool = False
    addresses: Addresses = no_addresses
    undo: UndoStore | None = None
