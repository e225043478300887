"""Which folders of this machine no conversation works in: homes, what configures programs, code of ours, our records.

What is written there decides which programs run later (`~/.bashrc`, `~/.config/systemd`), is imported by this process,
or is our own log and grants.
So it is no question of asking: no door opens a conversation in such a place. Folders are told apart by what they are
(device and inode), so links, bind mounts and upper case change nothing.
"""

import os
import sys
from itertools import pairwise
from pathlib import Path

from angelia.sandboxes.local.safe_open import shown
from angelia.sandboxes.own_code import own_code
from angelia.sandboxes.port import AccessRefused

_OF_THE_SYSTEM = tuple(Path(folder) for folder in ("/etc", "/boot", "/proc", "/sys"))
_HOLDERS_OF_HOMES = tuple(Path(folder) for folder in ("/", "/home", "/Users"))
_LIBRARY = "Library" if sys.platform == "darwin" else ""
"""Where macOS keeps what others keep in dot folders."""


def work_folder(own_home: Path) -> Path:
    """Where chats work that have no folder set: beside our own home, since tools never touch that."""
    return own_home.with_name(f"{own_home.name}-work")


def earlier_files_folder(own_home: Path) -> Path:
    """Where forks and repeated conversations work that have a folder as it was at an earlier entry."""
    return work_folder(own_home) / "copies"


def copies_folder(own_home: Path) -> Path:
    """Where helpers work that have a copy of a folder: beside our own home, as `work_folder`."""
    return own_home.with_name(f"{own_home.name}-copies")


def snapshots_folder(own_home: Path) -> Path:
    """Where it is kept how each of those copies began."""
    return own_home / "snapshots"


def own_folder(person: Path | None = None) -> Path:
    """The folder to work in where the one that we were started in is none."""
    return (person or Path.home()) / "Angelia"


def unfit(folder: Path, own_home: Path) -> str:
    """Why no conversation works in `folder`, as a sentence; empty when one may.

    >>> unfit(Path("/"), Path("/home/ann/.angelia"))
    'This is the whole machine.'
    """
    person, at = Path.home().resolve(), folder.resolve()
    if _among(at, _HOLDERS_OF_HOMES):
        return "This is the whole machine." if at == Path("/") else "This folder holds people's homes."
    if at in _OF_THE_SYSTEM or any(place in at.parents for place in _OF_THE_SYSTEM):
        return "This folder configures the machine."
    own = own_home.resolve()
    if _among(own, (at, *at.parents)):
        return "This folder is Angelia's own: its log, grants and settings lie there."
    if _among(at, (own, *own.parents)):
        return "This folder holds Angelia's own home, with its log, grants and settings."
    if at in own_code(at):
        return "Python imports from this folder: what is written there would run outside of every sandbox."
    if person == Path("/"):
        return ""  # an account without a home has no start-up files of its own
    if _among(at, (person, *person.parents)):
        return "This is your home, or holds it: what is written there decides which programs run later."
    if any(_among(ours(own), (at, *at.parents)) for ours in (work_folder, copies_folder)):
        return ""
    above = (at, *at.parents)
    inner = next((step for step, parent in pairwise(above) if _among(parent, (person,))), None)
    if inner is not None and (inner.name.startswith(".") or inner.name == _LIBRARY):
        return f"What lies in {inner.name} of your home configures programs, or holds keys."
    return ""


def refuse_unfit(folder: Path, own_home: Path) -> None:
    """Let only pass what a conversation may work in.

    Raises:
        AccessRefused: it may not work here; says why, and what to do.
    """
    if why := unfit(folder, own_home):
        raise AccessRefused(
            f"{shown(str(folder))} cannot be a workspace.",
            why,
            f"Name a folder of your project, or one made for this: mkdir -p {own_folder()}.",
        )


def make_own_folder() -> Path:
    """`own_folder`, made for its owner alone if it is not there.

    Raises:
        AccessRefused: it cannot be made.
    """
    folder = own_folder()
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise AccessRefused(
            f"The folder {shown(str(folder))} cannot be made: {error.strerror}.",
            "Angelia does not work in the folder that it was started in.",
            "Name a folder to work in: angelia -C ~/projects/garden.",
        ) from error
    return folder


def _among(folder: Path, others: tuple[Path, ...]) -> bool:
    if folder in others:
        return True
    known = _identity(folder)
    return known is not None and any(_identity(other) == known for other in others)


def _identity(folder: Path) -> tuple[int, int] | None:
    """Its device and inode; None where it is not there."""
    try:
        found = os.stat(folder)  # noqa: PTH116 - `Path.stat` is no clearer
    except OSError:
        return None
    return found.st_dev, found.st_ino
