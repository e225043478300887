"""Bytes by their SHA-256: stored once, durably, never changed. `cached_blobs` stores them beyond the home as well."""

import asyncio
import hashlib
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

from angelia.core.content import BlobRef
from angelia.core.errors import BadInput, NotFound, StoreDamaged
from angelia.store.media.durable import UNFINISHED, Unfinished, shared, sync_folder, unfinished
from angelia.store.media.sniff import HEAD, sniff
from angelia.store.media.write_behind import SMALL, WriteBehind
from angelia.store.sql.faults import explained

T = TypeVar("T")

FOLDER = "blobs"
TRASH = "trash"
TRASH_S = 30 * 86_400
"""Seconds for which what was swept out can be brought back."""
_CHUNK = 1024 * 1024


class BlobStore:
    """The folder of blobs in a home. Any number of processes may use it at once."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._folder, self._trash = home / FOLDER, home / TRASH

    async def put(self, data: bytes, *, mime: str = "") -> BlobRef:
        """Store `data`; returns once it is durable. The type is sniffed when `mime` is empty.

        Raises:
            StoreFull, StoreReadOnly: nothing was stored.
        """
        return await self._do(len(data), lambda: self._put(data, mime))

    async def put_file(self, path: Path, *, limit: int, mime: str = "") -> BlobRef:
        """Store the content of a file, sharing its disk blocks where the file system can; the file stays as it is.

        Raises:
            BadInput: it cannot be read, is not a plain file, or has more than `limit` bytes.
            StoreFull, StoreReadOnly: nothing was stored.
        """
        try:
            size = path.stat().st_size
        except OSError as error:
            raise _unreadable(path, error) from error
        return await self._do(size, lambda: self._put_file(path, limit, mime))

    async def put_stream(self, chunks: AsyncIterator[bytes], *, limit: int, mime: str = "") -> BlobRef:
        """Store what arrives, in constant memory.

        Raises:
            BadInput: more than `limit` bytes arrived; nothing was stored.
            StoreFull, StoreReadOnly: nothing was stored. And whatever `chunks` raises.
        """
        with unfinished(self._folder) as file:
            digest, size, head = hashlib.sha256(), 0, b""

            def take(chunk: bytes) -> None:
                digest.update(chunk)
                file.write(chunk)

            async with WriteBehind(take) as behind:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > limit:
                        raise _too_large("What is being received", size, limit)
                    head += chunk[: HEAD - len(head)]
                    await behind.write(chunk)
            ref = BlobRef(digest.hexdigest(), size, mime or sniff(head))
            await self._do(size, lambda: file.keep(self.path(ref.sha256)))
        return ref

    def scratch(self) -> BinaryIO:
        """An empty file without a name, on the disk where blobs lie; it is gone once it is closed, or we end.

        Raises:
            OSError: the disk has no place for it.
        """
        from tempfile import TemporaryFile

        self._folder.mkdir(mode=0o700, exist_ok=True)
        return TemporaryFile(dir=self._folder)

    async def get(self, sha256: str) -> bytes:
        """The bytes, checked against their name.

        Raises:
            NotFound: no such blob.
            StoreDamaged: the file holds other bytes.
        """
        path = self.path(sha256)
        try:
            size = path.stat().st_size
            data = await self._do(size, path.read_bytes)
        except FileNotFoundError as error:
            raise missing(sha256) from error
        if await self._do(size, lambda: hashlib.sha256(data).hexdigest()) != sha256:
            raise damaged(sha256)
        return data

    def copy(self, ref: BlobRef, target: Path) -> None:
        """Write these bytes to `target`, sharing disk blocks where the file system can, and read them back.

        Raises:
            NotFound: no such blob.
            StoreDamaged: the file holds other bytes.
            OSError: `target` cannot be written.
        """
        try:
            source = self.path(ref.sha256).open("rb")
        except FileNotFoundError as error:
            raise missing(ref.sha256) from error
        with source, target.open("w+b") as file:
            if not shared(source, file):
                import shutil

                shutil.copyfileobj(source, file, _CHUNK)
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            if hashlib.file_digest(file, "sha256").hexdigest() != ref.sha256:
                raise damaged(ref.sha256)

    async def has(self, ref: BlobRef) -> bool:
        """Whether these bytes are there; their hash is not looked at."""
        path = self.path(ref.sha256)
        return path.is_file() and path.stat().st_size == ref.size

    async def chunks(self, sha256: str) -> AsyncIterator[bytes]:
        """The bytes piece by piece, in constant memory; whoever takes them checks them against their name.

        Raises:
            NotFound: no such blob.
        """
        try:
            file = self.path(sha256).open("rb")
        except FileNotFoundError as error:
            raise missing(sha256) from error
        with file:
            while chunk := await asyncio.to_thread(file.read, _CHUNK):
                yield chunk

    async def local(self, sha256: str) -> Path:
        """A file of this machine with these bytes, to be read within the hour; their hash is not looked at.

        Raises:
            NotFound: no such blob.
        """
        path = self.path(sha256)
        if not path.is_file():
            raise missing(sha256)
        return path

    def require(self, ref: BlobRef, referred: Callable[[], bool]) -> None:
        """The bytes that an entry is about to refer to are there; `referred` says whether the log does so already.

        Raises:
            NotFound: they are not, or have another size.
        """
        try:
            found = self.path(ref.sha256).stat().st_size
        except FileNotFoundError as error:
            raise missing(ref.sha256) from error
        if found != ref.size:
            raise NotFound(f"The blob {ref.sha256[:12]}… has {found} bytes, and {ref.size} were announced.")

    def path(self, sha256: str) -> Path:
        """Where these bytes are in the home, or would be.

        Raises:
            NotFound: this is not a SHA-256 in hex.
        """
        if len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
            raise NotFound(f"“{sha256[:80]}” is not the name of a blob.")
        return self._folder / sha256

    async def all(self) -> list[str]:
        """The names of all blobs, referred to or not."""
        return sorted(await self.stored())

    async def stored(self) -> dict[str, int]:
        """The bytes of each blob, by its name, referred to or not."""
        return await asyncio.to_thread(lambda: {path.name: path.stat().st_size for path in self._files()})

    async def verify(self) -> list[str]:
        """The names of all blobs whose bytes are not what they were."""
        return await asyncio.to_thread(lambda: [path.name for path in self._files() if _digest(path) != path.name])

    async def aged(self, before: float, since: float = 0.0) -> list[str]:
        """Blobs that were last put at this moment or before, but after `since` (Unix seconds); unfinished files as old
        as that are removed on the way.
        """
        return await asyncio.to_thread(self._aged, before, since)

    def remove(self, sha256: str) -> None:
        """Remove these bytes for good, from the trash too; nothing happens if they are not there."""
        for path in (self.path(sha256), self._trash / sha256):
            path.unlink(missing_ok=True)

    def set_aside(self, sha256: str) -> None:
        """Put these bytes into the trash, where they lie for `TRASH_S`; nothing happens if they are not there."""
        with explained(self._home), suppress(FileNotFoundError):
            self._trash.mkdir(mode=0o700, exist_ok=True)
            os.utime(self.path(sha256))  # from now on it counts
            self.path(sha256).replace(self._trash / sha256)

    async def swept(self, names: Iterable[str]) -> None:
        """After the transaction in which these were set aside: what else there is of them goes aside too."""

    async def erased(self, names: Iterable[str]) -> None:
        """After the transaction in which these were removed: what else there is of them goes too."""

    async def bring_back(self, sha256: str) -> bool:
        """Take these bytes out of the trash again; whether they were there."""
        with explained(self._home):
            try:
                (self._trash / sha256).replace(self.path(sha256))
            except FileNotFoundError:
                return False
            sync_folder(self._folder)
        return True

    async def trash(self) -> list[str]:
        """The names of the blobs in the trash."""
        return await asyncio.to_thread(lambda: sorted(path.name for path in self._trash.glob("*")))

    async def empty_trash(self, before: float) -> list[str]:
        """Remove for good what has lain in the trash since this moment or before, Unix seconds; returns the names."""
        return await asyncio.to_thread(self._empty_trash, before)

    def _empty_trash(self, then: float) -> list[str]:
        old = [path for path in sorted(self._trash.glob("*")) if path.stat().st_mtime <= then]
        for path in old:
            path.unlink(missing_ok=True)
        return [path.name for path in old]

    def _aged(self, then: float, since: float) -> list[str]:
        for path in self._folder.glob(f"{UNFINISHED}*"):
            if path.stat().st_mtime <= then:
                path.unlink(missing_ok=True)
        return [path.name for path in self._files() if since <= path.stat().st_mtime <= then]

    def _files(self) -> Iterator[Path]:
        return (path for path in sorted(self._folder.glob("*")) if not path.name.startswith(UNFINISHED))

    async def _do(self, size: int, act: Callable[[], T]) -> T:
        return act() if size <= SMALL else await asyncio.to_thread(act)

    def _put(self, data: bytes, mime: str) -> BlobRef:
        ref = BlobRef(hashlib.sha256(data).hexdigest(), len(data), mime or sniff(data[:HEAD]))
        with explained(self._folder.parent):
            there = self._touched(ref) and self.path(ref.sha256).read_bytes() == data
        if not there:
            with unfinished(self._folder) as file:
                file.write(data)
                file.keep(self.path(ref.sha256))
        return ref

    def _put_file(self, path: Path, limit: int, mime: str) -> BlobRef:
        with _opened(path, limit) as source, unfinished(self._folder) as file:
            if not file.share(source):
                _copy(source, file, path, limit)
            head = file.whole().read(HEAD)
            digest = hashlib.file_digest(file.whole(), "sha256").hexdigest()
            ref = BlobRef(digest, os.fstat(file.whole().fileno()).st_size, mime or sniff(head))
            file.keep(self.path(ref.sha256))
        return ref

    def _touched(self, ref: BlobRef) -> bool:
        """Whether it is there already; if so it counts as put just now, so that no sweep takes it for an orphan."""
        try:
            os.utime(self.path(ref.sha256))
        except FileNotFoundError:
            return False
        return True


def missing(sha256: str) -> NotFound:
    """These bytes are not in the store."""
    return NotFound(f"The blob {sha256[:12]}… is not in the store.", then="Attach the file again.")


def damaged(sha256: str) -> StoreDamaged:
    """The file of this name holds other bytes."""
    return StoreDamaged(
        f"The blob {sha256[:12]}… holds other bytes than were stored.",
        why="The disk may be failing, or something changed the file.",
        then="Attach the file again, or restore it from a backup; `angelia store verify` lists all that are damaged.",
    )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _opened(path: Path, limit: int) -> Iterator[BinaryIO]:
    try:
        file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")  # noqa: PTH123, SIM115 - a pipe must not block us
    except OSError as error:
        raise _unreadable(path, error) from error
    with file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise BadInput(f"{path} is not a file with content of its own.", then="Give the path of a plain file.")
        if status.st_size > limit:
            raise _too_large(str(path), status.st_size, limit)
        yield file


def _copy(source: BinaryIO, target: Unfinished, path: Path, limit: int) -> None:
    size = 0
    while chunk := source.read(_CHUNK):
        size += len(chunk)
        if size > limit:
            raise _too_large(str(path), size, limit)
        target.write(chunk)


def _unreadable(path: Path, error: OSError) -> BadInput:
    return BadInput(f"{path} cannot be read: {error.strerror or error}.", then="Check the path and its permissions.")


def _too_large(what: str, size: int, limit: int) -> BadInput:
    return BadInput(
        f"{what} has {size / 1e6:.1f} MB, and at most {limit / 1e6:.0f} MB are taken.",
        then="Make it smaller, or give the part that matters.",
    )
