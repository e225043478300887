"""Where a path lies, seen from the workspace."""

import posixpath
import re
from enum import StrEnum

from angelia.policy.secret_paths import folded
from angelia.policy.shell.risk import CommandContext
from angelia.policy.shell.words import GLOB, HOLE


class PathLocation(StrEnum):
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


_NOWHERE = r"^/dev/(?:null|stdout|stderr|stdin|tty|fd/\d+|zero|full|u?random)$|^/proc/self/fd/\d+$"
_NETWORK = r"^/dev/(?:tcp|udp)/"
_DEVICE = r"^/dev(?:/|$)|^/sys(?:/|$)|^/proc(?:/|$)|^/boot(?:/|$)"
_SCRATCH = r"^/(?:var/|private/)?tmp/[^/]|^/dev/shm/[^/]"


def beneath(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies in it; both absolute and normal.

    >>> beneath("/w/a", "/w"), beneath("/wx", "/w")
    (True, False)
    """
    return bool(folder) and (path == folder or path.startswith(folder.rstrip("/") + "/"))


def absolute(path: str, context: CommandContext) -> str:
    """A path as a command at `context` would take it, without `..`; links are not followed."""
    if path == "~" or path.startswith("~/"):
        path = context.home + path[1:]
    elif path.startswith("~"):
        path = HOLE
    if path.startswith(HOLE):
        return HOLE
    joined = posixpath.normpath(posixpath.join(context.cwd or context.workspace, path))
    return "/" + joined.lstrip("/")


def place_of(path: str, context: CommandContext) -> PathLocation:
    """Where `path` lies. A wildcard in its first unknown folder makes that folder's parent count."""
    full = absolute(path, context)
    if full == HOLE:
        return PathLocation.UNKNOWN
    marks = [at for at in (full.find(HOLE), full.find(GLOB)) if at >= 0]
    known = posixpath.dirname(full[: min(marks)]) if marks else full
    if ".." in full.split("/") or (HOLE in full and not beneath(known, context.workspace)):
        return PathLocation.UNKNOWN
    return _literal_place(full, known, context)


def _literal_place(full: str, known: str, context: CommandContext) -> PathLocation:
    within = context.workspace != context.own_home and beneath(context.workspace, context.own_home)
    if beneath(folded(full), folded(context.own_home)) and not (within and beneath(full, context.workspace)):
        return PathLocation.OURS
    for place, pattern in (
        (PathLocation.NOWHERE, _NOWHERE),
        (PathLocation.NETWORK, _NETWORK),
        (PathLocation.SCRATCH, _SCRATCH),
    ):
        if re.search(pattern, full) and not beneath(full, context.workspace):
            return place
    if beneath(context.workspace, full) or (GLOB in full and _all_of(full, context.workspace)):
        return PathLocation.WHOLE
    if beneath(known, context.workspace):
        return PathLocation.INSIDE
    if "/" != context.own_home == known:
        return PathLocation.OURS
    return PathLocation.DEVICE if re.search(_DEVICE, full) else PathLocation.OUTSIDE


def _all_of(full: str, workspace: str) -> bool:
    """Whether a path with wildcards means everything in the workspace, or a folder that holds it."""
    parts, whole = full.strip("/").split("/"), workspace.strip("/").split("/")
    if len(parts) > len(whole) + 1:
        return False
    same = all(GLOB in part or part == name for part, name in zip(parts, whole, strict=False))
    return same and not parts[-1].strip(GLOB + ".")
