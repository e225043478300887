"""Files of this machine's workspace, in and out: whole or not at all, and never from anywhere else."""

import asyncio
import errno
import hashlib
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from zlib import crc32

from angelia.core.crash import crash_point
from angelia.sandboxes.local.process_ledger import unfinished
from angelia.sandboxes.local.safe_open import AllowedRoots, OpenedPlace, open_place, shown
from angelia.sandboxes.local.startup_guard import refuse_startup
from angelia.sandboxes.port import (
    AccessRefused,
    ExpectedFile,
    FileChanged,
    FileKind,
    FileStat,
    FileTooLarge,
    IsFolder,
    NoSuchFile,
    NotAFile,
    OutOfSpace,
    SandboxError,
    SandboxGone,
)

CHUNK = 1024 * 1024
"""Bytes that move at once."""
_ENTRIES = 256
"""Folder entries looked at between two turns of the event loop."""

_P = ParamSpec("_P")
_T = TypeVar("_T")

_MEANING: dict[int, type[SandboxError]] = {
    errno.EACCES: AccessRefused,
    errno.EPERM: AccessRefused,
    errno.EROFS: AccessRefused,
    errno.ELOOP: AccessRefused,
    errno.ENAMETOOLONG: NoSuchFile,
    errno.ENOENT: NoSuchFile,
    errno.ENOTDIR: NoSuchFile,
    errno.EISDIR: IsFolder,
    errno.ENXIO: NotAFile,
    errno.ENOSPC: OutOfSpace,
    errno.EDQUOT: OutOfSpace,
    errno.EIO: SandboxGone,
    errno.ESTALE: SandboxGone,
}


async def read(roots: AllowedRoots, path: str, limit: int) -> AsyncIterator[bytes]:
    """See `Sandbox.get`. What is appended to a file while it is read is left for the next time: where it has grown, its
    first part is read once more, and must be what was read before.

    Raises:
        FileChanged: it became shorter, or was written to otherwise, since it was opened.
    """
    with _plain_words(path):
        handle, entry = _open_to_read(roots, path, limit)
        try:
            left, summed = entry.st_size, 0
            while left:
                chunk, summed = await _in_thread(_next_piece, handle, left, summed)
                if not chunk:
                    raise FileChanged(f"{shown(path)} became {left} bytes shorter while it was read.")
                left -= len(chunk)
                yield chunk
            if not await _is_still(handle, entry, summed):
                raise FileChanged(f"{shown(path)} was written to while it was read.", then="Read it again.")
        finally:
            os.close(handle)


async def write(roots: AllowedRoots, path: str, content: AsyncIterator[bytes], promise: ExpectedFile) -> None:
    """See `Sandbox.put`. A link at the end of `path` stays, and the file it leads to is replaced."""
    from angelia.sandboxes.local.git_guard import content_counts, refuse_autorun, refuse_git_internals

    with _plain_words(path), open_place(roots, path, follow=True, make=True) as target:
        refuse_git_internals(target.names, path, target.place)
        refuse_autorun(target.names, path)
        refuse_startup(target.place / target.name, roots.fixed, path)
        _refuse_to_replace(target, path)
        fresh = not _stands(target)
        with unfinished(roots.state, target.place) as draft:
            handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=target.folder)
            try:
                await _fill(handle, content, path, promise.size, promise.sha256)
                if content_counts(target.names):
                    await _in_thread(_refuse_by_content, target, path, handle)
                await _in_thread(_settle, handle, promise, promise.mode & ~(umask() if fresh else 0))
                crash_point("put.before_rename")
                os.rename(draft, target.name, src_dir_fd=target.folder, dst_dir_fd=target.folder)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(draft, dir_fd=target.folder)
                raise
            finally:
                os.close(handle)
        await _in_thread(_flush_folder, target.folder)


def look(roots: AllowedRoots, path: str) -> FileStat:
    """See `Sandbox.stat`."""
    with _plain_words(path), open_place(roots, path, follow=False) as here:
        entry = _entry(here)
        target = os.readlink(here.name, dir_fd=here.folder) if stat.S_ISLNK(entry.st_mode) else ""
        return _file_stat(path, entry, target)


async def entries(roots: AllowedRoots, path: str) -> AsyncIterator[FileStat]:
    """See `Sandbox.list`; each entry's path begins with `path`, so that it can be asked for as it is."""
    with _plain_words(path):
        with open_place(roots, path, follow=True) as here:
            if not stat.S_ISDIR(_entry(here).st_mode):
                raise NoSuchFile(f"{shown(path)} is a file, not a folder.", then="Read it instead.")
            handle = os.open(here.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here.folder)
        try:
            with os.scandir(handle) as found:
                while some := await _in_thread(_next_entries, path, found):
                    for entry in some:
                        yield entry
        finally:
            os.close(handle)


def _open_to_read(roots: AllowedRoots, path: str, limit: int) -> tuple[int, os.stat_result]:
    """Looked at before it is opened (opening a device may act), and again after (it may have been swapped)."""
    with open_place(roots, path, follow=True) as here:
        _refuse_to_read(_entry(here), path, limit)
        # O_NONBLOCK: should a FIFO have taken the file's place, opening it would wait for a writer for ever
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        handle = os.open(here.name, flags, dir_fd=here.folder)
    try:
        entry = os.fstat(handle)
        _refuse_to_read(entry, path, limit)
    except BaseException:
        os.close(handle)
        raise
    return handle, entry


def _next_piece(handle: int, left: int, summed: int) -> tuple[bytes, int]:
    chunk = os.read(handle, min(CHUNK, left))
    return chunk, crc32(chunk, summed)


