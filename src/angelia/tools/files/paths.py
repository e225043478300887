"""Where a path really leads inside a sandbox, found out without changing anything there."""

import posixpath

from angelia.core.errors import BadInput
from angelia.sandboxes.port import AccessRefused, FileKind, FileStat, Judged, NoSuchFile, Sandbox
from angelia.tools.port import SandboxAccess

MOST_LINKS = 40
"""How many links one path may lead through, as Linux has it (path_resolution(7))."""


async def resolve(sandbox: Sandbox, path: str) -> str:
    """`path` as an absolute path inside the sandbox with every link followed; what does not exist yet is kept as is.

    The workspace itself is taken as resolved. Where the sandbox does not let us look, the rest of the path is
    taken by its letters: it lies outside of what the sandbox may touch in any case.

    Raises:
        BadInput: the path is empty, holds a NUL character, or leads through more than 40 links.
        AccessRefused: `..` behind a folder that we may not look into.
        SandboxGone, Unreachable: the sandbox does not answer.
    """
    if not path or "\x00" in path:
        raise BadInput(f"{path!r} is not a path.", then="Give a path relative to the workspace, or an absolute one.")
    workspace = posixpath.normpath((await sandbox.describe()).workspace)
    known, todo, links = *_start(workspace, path), 0
    while todo:
        step = todo.pop(0)
        here = posixpath.dirname(known) if step == ".." else posixpath.join(known, step)
        if step == ".." or f"{workspace}/".startswith(f"{here}/"):
            known = here  # a folder above, or on the way to the workspace: resolved already
            continue
        there = await _look(sandbox, here)
        if there is None:
            return _by_letters(here, todo, path)
        if there.kind is not FileKind.LINK:
            known = here
            continue
        links += 1
        if links > MOST_LINKS:
            raise BadInput(f"{path} leads through more than {MOST_LINKS} links.", why="It probably runs in a circle.")
        known, more = _start(known, there.target)
        todo = more + todo
    return known


async def led(context: SandboxAccess, path: str) -> str:
    """As `resolve`, once for each call: what is used is what was judged, whatever becomes of a link in between."""
    if path not in context.led:
        context.led[path] = await resolve(context.sandbox, path)
    return context.led[path]


async def judged(context: SandboxAccess, path: str) -> Judged:
    """As `led`, for the sandbox: a link that was laid on it since is refused there."""
    return Judged(await led(context, path))


def _start(folder: str, path: str) -> tuple[str, list[str]]:
    """Where to begin, and the steps from there."""
    return "/" if path.startswith("/") else folder, [step for step in path.split("/") if step not in {"", "."}]


async def _look(sandbox: Sandbox, path: str) -> FileStat | None:
    """What stands there; None where nothing does or we may not look."""
    try:
        return await sandbox.stat(path)
    except (NoSuchFile, AccessRefused):
        return None


def _by_letters(here: str, rest: list[str], path: str) -> str:
    if ".." in rest:
        raise AccessRefused(
            f"{path} cannot be followed beyond {here}.", why="There is no such folder, or it may not be looked into."
        )
    return posixpath.join(here, *rest)
