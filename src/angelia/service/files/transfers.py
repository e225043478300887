"""Bytes on their way: told about while they move, if that takes more than a second."""

import asyncio
import hashlib
import os
import posixpath
import stat
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from angelia.context.media_forms import size_words
from angelia.core.errors import BadInput
from angelia.core.ids import sortable_id
from angelia.sandboxes.local.safe_open import shown
from angelia.sandboxes.port import AccessRefused, FileKind, FileStat, Sandbox
from angelia.store.media.write_behind import WriteBehind

PATIENCE = 1.0
"""Seconds before anybody is told."""

MOST_LINKS = 40
"""Links that are followed one after the other, as Linux does (path_resolution(7))."""
_CHUNK = 1 << 20

Told = Callable[[int, int], None]
"""Is told how many bytes have moved, and of how many."""


class TransferProgress:
    """Counts what has moved, and tells of it; see `watched`."""

    def __init__(self, size: int, told: Told, every: float = 0.2) -> None:
        """It begins to move now."""
        self._size = size
        self._told = told
        self._every = every
        self._done, self._next = 0, time.monotonic() + PATIENCE
        self._begun = False

    def moved(self, count: int) -> None:
        """So many bytes more."""
        self._done += count
        if time.monotonic() >= self._next:
            self._begun, self._next = True, time.monotonic() + self._every
            self._told(self._done, self._size)

    def over(self) -> None:
        """All has moved."""
        if self._begun:
            self._told(self._done, self._size)


async def watched(content: AsyncIterator[bytes], size: int, told: Told, *, every: float = 0.2) -> AsyncIterator[bytes]:
    """`content` as it is. `told` hears of it after the first second, from then on every so many seconds, and at the
    end of what took longer than that.
    """
    pace = TransferProgress(size, told, every)
    async for chunk in content:
        yield chunk
        pace.moved(len(chunk))
    pace.over()


def in_words(what: str, say: Callable[[str], None]) -> Told:
    """Tells in words.

    >>> in_words("a.pdf", print)(12_000_000, 80_000_000)
    a.pdf: 12.0 MB of 80.0 MB
    """
    return lambda done, size: say(f"{what}: {size_words(done)} of {size_words(size)}")


class Moved(Struct, frozen=True):
    """A file that arrived whole: its place, bytes and hash."""

    path: str
    size: int
    sha256: str


async def fetch(sandbox: Sandbox, path: str, target: Path, told: Told) -> Moved:
    """Copy a file out of a sandbox, whole or not at all, with its permission bits and time; a file that stands at
    `target` is replaced.

    At most what the disk has space for is taken.

    Raises:
        BadInput: the target's folder cannot be written.
        SandboxError: see `Sandbox.get`.
    """
    import shutil

    unfinished = target.with_name(f".{sortable_id()}.part")
    digest, entry = hashlib.sha256(), await _followed(sandbox, path)
    try:
        space = shutil.disk_usage(target.parent).free
        with unfinished.open("xb") as file:

            def take(chunk: bytes) -> None:
                digest.update(chunk)
                file.write(chunk)

            async with WriteBehind(take) as behind:
                async for chunk in watched(sandbox.get(path, limit=space), entry.size, told):
                    await behind.write(chunk)
            await asyncio.to_thread(_settle, file, entry)
            size = file.tell()
        unfinished.replace(target)
    except OSError as error:
        raise BadInput(f"{target} cannot be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
    return Moved(str(target), size, digest.hexdigest())


async def bring(sandbox: Sandbox, source: Path, path: str, told: Told) -> Moved:
    """Copy a file into a sandbox, whole or not at all; its permission bits and time stay.

    Raises:
        BadInput: it is no file that can be read.
        FileChanged: it changed meanwhile; nothing was put.
        SandboxError: see `Sandbox.put`.
    """
    try:
        status = source.stat()
        if not stat.S_ISREG(status.st_mode):
            raise BadInput(f"{source} is no file, but a device, socket or FIFO.")
        sha256 = await asyncio.to_thread(_hash, source)
    except OSError as error:
        raise BadInput(f"{source} cannot be read: {error.strerror or error}.") from error
    content = watched(_read(source), status.st_size, told)
    mode, modified = stat.S_IMODE(status.st_mode) & 0o777, status.st_mtime
    await sandbox.put(path, content, size=status.st_size, sha256=sha256, mode=mode, modified=modified)
    return Moved(path, status.st_size, sha256)


def dress(place: Path | int, entry: FileStat) -> None:
    """Give a copy (its path, or its descriptor) the permission bits and the time of what it is a copy of; we can always
    read it, and enter a folder.
    """
    os.chmod(place, entry.mode & 0o777 | (0o700 if entry.kind is FileKind.FOLDER else 0o400))  # noqa: PTH101
    os.utime(place, (entry.modified, entry.modified))


async def _followed(sandbox: Sandbox, path: str) -> FileStat:
    """What a path leads to, its last links followed."""
    for _ in range(MOST_LINKS):
        entry = await sandbox.stat(path)
        if entry.kind is not FileKind.LINK:
            return entry
        path = posixpath.join(posixpath.dirname(path), entry.target)
    raise AccessRefused(f"{shown(path)} leads in circles: over {MOST_LINKS} links.")


def _settle(file: BinaryIO, entry: FileStat) -> None:
    file.flush()
    dress(file.fileno(), entry)
    os.fsync(file.fileno())


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


async def _read(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while chunk := await asyncio.to_thread(file.read, _CHUNK):
            yield chunk
