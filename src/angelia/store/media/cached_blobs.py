"""Blobs that lie in a store of objects, with the folder in the home as a cache before it.

Where bytes are, at every moment:

* `put` makes them durable here, then there, and only then returns. So an entry never names bytes that are here alone,
  and bytes that a crash left here alone are an orphan as any.
* Whoever reads gets them from here; what is missing or damaged here is fetched, checked against its name, and kept.
* At most `most` bytes are kept here, those used last; never less than what was used within the last hour, and only
  what the log refers to and is seen to lie there is given up. An append thus knows without the network whether bytes
  are there: they are here, or the log refers to them already (`require`).
* A sweep takes what has been put last a day ago, and `put` makes that no older than half a day, so what is being put is
  not swept. Under the lock of the database bytes go from here, as they do without a store of objects; then from there,
  unless somebody has put them here again meanwhile. They go aside (`trash/`), so that no order of events loses any.
* A store belongs to one log (`owner`), since a home sweeps what its log does not know. Where several homes share a log,
  another one may have put again what is being swept here: so what was put last within half a day is left there, and
  what the log refers to and is missed is brought back from the trash by who reads it.
"""

import asyncio
import hashlib
import os
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar
from weakref import WeakValueDictionary

from angelia.core.content import BlobRef
from angelia.core.crash import crash_point
from angelia.core.errors import NotFound, StoreDamaged, StoreError
from angelia.store.media.blobs import BlobStore, missing
from angelia.store.media.durable import unfinished
from angelia.store.objects.port import ObjectStore
from angelia.store.sql.faults import explained

T = TypeVar("T")

Referred = Callable[[Sequence[str]], Awaitable[set[str]]]
"""Which of these blobs the log refers to."""
Named = Callable[[str], Awaitable[str]]
"""Whose a store is by the log that several homes share: the name that the first of them gave, or this one."""

CLAIMS = "blobs.owner"
"""The file in the home that says who it is to a store of objects: its id, then the addresses where it has said so."""

_BLOBS, _TRASH, _OWNER = "blobs", "trash", "owner"
_RENEWED_S = 43_200.0
"""Seconds after which bytes that are put again are sent again: half of the age at which a sweep takes them."""
_SURE_S = 3600.0
"""Seconds for which what was seen to lie there is not asked for again, and what was used here stays here."""
_AT_ONCE = 16
"""Requests of one process at the same time."""
_LOOKED_UP = 64
"""Names that the log is asked for at once."""


