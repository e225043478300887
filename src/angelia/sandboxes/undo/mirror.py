"""Copies of some files of a workspace that is elsewhere, so that what is known of folders of this machine holds there.

Before a call changes something its files are copied here as they are there, and afterwards once more; so a journal of
these copies is one of the files. What is taken back is taken back here, and then put there. A file that is the same by
size and time is not copied again.
"""

import asyncio
import filecmp
import hashlib
import os
import stat
import time
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from weakref import WeakValueDictionary

from msgspec import Struct

from angelia.sandboxes.port import (
    Command,
    FileKind,
    FileStat,
    Judged,
    NoSuchFile,
    Reach,
    Sandbox,
    SandboxError,
    reach_here,
)
from angelia.sandboxes.shared.private_folders import make_private
from angelia.sandboxes.shared.tree_removal import remove_tree
from angelia.sandboxes.undo.folders import joined

MOST_FILES, MOST_BYTES = 500, 20_000_000
"""What is copied at once, over a network."""
_CHUNK = 1 << 20
_AT_ONCE = 100
"""Paths that one command is given."""
_SECONDS = 60.0
_TICK_NS = 2_000_000_000
"""Some places tell times in whole seconds."""

_locks: "WeakValueDictionary[Path, asyncio.Lock]" = WeakValueDictionary()


class _Left(Struct):
    """What may still be copied, and what was not, with the reason."""

    files: int
    bytes: int
    refused: dict[str, str]


