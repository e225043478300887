"""Where a path leads on another machine, beneath one folder, links followed one by one."""

import posixpath
import stat

import asyncssh

from angelia.sandboxes.local.safe_open import refuse_link, shown
from angelia.sandboxes.port import AccessRefused, NoSuchFile
from angelia.sandboxes.ssh.errors import refusal

MOST_LINKS = 40
"""As many as Linux follows (path_resolution(7))."""


async def lead(sftp: asyncssh.SFTPClient, root: str, path: str, *, follow: bool, make: bool = False) -> str:
    """`path` as an absolute one without links; with `follow` one at its end is resolved too, `make` makes folders.

    Raises:
        AccessRefused: it leads out of `root`, or in circles.
        NoSuchFile: a folder on the way is missing, or is none.
        OutOfSpace: a folder on the way cannot be made.
        asyncssh.SFTPError: the other side says no for another reason.
    """
    if "\0" in path:
        raise NoSuchFile(f"No file is called {shown(path)}: a name has no NUL in it.")
    here, todo, links = root, _steps(root, path, path), 0
    while todo:
        name = todo.pop()
        if name == "..":
            if here == root:
                raise outside(root, path)
            here = posixpath.dirname(here)
            continue
        there = f"{here}/{name}"
        if not todo and not follow:
            return there
        kind = await kind_of(sftp, there)
        if kind == stat.S_IFLNK:
            refuse_link(path)
            links += 1
            if links > MOST_LINKS:
                raise AccessRefused(f"{shown(path)} leads in circles: over {MOST_LINKS} links.")
            target = str(await sftp.readlink(there))
            todo += _steps(root, target, path)
            here = root if target.startswith("/") else here
        elif not todo:
            return there
        elif kind == stat.S_IFDIR:
            here = there
        elif kind == 0 and make:
            await _make(sftp, there, path)
            here = there
        else:
            raise NoSuchFile(f"There is no folder {shown(there)} on the way.")
    return here


async def _make(sftp: asyncssh.SFTPClient, folder: str, path: str) -> None:
    try:
        await sftp.mkdir(folder)
    except asyncssh.SFTPFailure as error:
        if told := await refusal(sftp, posixpath.dirname(folder), path):
            raise told from error
        raise


async def kind_of(sftp: asyncssh.SFTPClient, path: str) -> int:
    """The kind of what stands there, as in `stat.S_IFMT`; 0 for nothing."""
    try:
        return stat.S_IFMT((await sftp.lstat(path)).permissions or 0)
    except (asyncssh.SFTPNoSuchFile, asyncssh.SFTPNoSuchPath, asyncssh.SFTPNotADirectory):
        return 0


def outside(root: str, path: str) -> AccessRefused:
    """The refusal of a path that leads out."""
    return AccessRefused(
        f"{shown(path)} is outside the sandbox.",
        f"Files move only within {root}, after links are resolved.",
        "Copy it into the workspace first, with a command.",
    )


def _steps(root: str, path: str, asked: str) -> list[str]:
    """The names to walk, last first: from the root for an absolute path, else from where one is."""
    if path.startswith("/"):
        if not f"{posixpath.normpath(path)}/".startswith(f"{root}/") or not f"{path}/".startswith(f"{root}/"):
            raise outside(root, asked)
        path = path[len(root) :]
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]
