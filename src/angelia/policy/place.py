"""Where a path lies, seen from the workspace."""

import posixpath
import re
from enum import StrEnum

from angelia.policy.risk import Ground
from angelia.policy.secret_paths import folded
from angelia.policy.shell_word import GLOB, HOLE


class Place(StrEnum):
    """A closed set of places that are judged alike."""

    INSIDE = "inside"
    """Beneath the workspace."""
    WHOLE = "whole"
    """The workspace itself, all that is in it, or a folder that holds it."""
    SCRATCH = "scratch"
    """A name in /tmp."""
    NOWHERE = "nowhere"
    """/dev/null, the terminal, a file descriptor."""
    NETWORK = "network"
    """Bash's /dev/tcp and /dev/udp."""
    DEVICE = "device"
    """A device, or a switch of the kernel."""
    OURS = "ours"
    """Our own home."""
    OUTSIDE = "outside"
    UNKNOWN = "unknown"
    """Only running would tell."""


_NOWHERE = re.compile(r"^/dev/(?:null|stdout|stderr|stdin|tty|fd/\d+|zero|full|u?random)$|^/proc/self/fd/\d+$")
_NETWORK = re.compile(r"^/dev/(?:tcp|udp)/")
_DEVICE = re.compile(r"^/dev(?:/|$)|^/sys(?:/|$)|^/proc(?:/|$)|^/boot(?:/|$)")
_SCRATCH = re.compile(r"^/(?:var/|private/)?tmp/[^/]|^/dev/shm/[^/]")


def beneath(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies in it; both absolute and normal.

    >>> beneath("/w/a", "/w"), beneath("/wx", "/w")
    (True, False)
    """
    return bool(folder) and (path == folder or path.startswith(folder.rstrip("/") + "/"))


def absolute(path: str, ground: Ground) -> str:
    """A path as a command at `ground` would take it, without `..`; links are not followed."""
    if path == "~" or path.startswith("~/"):
        path = ground.home + path[1:]
    elif path.startswith("~"):
        path = HOLE
    if path.startswith(HOLE):
        return HOLE
    joined = posixpath.normpath(posixpath.join(ground.cwd or ground.workspace, path))
    return "/" + joined.lstrip("/")


def place_of(path: str, ground: Ground) -> Place:
    """Where `path` lies. A wildcard in its first unknown folder makes that folder's parent count."""
    full = absolute(path, ground)
    if full == HOLE:
        return Place.UNKNOWN
    marks = [at for at in (full.find(HOLE), full.find(GLOB)) if at >= 0]
    known = posixpath.dirname(full[: min(marks)]) if marks else full
    if ".." in full.split("/") or (HOLE in full and not beneath(known, ground.workspace)):
        return Place.UNKNOWN
    return _literal_place(full, known, ground)


def _literal_place(full: str, known: str, ground: Ground) -> Place:
    within = ground.workspace != ground.own_home and beneath(ground.workspace, ground.own_home)
    if beneath(folded(full), folded(ground.own_home)) and not (within and beneath(full, ground.workspace)):
        return Place.OURS
    for place, pattern in ((Place.NOWHERE, _NOWHERE), (Place.NETWORK, _NETWORK), (Place.SCRATCH, _SCRATCH)):
        if pattern.search(full) and not beneath(full, ground.workspace):
            return place
    if beneath(ground.workspace, full) or (GLOB in full and _all_of(full, ground.workspace)):
        return Place.WHOLE
    if beneath(known, ground.workspace):
        return Place.INSIDE
    if "/" != ground.own_home == known:
        return Place.OURS
    return Place.DEVICE if _DEVICE.search(full) else Place.OUTSIDE


def _all_of(full: str, workspace: str) -> bool:
    """Whether a path with wildcards means everything in the workspace, or a folder that holds it."""
    parts, whole = full.strip("/").split("/"), workspace.strip("/").split("/")
    if len(parts) > len(whole) + 1:
        return False
    same = all(GLOB in part or part == name for part, name in zip(parts, whole, strict=False))
    return same and not parts[-1].strip(GLOB + ".")