class Mirror:
    """Those of one workspace; all calls of a family of conversations share it."""

    def __init__(self, folder: Path, sandbox: Sandbox, workspace: str) -> None:
        """`workspace` is the path there; `folder` is made."""
        make_private(folder, exist_ok=True)
        self.folder = folder.resolve()
        self._sandbox, self._workspace = sandbox, workspace
        self._unsure = set[str]()
        """Files whose time may not tell of their next change: they were changed just now."""
        self._lock = _locks.setdefault(self.folder, asyncio.Lock())

    async def fetch(self, paths: Iterable[str]) -> dict[str, str]:
        """Make what stands here at these paths, and below them, what stands there; why not, for those that are not.

        Raises:
            SandboxError: it cannot be looked at.
        """
        left = _Left(MOST_FILES, MOST_BYTES, {})
        async with self._lock:
            os.utime(self.folder)  # in use: see `UndoStore.prune`
            for path in sorted(set(paths)):
                await self._fetch(path, left)
        return left.refused

    async def put(self, paths: Iterable[str]) -> dict[str, str]:
        """Make what stands there at these paths what stands here; why not, for those that are not."""
        failed: dict[str, str] = {}
        wanted = sorted(set(paths))
        async with self._lock:
            gone = [path for path in wanted if not os.path.lexists(self.folder / path)]
            for path in reversed(gone):  # what lies in a folder before the folder
                await self._remove(path, failed)
            for path in (one for one in wanted if one not in gone):
                try:
                    await self._put(path)
                except SandboxError as error:
                    failed[path] = str(error)
        return failed

    # -- from there ---------------------------------------------------------------------------------------------

    async def _fetch(self, path: str, left: _Left) -> None:
        above = ""
        for name in path.split("/")[:-1]:
            above = joined(above, name)
            found = await self._stat(above)
            if found is None or found.kind is not FileKind.FOLDER:
                if found is not None and found.kind is FileKind.LINK:
                    left.refused[path] = "a link leads there"
                self._clear(self.folder / above)
                return
            self._make_folder(above)
        await self._take(path, await self._stat(path) if path else None, left)

    async def _stat(self, path: str) -> FileStat | None:
        try:
            return await self._sandbox.stat(f"{self._workspace}/{path}")
        except NoSuchFile:
            return None

    async def _take(self, path: str, found: FileStat | None, left: _Left) -> None:
        here = self.folder / path
        if path and found is None:
            self._clear(here)
        elif not path or (found and found.kind is FileKind.FOLDER):
            await self._take_folder(path, left)
        elif found and found.kind is FileKind.LINK:
            target = found.target or (await self._sandbox.stat(f"{self._workspace}/{path}")).target
            if not here.is_symlink() or str(here.readlink()) != target:
                self._clear(here)
                here.symlink_to(target)
        elif found and found.kind is FileKind.FILE:
            await self._take_file(path, found, left)
        else:
            self._clear(here)
            left.refused[path] = "it is a socket, FIFO or device"

    async def _take_folder(self, path: str, left: _Left) -> None:
        if path:
            self._make_folder(path)
        names = set[str]()
        async for entry in self._sandbox.list(f"{self._workspace}/{path}" if path else self._workspace):
            name = entry.path.rstrip("/").rpartition("/")[2]
            names.add(name)
            left.files -= 1
            if left.files < 0:
                left.refused[path or "."] = f"it holds more than {MOST_FILES} files"
                return
            await self._take(joined(path, name), entry, left)
        for known in (self.folder / path).iterdir():
            if known.name not in names:
                self._clear(known)

    async def _take_file(self, path: str, found: FileStat, left: _Left) -> None:
        here, modified = self.folder / path, _nanoseconds(found)
        now = os.lstat(here) if os.path.lexists(here) else None
        same = None
        if now and stat.S_ISREG(now.st_mode):
            same = _known(now)
            if same == (found.size, modified, found.mode & 0o777) and path not in self._unsure:
                return
        if found.size > left.bytes:
            self._clear(here)
            left.refused[path] = f"it is {found.size / 1e6:,.1f} MB, more than is copied over a network"
            return
        left.bytes -= found.size
        draft = here.with_name(f".{here.name[:100]}.part")
        with draft.open("wb") as file:
            async for piece in self._sandbox.get(Judged(f"{self._workspace}/{path}"), limit=found.size):
                file.write(piece)
        self._unsure.discard(path)
        if modified > time.time_ns() - _TICK_NS:
            self._unsure.add(path)
        draft.chmod(found.mode & 0o777)
        os.utime(draft, ns=(modified, modified))
        if now and stat.S_ISREG(now.st_mode) and same == _known(os.lstat(draft)) and filecmp.cmp(here, draft, False):
            draft.unlink()  # a file that did not change stays the one that is known
            return
        if not (now and stat.S_ISREG(now.st_mode)):
            self._clear(here)
        draft.rename(here)

    def _make_folder(self, path: str) -> None:
        here = self.folder / path
        if here.is_symlink() or not here.is_dir():
            self._clear(here)
            here.mkdir(mode=0o700)

    def _clear(self, here: Path) -> None:
        if here.is_symlink() or not here.is_dir():
            here.unlink(missing_ok=True)
        else:
            remove_tree(here)

    # -- to there -----------------------------------------------------------------------------------------------

    async def _put(self, path: str) -> None:
        here, there = self.folder / path, f"{self._workspace}/{path}"
        if here.is_symlink():
            await self._run("ln", "-sfn", "--", str(here.readlink()), there)
        elif here.is_dir():
            await self._run("mkdir", "-p", "--", there)
        else:
            entry = here.stat()
            with here.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            await self._sandbox.put(
                Judged(there),
                _pieces(here),
                size=entry.st_size,
                sha256=digest,
                mode=stat.S_IMODE(entry.st_mode),
                modified=entry.st_mtime_ns / 1e9,
            )
            found = await self._sandbox.stat(there)
            os.utime(here, ns=(_nanoseconds(found), _nanoseconds(found)))  # so that it is known to be the same

    async def _remove(self, path: str, failed: dict[str, str]) -> None:
        there = f"{self._workspace}/{path}"
        try:
            found = await self._stat(path)
            if found is not None:
                await self._run(*(("rmdir",) if found.kind is FileKind.FOLDER else ("rm", "-f")), "--", there)
        except SandboxError as error:
            failed[path] = str(error)

    async def _run(self, *argv: str) -> None:
        reach = await reach_here(self._sandbox, Reach.CONFINED)
        running = await self._sandbox.start(Command(argv=argv, seconds=_SECONDS, reach=reach))
        said = b"".join([piece async for piece in running.output()])
        ended = await running.wait()
        if ended.status:
            raise SandboxError(said.decode(errors="replace").strip()[:300] or f"`{argv[0]}` ended with {ended.status}.")


def _known(entry: os.stat_result) -> tuple[int, int, int]:
    return entry.st_size, entry.st_mtime_ns, stat.S_IMODE(entry.st_mode)


def _nanoseconds(found: FileStat) -> int:
    return int(found.modified * 1e9)


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            yield piece