async def _is_still(handle: int, entry: os.stat_result, summed: int) -> bool:
    """Whether a file is what was read of it: as it was when it was opened, or appended to since.

    The sum finds accidents, and is hidden behind what whoever takes the bytes does with them; a hash would not be.
    """
    now = os.fstat(handle)
    if (now.st_size, now.st_mtime_ns) == (entry.st_size, entry.st_mtime_ns):
        return True
    if now.st_size <= entry.st_size:
        return False
    os.lseek(handle, 0, os.SEEK_SET)
    left, again = entry.st_size, 0
    while left:
        chunk, again = await _in_thread(_next_piece, handle, left, again)
        if not chunk:
            return False
        left -= len(chunk)
    return again == summed


def _refuse_to_read(entry: os.stat_result, path: str, limit: int) -> None:
    if stat.S_ISDIR(entry.st_mode):
        raise IsFolder(f"{shown(path)} is a folder.", then="List it, or pack it into an archive.")
    if stat.S_ISLNK(entry.st_mode):  # links were resolved, so this one is a moment old
        raise AccessRefused(f"{shown(path)} was replaced by a link while it was looked at.", then="Try again.")
    if not stat.S_ISREG(entry.st_mode):
        raise NotAFile(f"{shown(path)} is a device, socket or FIFO.", "It has no end, so it is not read.")
    if entry.st_size > limit:
        raise FileTooLarge(
            f"{shown(path)} is {entry.st_size} bytes long, and at most {limit} were asked for.",
            "No byte was moved.",
        )


def _refuse_by_content(target: OpenedPlace, path: str, draft: int) -> None:
    from angelia.sandboxes.guard.fingerprint import LARGEST
    from angelia.sandboxes.local.git_guard import refuse_autorun_content

    stands = b""
    with suppress(FileNotFoundError):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        here = os.open(target.name, flags, dir_fd=target.folder)
        try:
            stands = os.pread(here, LARGEST + 1, 0)
        finally:
            os.close(here)
    refuse_autorun_content(target.names, path, stands, os.pread(draft, LARGEST + 1, 0))


def _stands(target: OpenedPlace) -> bool:
    try:
        _entry(target)
    except FileNotFoundError:
        return False
    return True


@cache
def umask() -> int:
    """What the person takes from the modes of new files. Linux tells; elsewhere it is only told by setting it."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text("ascii", "replace").splitlines():
            if line.startswith("Umask:"):
                return int(line.partition(":")[2], 8)
    now = os.umask(0o077)
    os.umask(now)
    return now


def _refuse_to_replace(target: OpenedPlace, path: str) -> None:
    with suppress(FileNotFoundError):
        entry = _entry(target)
        if stat.S_ISDIR(entry.st_mode):
            raise IsFolder(f"{shown(path)} is a folder; a file cannot take its place.")
        if not stat.S_ISREG(entry.st_mode):
            raise NotAFile(f"{shown(path)} is a device, socket or FIFO; a file does not take its place.")


async def _fill(handle: int, content: AsyncIterator[bytes], path: str, size: int, sha256: str) -> None:
    digest, written = hashlib.sha256(), 0
    async for chunk in content:
        written += len(chunk)
        if written > size:
            raise FileChanged(f"More than the {size} bytes promised for {shown(path)} came.", "Nothing was changed.")
        await _in_thread(_write_all, handle, chunk, digest)
    if written != size or digest.hexdigest() != sha256:
        raise FileChanged(
            f"{written} bytes with SHA-256 {digest.hexdigest()} came for {shown(path)}, "
            f"and {size} bytes with {sha256} were promised.",
            "Nothing was changed.",
        )


def _write_all(handle: int, chunk: bytes, digest: Any) -> None:
    digest.update(chunk)
    left = memoryview(chunk)
    while left:
        left = left[os.write(handle, left) :]


def _settle(handle: int, promise: ExpectedFile, mode: int) -> None:
    os.fchmod(handle, mode & 0o777)  # never set-user-id or set-group-id
    if promise.modified is not None:
        os.utime(handle, (promise.modified, promise.modified))
    os.fsync(handle)


def _flush_folder(folder: int) -> None:
    """Make the new name last; a folder opened only to walk through (O_PATH) has to be opened again to be flushed."""
    handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _next_entries(path: str, found: Iterator[os.DirEntry[str]]) -> list[FileStat]:
    some: list[FileStat] = []
    for entry in islice(found, _ENTRIES):
        with suppress(FileNotFoundError):  # removed since the folder was read: it is not there any more
            some.append(
                _file_stat(
                    f"{path.rstrip('/')}/{entry.name}" if path else entry.name, entry.stat(follow_symlinks=False)
                )
            )
    return some


def _entry(here: OpenedPlace) -> os.stat_result:
    return os.stat(here.name, dir_fd=here.folder, follow_symlinks=False)


def _file_stat(path: str, entry: os.stat_result, target: str = "") -> FileStat:
    kinds = {stat.S_IFREG: FileKind.FILE, stat.S_IFDIR: FileKind.FOLDER, stat.S_IFLNK: FileKind.LINK}
    return FileStat(
        path=path,
        kind=kinds.get(stat.S_IFMT(entry.st_mode), FileKind.OTHER),
        size=entry.st_size,
        mode=stat.S_IMODE(entry.st_mode),
        modified=entry.st_mtime,
        target=target,
    )


@contextmanager
def _plain_words(path: str) -> Iterator[None]:
    """An error of the operating system in the port's words."""
    try:
        yield
    except OSError as error:
        meaning = _MEANING.get(error.errno or 0, SandboxError)
        raise meaning(f"{shown(path)}: {os.strerror(error.errno or 0)}.") from error


async def _in_thread(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Like `asyncio.to_thread`, but never leaves while the thread still uses a descriptor we are about to close."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        raise
