"""Whole folders, out of a sandbox and into one: file by file, under names that were looked at, and no link followed."""

import asyncio
import hashlib
import os
import shutil
import stat
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from msgspec import Struct

from angelia.context.media_forms import size_words
from angelia.core.counts import counted
from angelia.core.errors import BadInput
from angelia.core.ids import sortable_id
from angelia.core.text import clean, one_line
from angelia.sandboxes.guard.brought import leave_out
from angelia.sandboxes.local import files as local_files
from angelia.sandboxes.local.safe_open import AllowedRoot, AllowedRoots
from angelia.sandboxes.port import Command, FileKind, FileStat, NoSuchFile, Reach, Sandbox, SandboxError
from angelia.sandboxes.shared.tree_removal import remove_tree
from angelia.service.files.transfers import Told, TransferProgress, dress
from angelia.store.media.write_behind import WriteBehind

MOST = 100_000
"""Entries of a folder that is copied file by file."""


MOST_DEEP = 100
"""Folders within each other; each is found from the top anew, so that the work grows with the square of this."""

MOST_NAME, MOST_WAY = 255, 2_000
"""Bytes of a name and of the way to it: what file systems take (limits.h: NAME_MAX), and half of what Linux does in a
path (PATH_MAX), for it begins somewhere.
"""


def _beyond(name: str) -> str:
    """Why what has this name is not copied; empty for nothing. With it goes all that is in it."""
    try:
        words = [len(os.fsencode(word)) for word in name.split("/")]
    except UnicodeEncodeError:
        return "no name that a file can have"
    if len(words) > MOST_DEEP:
        return f"more than {MOST_DEEP} folders deep"
    if max(words) > MOST_NAME:
        return f"its name has more than {MOST_NAME} bytes"
    return f"the way to it has more than {MOST_WAY:,} bytes" if sum(words) + len(words) > MOST_WAY else ""


class Carried(Struct, frozen=True):
    """A folder that was copied: its place, how many files and bytes, and a line for each thing that was left out."""

    path: str
    files: int
    size: int
    left: tuple[str, ...] = ()


class _Tree(Struct):
    """What is to be copied, outer folders first; a name is the way from the top."""

    folders: list[tuple[str, FileStat]] = []
    files: list[tuple[str, FileStat]] = []
    left: list[str] = []

    def leave(self, name: str, why: str) -> None:
        self.left.append(f"{one_line(clean(name), 200)}: {why}")

    def take(self, name: str, entry: FileStat) -> None:
        if why := _beyond(name):
            self.leave(name, why)
            self.count()
            return
        match entry.kind:
            case FileKind.FILE:
                self.files.append((name, entry))
            case FileKind.FOLDER:
                self.folders.append((name, entry))
            case FileKind.LINK:
                self.leave(name, "a link, and links are not followed")
            case FileKind.OTHER:
                self.leave(name, "a device, socket or FIFO, which has no end")
        self.count()

    def count(self) -> None:
        """Refuse what has no end."""
        if len(self.files) + len(self.folders) + len(self.left) > MOST:
            raise BadInput(f"It holds more than {MOST:,} files.", then="Pack it first: tar czf folder.tgz folder")

    @property
    def size(self) -> int:
        return sum(entry.size for _, entry in self.files)


async def fetch_folder(sandbox: Sandbox, path: str, target: Path, told: Told) -> Carried:
    """Copy a folder out of a sandbox, whole or not at all, with permission bits and times.

    All is written into a new folder that takes its name at the end, so nothing that lies at `target` leads elsewhere;
    a name that is no single one (`..`, `a/b`) is left out, and so is what programs here would run by themselves once
    somebody enters the folder. (Whoever wants that names the file.)

    Raises:
        BadInput: `target` is there already or cannot be written, or there is no space for it.
        SandboxError: see `Sandbox.get` and `Sandbox.list`.
    """
    if target.exists() or target.is_symlink():
        raise BadInput(
            f"{target} is there already.", "A folder is not replaced.", "Name another place, or move it away."
        )
    tree = await _seen(sandbox, path)
    unfinished = target.with_name(f".{sortable_id()}.part")
    try:
        space = shutil.disk_usage(target.parent).free
        if tree.size > space:
            raise BadInput(f"{size_words(tree.size)} are to be copied, and {size_words(space)} are free there.")
        unfinished.mkdir(mode=0o700)
        await _fill(sandbox, path, tree, unfinished, space, told)
        await asyncio.to_thread(_leave_what_would_run, tree, unfinished)
        await asyncio.to_thread(os.sync)
        unfinished.rename(target)
    except OSError as error:
        raise BadInput(f"{target} cannot be written: {error.strerror or error}.") from error
    finally:
        await asyncio.to_thread(remove_tree, unfinished)
    return Carried(str(target), len(tree.files), tree.size, tuple(tree.left))