class CachedBlobs(BlobStore):
    """See `BlobStore`. `most` is bytes that are kept in the home. Whatever asks the store of objects may raise
    StoreUnreachable as well.
    """

    def __init__(
        self, home: Path, objects: ObjectStore, most: int, referred: Referred, named: Named | None = None
    ) -> None:
        super().__init__(home)
        self._objects = objects
        self._most = most
        self._referred, self._named = referred, named
        self._seen: dict[str, float] = {}
        """When these were last seen to lie there; by the monotonic clock."""
        self._fetching: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._claiming = asyncio.Lock()
        self._claimed = False
        self._since_look = most
        """Bytes that came here since it was last looked how many there are."""

    async def put(self, data: bytes, *, mime: str = "") -> BlobRef:
        """See `BlobStore`."""
        sha256 = hashlib.sha256(data).hexdigest()
        sure = self.path(sha256).is_file() and time.monotonic() - self._seen.get(sha256, -_SURE_S) < _SURE_S
        ref = await super().put(data, mime=mime)
        return ref if sure else await self._there_too(ref)

    async def put_file(self, path: Path, *, limit: int, mime: str = "") -> BlobRef:
        """See `BlobStore`."""
        return await self._there_too(await super().put_file(path, limit=limit, mime=mime))

    async def put_stream(self, chunks: AsyncIterator[bytes], *, limit: int, mime: str = "") -> BlobRef:
        """See `BlobStore`."""
        return await self._there_too(await super().put_stream(chunks, limit=limit, mime=mime))

    async def get(self, sha256: str) -> bytes:
        """See `BlobStore`; what is damaged here is fetched anew."""
        await self.local(sha256)
        try:
            return await super().get(sha256)
        except StoreDamaged:
            if not await self._far(partial(self._objects.look, f"{_BLOBS}/{sha256}")):
                raise
            self.path(sha256).unlink(missing_ok=True)
        await self.local(sha256)
        return await super().get(sha256)

    async def chunks(self, sha256: str) -> AsyncIterator[bytes]:
        """See `BlobStore`."""
        await self.local(sha256)
        async for chunk in super().chunks(sha256):
            yield chunk

    async def local(self, sha256: str) -> Path:
        """See `BlobStore`. It stays for an hour at least."""
        path = self.path(sha256)
        async with self._fetching.setdefault(sha256, asyncio.Lock()):
            try:
                os.utime(path)
            except FileNotFoundError:
                await self._fetched(sha256)
                await self._came(path.stat().st_size)
        return path

    async def has(self, ref: BlobRef) -> bool:
        """See `BlobStore`."""
        if await super().has(ref):
            return True
        found = await self._far(partial(self._objects.look, f"{_BLOBS}/{ref.sha256}"))
        return found is not None and found.size == ref.size

    def require(self, ref: BlobRef, referred: Callable[[], bool]) -> None:
        """See `BlobStore`."""
        try:
            super().require(ref, referred)
        except NotFound:
            if self.path(ref.sha256).exists() or not referred():
                raise

    async def stored(self) -> dict[str, int]:
        """See `BlobStore`: those that lie there."""
        return await self._far(lambda: {_hash(found.name): found.size for found in self._objects.list(_BLOBS)})

    async def verify(self) -> list[str]:
        """See `BlobStore`: all that lie there are read."""
        names = sorted(await self.stored())
        told = await asyncio.gather(*(self._far(partial(self._is_whole, sha256)) for sha256 in names))
        return [sha256 for sha256, whole in zip(names, told, strict=True) if not whole]

    async def aged(self, before: float, since: float = 0.0) -> list[str]:
        """See `BlobStore`: those here, which may have come no further, and those there."""
        here = await super().aged(before, since)
        await self._claim()
        there = await self._far(lambda: list(self._objects.list(_BLOBS)))
        old = {_hash(found.name) for found in there if since <= found.put_at <= before}
        young = {_hash(found.name) for found in there} - old
        return sorted(old | (set(here) - young))

    def remove(self, sha256: str) -> None:
        """See `BlobStore`; `erased` follows."""
        self._seen.pop(sha256, None)
        super().remove(sha256)

    def set_aside(self, sha256: str) -> None:
        """See `BlobStore`; `swept` follows."""
        self._seen.pop(sha256, None)
        super().set_aside(sha256)

    async def swept(self, names: Iterable[str]) -> None:
        """See `BlobStore`."""
        await asyncio.gather(*(self._far(partial(self._let_go, sha256, self._put_aside)) for sha256 in names))

    async def erased(self, names: Iterable[str]) -> None:
        """See `BlobStore`."""
        names = list(names)
        if names:
            await self._claim()
        await asyncio.gather(*(self._far(partial(self._let_go, sha256, self._delete)) for sha256 in names))

    async def bring_back(self, sha256: str) -> bool:
        """See `BlobStore`; what is here alone is brought there."""
        await self._claim()
        if await self._far(partial(self._objects.move, f"{_TRASH}/{sha256}", f"{_BLOBS}/{sha256}")):
            return True
        if not await super().bring_back(sha256) and not self.path(sha256).is_file():
            return False
        await self._far(partial(self._store, BlobRef(sha256, self.path(sha256).stat().st_size, "")))
        return True

    async def trash(self) -> list[str]:
        """See `BlobStore`."""
        there = await self._far(lambda: {_hash(found.name) for found in self._objects.list(_TRASH)})
        return sorted(there | set(await super().trash()))

    async def empty_trash(self, before: float) -> list[str]:
        """See `BlobStore`."""
        gone = set(await super().empty_trash(before))
        await self._claim()
        there = await self._far(lambda: list(self._objects.list(_TRASH)))
        old = [found.name for found in there if found.put_at <= before]
        await asyncio.gather(*(self._far(partial(self._objects.delete, name)) for name in old))
        return sorted(gone | {_hash(name) for name in old})

    async def _there_too(self, ref: BlobRef) -> BlobRef:
        """Bytes that are durable here, there too."""
        await self._claim()
        crash_point("blob.before_upload")
        await self._far(partial(self._store, ref))
        crash_point("blob.after_upload")
        now = time.monotonic()
        self._seen = {name: at for name, at in self._seen.items() if now - at < _SURE_S} | {ref.sha256: now}
        await self._came(ref.size)
        return ref

    def _store(self, ref: BlobRef) -> None:
        name, path = f"{_BLOBS}/{ref.sha256}", self.path(ref.sha256)
        try:
            if self._objects.create(name, path):
                return
            found = self._objects.look(name)
            if found is None or found.size != ref.size or found.put_at < time.time() - _RENEWED_S:
                self._objects.replace(name, path)
        except FileNotFoundError as error:  # swept or erased in this moment
            raise missing(ref.sha256) from error

    async def _fetched(self, sha256: str) -> None:
        try:
            await self._far(partial(self._fetch, sha256))
        except NotFound:
            if sha256 not in await self._referred([sha256]) or not await self.bring_back(sha256):
                raise
            await self._far(partial(self._fetch, sha256))

    def _fetch(self, sha256: str) -> None:
        digest = hashlib.sha256()
        with unfinished(self._folder) as file:

            def take(chunk: bytes) -> None:
                digest.update(chunk)
                file.write(chunk)

            try:
                self._objects.fetch(f"{_BLOBS}/{sha256}", take)
            except NotFound as error:
                raise missing(sha256) from error
            if digest.hexdigest() != sha256:
                raise self._altered(sha256)
            file.keep(self.path(sha256))

    def _is_whole(self, sha256: str) -> bool:
        digest = hashlib.sha256()
        with suppress(NotFound):
            self._objects.fetch(f"{_BLOBS}/{sha256}", digest.update)
            return digest.hexdigest() == sha256
        return True  # it went meanwhile

    def _altered(self, sha256: str) -> StoreDamaged:
        return StoreDamaged(
            f"The blob {sha256[:12]}… in {self._objects.address} holds other bytes than were stored.",
            why="Something has changed it there.",
            then="Attach the file again; `angelia store verify` lists all that are damaged.",
        )

    def _let_go(self, sha256: str, act: Callable[[str], None]) -> None:
        path = self.path(sha256)
        if path.is_file():  # it was put again
            return
        act(sha256)
        if path.is_file():  # while it went
            self._objects.create(f"{_BLOBS}/{sha256}", path)

    def _put_aside(self, sha256: str) -> None:
        if self._named is not None:
            found = self._objects.look(f"{_BLOBS}/{sha256}")
            if found is not None and found.put_at > time.time() - _RENEWED_S:  # another home has put it again
                return
        if self._objects.move(f"{_BLOBS}/{sha256}", f"{_TRASH}/{sha256}"):
            (self._trash / sha256).unlink(missing_ok=True)

    def _delete(self, sha256: str) -> None:
        for folder in (_BLOBS, _TRASH):
            self._objects.delete(f"{folder}/{sha256}")

    async def _claim(self) -> None:
        """Before anything is changed there for the first time: it is ours to change.

        Raises:
            StoreError: it is another home's, or it is not what we left.
        """
        async with self._claiming:
            if not self._claimed:
                own, *known = await self._far(self._claims)
                own = await self._named(own) if self._named else own
                await self._far(partial(self._claim_it, own, known))
                self._claimed = True

    def _claim_it(self, own: str, known: list[str]) -> None:
        if self._objects.create(_OWNER, own.encode()):
            if self._objects.address in known:
                self._objects.delete(_OWNER)
                raise StoreError(
                    f"{self._objects.address} is empty, and this home has put its files there.",
                    why="The bucket was emptied, or the folder is not mounted.",
                    then=f"Nothing was acknowledged. If it is meant to be empty, remove {self._home / CLAIMS}.",
                )
        else:
            found: list[bytes] = []
            self._objects.fetch(_OWNER, found.append)
            if b"".join(found) != own.encode():
                raise StoreError(
                    f"{self._objects.address} holds the files of another home.",
                    why="A home sweeps out what its own log does not know; homes of one log share a bucket.",
                    then="Nothing was acknowledged. Give each home a bucket or a prefix of its own.",
                )
        if self._objects.address not in known:
            self._keep_claims([own, *known, self._objects.address])

    def _claims(self) -> list[str]:
        with explained(self._home):
            with suppress(FileNotFoundError):
                return (self._home / CLAIMS).read_text("utf-8").split("\n")
            self._keep_claims([secrets.token_hex(16)])
            return (self._home / CLAIMS).read_text("utf-8").split("\n")

    def _keep_claims(self, lines: list[str]) -> None:
        with unfinished(self._home / "blobs") as file:
            file.write("\n".join(lines).encode())
            if len(lines) == 1:
                file.keep_new(self._home / CLAIMS)  # of two processes that begin at once, one names the home
            else:
                file.keep(self._home / CLAIMS)

    async def _came(self, size: int) -> None:
        """So many bytes came here: those used longest ago are given up, once they are too many."""
        self._since_look += size
        if self._since_look * 16 < self._most:
            return
        self._since_look = 0
        over, old = await self._far(self._excess)
        for start in range(0, len(old), _LOOKED_UP):
            some = old[start : start + _LOOKED_UP]
            referred = await self._referred(some)
            for sha256 in some:
                if over <= 0:
                    return
                if sha256 in referred:
                    over -= await self._far(partial(self._give_up, sha256))

    def _excess(self) -> tuple[int, list[str]]:
        """How many bytes more than `most` are here, and what may be given up for that, used longest ago first."""
        found = []
        for path in self._files():
            with suppress(FileNotFoundError):
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path.name))
        over = sum(size for _, size, _ in found) - self._most
        unused = time.time() - _SURE_S
        return over, [name for used, _, name in sorted(found) if used <= unused] if over > 0 else []

    def _give_up(self, sha256: str) -> int:
        """The bytes that this has freed: 0, if they are not seen to lie there or were used just now."""
        path = self.path(sha256)
        with suppress(FileNotFoundError):
            found = self._objects.look(f"{_BLOBS}/{sha256}")
            status = path.stat()
            if found and found.size == status.st_size and status.st_mtime <= time.time() - _SURE_S:
                path.unlink()
                return status.st_size
        return 0

    async def _far(self, act: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, act)

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(_AT_ONCE, "objects")


def _hash(name: str) -> str:
    return name.rpartition("/")[2]