async def bring_folder(sandbox: Sandbox, source: Path, path: str, told: Told) -> Carried:
    """Copy a folder into a sandbox, each file whole or not at all, with its permission bits and time.

    Raises:
        BadInput: it cannot be read.
        SandboxError: see `Sandbox.put`; says how many files are there by then.
    """
    source = source.resolve()
    try:
        tree, empty = await asyncio.to_thread(_listed, source)
    except OSError as error:
        raise BadInput(f"{error.filename or source} cannot be read: {error.strerror or error}.") from error
    ground, pace, done = AllowedRoots((AllowedRoot("/", source),), state=source), TransferProgress(tree.size, told), 0
    try:
        for name, entry in tree.files:
            digest, size = hashlib.sha256(), 0
            async for chunk in local_files.read(ground, name, 1 << 62):
                digest.update(chunk)
                size += len(chunk)
            content = _counted(local_files.read(ground, name, 1 << 62), pace)
            mode, modified, sha256 = entry.mode & 0o777, entry.modified, digest.hexdigest()
            await sandbox.put(f"{path}/{name}", content, size=size, sha256=sha256, mode=mode, modified=modified)
            done += 1
        await _make(sandbox, [f"{path}/{name}".rstrip("/") for name in empty])
    except SandboxError as error:
        told_why = f"{error.why} {done} of {counted(len(tree.files), 'file')} are there.".strip()
        raise type(error)(error.what, told_why, error.then) from error
    pace.over()
    return Carried(path, done, tree.size, tuple(tree.left))


async def _seen(sandbox: Sandbox, path: str) -> _Tree:
    """Everything beneath a folder of a sandbox, its own entry first."""
    tree = _Tree(folders=[("", await sandbox.stat(path))])
    for above, _ in tree.folders:  # which grows
        folder = f"{path.rstrip('/')}/{above}" if above else path
        async for entry in sandbox.list(folder):
            name = entry.path.removeprefix(f"{folder.rstrip('/')}/")
            inside = f"{above}/{name}" if above else name
            if name in ("", ".", "..") or "/" in name or "\0" in name:
                tree.leave(entry.path, "no name that a file can have")
                tree.count()
            else:
                tree.take(inside, entry)
    return tree


async def _fill(sandbox: Sandbox, path: str, tree: _Tree, top: Path, space: int, told: Told) -> None:
    for name, _ in tree.folders[1:]:
        (top / name).mkdir(mode=0o700)
    pace, gone = TransferProgress(tree.size, told), []
    for name, entry in tree.files:
        try:
            with (top / name).open("xb") as file:
                async with WriteBehind(file.write) as behind:
                    async for chunk in _counted(sandbox.get(f"{path.rstrip('/')}/{name}", limit=space), pace):
                        space -= len(chunk)
                        await behind.write(chunk)
        except NoSuchFile:
            (top / name).unlink()
            tree.leave(name, "it was removed meanwhile")
            gone.append((name, entry))
            continue
        dress(top / name, entry)
    tree.files = [known for known in tree.files if known not in gone]
    for name, entry in reversed(tree.folders):
        dress(top / name, entry)
    pace.over()


def _leave_what_would_run(tree: _Tree, top: Path) -> None:
    found = leave_out(top)
    for name, why in found.items():
        tree.leave(name, f"programs outside could run it by themselves: {why}")
    tree.files = [known for known in tree.files if known[0] not in found]


def _listed(source: Path) -> tuple[_Tree, list[str]]:
    """Everything beneath a folder of this machine, and which folders are empty."""
    tree, empty = _Tree(), list[str]()

    def complain(error: OSError) -> None:
        raise error

    for above, folders, files, handle in os.fwalk(source, onerror=complain, follow_symlinks=False):
        here = os.path.relpath(above, source)
        for name in (*folders, *files):
            entry = os.stat(name, dir_fd=handle, follow_symlinks=False)
            kinds = {stat.S_IFREG: FileKind.FILE, stat.S_IFDIR: FileKind.FOLDER, stat.S_IFLNK: FileKind.LINK}
            kind = kinds.get(stat.S_IFMT(entry.st_mode), FileKind.OTHER)
            inside = os.path.normpath(f"{here}/{name}")
            tree.take(inside, FileStat(inside, kind, entry.st_size, stat.S_IMODE(entry.st_mode), entry.st_mtime))
        if here.count("/") + 2 > MOST_DEEP:
            folders.clear()  # which keeps it from descending
        elif not folders and not files:
            empty.append("" if here == "." else here)
    return tree, empty


async def _make(sandbox: Sandbox, folders: Sequence[str]) -> None:
    """Make folders that hold nothing, which no file brings along."""
    if not folders:
        return
    reach = Reach.CONFINED if (await sandbox.describe()).confined else Reach.OUTSIDE
    for at in range(0, len(folders), 100):
        words = [folder if folder.startswith("/") else f"./{folder}" for folder in folders[at : at + 100]]
        running = await sandbox.start(Command(argv=("mkdir", "-p", *words), reach=reach))
        said = b"".join([chunk async for chunk in running.output()])
        if (await running.wait()).status:
            raise SandboxError(
                f"Empty folders could not be made: {one_line(clean(said.decode(errors='replace')), 300)}"
            )


async def _counted(content: AsyncIterator[bytes], pace: TransferProgress) -> AsyncIterator[bytes]:
    async for chunk in content:
        yield chunk
        pace.moved(len(chunk))
