"""With a store of objects behind them blobs are what they are without; the home keeps those that were used last."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from angelia.core.content import BlobRef, Media, MediaKind
from angelia.core.entry import ConversationOpened, UserSaid
from angelia.core.errors import NotFound, StoreDamaged, StoreError, StoreUnreachable
from angelia.core.ids import ConversationId
from angelia.service.blob_places import in_log
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.media.cached_blobs import CLAIMS, CachedBlobs
from angelia.store.objects.folder import FolderObjects
from angelia.store.objects.port import ObjectStore
from angelia.store.sql import upkeep
from angelia.store.sql.database import Database
from angelia.testing.objects.checks import read

pytestmark = pytest.mark.anyio

NAME = ConversationId("c1")
Make = Callable[[], ObjectStore]
MOST = 1_000_000
LONG_AGO = 90_000.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def db(home: Path) -> Iterator[Database]:
    db = Database.open(home)
    yield db
    db.close()


@pytest.fixture
def blobs(db: Database, make: Make) -> CachedBlobs:
    return CachedBlobs(db.home, make(), MOST, in_log(db))


@pytest.fixture
async def transcript(db: Database, blobs: CachedBlobs) -> Transcript:
    transcript = Transcript(db, blobs)
    await transcript.append(NAME, [ConversationOpened("terminal", "/work")])
    return transcript


def shown(ref: BlobRef) -> UserSaid:
    return UserSaid((Media(ref, MediaKind.DOCUMENT, "x"),))


def forget(blobs: BlobStore, *refs: BlobRef) -> None:
    """What the home has of these, as after a move to another machine."""
    for ref in refs:
        blobs.path(ref.sha256).unlink()


def unused(blobs: BlobStore, *refs: BlobRef) -> None:
    """Nobody has used these for a day."""
    for ref in refs:
        os.utime(blobs.path(ref.sha256), (time.time() - LONG_AGO,) * 2)


async def pieces(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def test_whichever_way_they_come_bytes_are_here_and_there(blobs: CachedBlobs, make: Make, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"two")
    refs = [
        await blobs.put(b"one"),
        await blobs.put_file(tmp_path / "file", limit=10),
        await blobs.put_stream(pieces(b"three"), limit=10),
    ]
    assert [read(make(), f"blobs/{ref.sha256}") for ref in refs] == [b"one", b"two", b"three"]
    forget(blobs, *refs)
    assert await blobs.stored() == {ref.sha256: ref.size for ref in refs}
    assert all([await blobs.has(ref) for ref in refs])
    assert await blobs.get(refs[0].sha256) == b"one"
    assert (await blobs.local(refs[1].sha256)).read_bytes() == b"two"
    assert b"".join([piece async for piece in blobs.chunks(refs[2].sha256)]) == b"three"
    with pytest.raises(NotFound, match="is not in the store"):
        await blobs.get("0" * 64)


async def test_ten_who_want_what_is_not_here_fetch_it_once(blobs: CachedBlobs) -> None:
    ref = await blobs.put(os.urandom(6_000_000))
    forget(blobs, ref)
    paths = await asyncio.gather(*(blobs.local(ref.sha256) for _ in range(10)))
    assert len(set(paths)) == 1
    assert [path.name for path in (blobs.path(ref.sha256).parent).iterdir()] == [ref.sha256]


async def test_what_is_damaged_here_is_fetched_and_what_is_damaged_there_is_told(
    blobs: CachedBlobs, make: Make
) -> None:
    ref = await blobs.put(b"as it was")
    blobs.path(ref.sha256).chmod(0o600)
    blobs.path(ref.sha256).write_bytes(b"damaged!!")
    assert await blobs.get(ref.sha256) == b"as it was"
    make().replace(f"blobs/{ref.sha256}", b"otherwise")
    assert await blobs.verify() == [ref.sha256]
    forget(blobs, ref)
    with pytest.raises(StoreDamaged, match="holds other bytes than were stored"):
        await blobs.get(ref.sha256)
    assert not blobs.path(ref.sha256).exists(), "what is not the blob is not kept"


async def test_the_home_keeps_what_was_used_last_and_never_what_only_it_has(
    blobs: CachedBlobs, transcript: Transcript, make: Make
) -> None:
    old = [await blobs.put(os.urandom(400_000)) for _ in range(4)]
    for ref in old[:3]:
        await transcript.append(NAME, [shown(ref)])
    unused(blobs, *old)
    make().delete(f"blobs/{old[0].sha256}")
    new = await blobs.put(os.urandom(300_000))
    here = {path.name for path in blobs.path(new.sha256).parent.iterdir()}
    kept = {
        old[0].sha256: "it lies nowhere else",
        old[3].sha256: "the log does not refer to it",
        new.sha256: "it was used just now",
    }
    assert here == set(kept)
    assert len(await blobs.get(old[1].sha256)) == 400_000


async def test_an_entry_may_name_again_what_the_home_has_given_up(blobs: CachedBlobs, transcript: Transcript) -> None:
    ref = await blobs.put(b"named")
    await transcript.append(NAME, [shown(ref)])
    unnamed = await blobs.put(b"never named")
    forget(blobs, ref, unnamed)
    await transcript.append(NAME, [shown(ref)])
    with pytest.raises(NotFound):
        await transcript.append(NAME, [shown(unnamed)])


async def test_bytes_that_did_not_get_there_are_named_by_nobody(
    db: Database, transcript: Transcript, tmp_path: Path
) -> None:
    gone = CachedBlobs(db.home, FolderObjects(tmp_path / "not mounted"), MOST, in_log(db))
    with pytest.raises(StoreUnreachable, match="is not there"):
        await gone.put(b"words")
    (tmp_path / "not mounted").mkdir()
    ref = await gone.put(b"words")
    forget(gone, ref)
    assert await gone.get(ref.sha256) == b"words", "what was here alone got there by the next try"


async def test_a_store_that_is_another_homes_is_left_alone(blobs: CachedBlobs, make: Make, tmp_path: Path) -> None:
    await blobs.put(b"ours")
    (tmp_path / "other").mkdir()
    other = Database.open(tmp_path / "other")
    theirs = CachedBlobs(other.home, make(), MOST, in_log(other))
    for act in (theirs.put(b"theirs"), theirs.aged(0), theirs.erased(["0" * 64]), theirs.empty_trash(0)):
        with pytest.raises(StoreError, match="holds the files of another home"):
            await act
    other.close()
    assert list(await blobs.stored()) == [(await blobs.put(b"ours")).sha256]


async def test_a_store_that_was_emptied_is_not_taken_for_a_new_one(
    db: Database, blobs: CachedBlobs, make: Make
) -> None:
    ref = await blobs.put(b"ours")
    for name in ("owner", f"blobs/{ref.sha256}"):
        make().delete(name)
    again = CachedBlobs(db.home, make(), MOST, in_log(db))
    for _ in range(2):
        with pytest.raises(StoreError, match="is empty, and this home has put its files there"):
            await again.put(b"more")
    (db.home / CLAIMS).unlink()
    assert (await again.put(b"more")).size == 4


async def test_two_processes_of_one_home_share_a_store(db: Database, make: Make) -> None:
    both = [CachedBlobs(db.home, make(), MOST, in_log(db)) for _ in range(2)]
    first, second = await asyncio.gather(*(one.put(b"the same") for one in both))
    assert first == second
    assert await both[0].stored() == {first.sha256: 8}


async def together(_: str) -> str:
    return "the homes of one log"


@pytest.fixture
def homes(db: Database, make: Make, tmp_path: Path) -> tuple[CachedBlobs, CachedBlobs]:
    """Two machines over one log."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    return (
        CachedBlobs(one, make(), MOST, in_log(db), together),
        CachedBlobs(two, make(), MOST, in_log(db), together),
    )


async def test_homes_of_one_log_share_a_store(homes: tuple[CachedBlobs, CachedBlobs], db: Database, make: Make) -> None:
    first, second = homes
    ref = await first.put(b"seen by both")
    assert await second.get(ref.sha256) == b"seen by both"
    assert (await second.put(b"of the second")).sha256 in await first.stored()
    with pytest.raises(StoreError, match="holds the files of another home"):
        await CachedBlobs(db.home, make(), MOST, in_log(db)).put(b"of a home for itself")


async def test_what_another_home_has_put_again_is_not_swept(homes: tuple[CachedBlobs, CachedBlobs]) -> None:
    sweeping, putting = homes
    ref = await sweeping.put(b"wanted again")
    sweeping.set_aside(ref.sha256)
    await putting.put(b"wanted again")
    await sweeping.swept([ref.sha256])
    forget(putting, ref)
    assert await putting.get(ref.sha256) == b"wanted again"


async def test_what_is_missed_and_lies_in_the_trash_is_brought_back_by_who_reads_it(
    blobs: CachedBlobs, transcript: Transcript, make: Make
) -> None:
    missed, unnamed = [await blobs.put(data) for data in (b"missed", b"never named")]
    await transcript.append(NAME, [shown(missed)])
    for ref in (missed, unnamed):
        make().move(f"blobs/{ref.sha256}", f"trash/{ref.sha256}")
        forget(blobs, ref)
    assert await blobs.get(missed.sha256) == b"missed"
    assert await blobs.trash() == [unnamed.sha256]
    with pytest.raises(NotFound):
        await blobs.get(unnamed.sha256)


class TestSwept:
    """What nobody refers to goes, and nothing else."""

    async def test_what_is_referred_to_stays_and_the_rest_lies_aside(
        self, db: Database, blobs: CachedBlobs, transcript: Transcript, make: Make
    ) -> None:
        named, orphan, here_alone = [await blobs.put(data) for data in (b"named", b"orphan", b"here alone")]
        make().delete(f"blobs/{here_alone.sha256}")
        await transcript.append(NAME, [shown(named)])
        assert await upkeep.sweep(db, blobs, time.time() - 60) == [], "they were put since"
        assert sorted(await upkeep.sweep(db, blobs, time.time() + 5)) == sorted([orphan.sha256, here_alone.sha256])
        assert await blobs.all() == [named.sha256]
        assert sorted(await blobs.trash()) == sorted([orphan.sha256, here_alone.sha256])
        assert await upkeep.verify(db, blobs) == []
        assert await blobs.bring_back(orphan.sha256)
        assert await blobs.get(orphan.sha256) == b"orphan"
        assert await blobs.empty_trash(time.time() - 60) == []
        assert await blobs.empty_trash(time.time() + 5) == [here_alone.sha256]
        assert await blobs.trash() == []

    async def test_what_was_swept_though_the_log_refers_to_it_is_brought_back_by_rebuild(
        self, db: Database, blobs: CachedBlobs, transcript: Transcript, make: Make
    ) -> None:
        refs = [await blobs.put(data) for data in (b"one", b"two")]
        await transcript.append(NAME, [shown(refs[0])])
        await transcript.append(NAME, [shown(refs[1])])
        make().move(f"blobs/{refs[0].sha256}", f"trash/{refs[0].sha256}")
        make().delete(f"blobs/{refs[1].sha256}")
        assert len(await upkeep.verify(db, blobs)) == 2
        await upkeep.rebuild(db, blobs)
        assert await upkeep.verify(db, blobs) == []
        forget(blobs, refs[1])
        assert await blobs.get(refs[1].sha256) == b"two", "what only the home had was brought there"

    async def test_what_is_put_again_while_it_goes_stays(
        self, db: Database, blobs: CachedBlobs, transcript: Transcript, make: Make
    ) -> None:
        ref = await blobs.put(b"wanted again")
        other = CachedBlobs(db.home, make(), MOST, in_log(db))
        blobs.set_aside(ref.sha256)
        await other.put(b"wanted again")
        await transcript.append(NAME, [shown(ref)])
        await blobs.swept([ref.sha256])
        forget(blobs, ref)
        assert await other.get(ref.sha256) == b"wanted again"

    async def test_what_is_put_in_the_very_moment_in_which_it_goes_stays(self, db: Database, make: Make) -> None:
        class Slow:
            """Somebody puts what is moved, in the moment before it is."""

            def __init__(self, inner: ObjectStore) -> None:
                self._inner = inner
                self.before: Callable[[], object] = lambda: None

            def __getattr__(self, name: str) -> object:
                return getattr(self._inner, name)

            def move(self, name: str, to: str) -> bool:
                self.before()
                return self._inner.move(name, to)

        objects = Slow(make())
        sweeping = CachedBlobs(db.home, objects, MOST, in_log(db))  # type: ignore[arg-type]
        putting = CachedBlobs(db.home, make(), MOST, in_log(db))
        ref = await putting.put(b"wanted again")
        sweeping.set_aside(ref.sha256)
        loop = asyncio.get_running_loop()
        objects.before = lambda: asyncio.run_coroutine_threadsafe(putting.put(b"wanted again"), loop).result()
        await sweeping.swept([ref.sha256])
        forget(putting, ref)
        assert await putting.get(ref.sha256) == b"wanted again"

    async def test_what_is_put_after_half_a_day_is_as_new_as_if_it_were(
        self, blobs: CachedBlobs, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ref = await blobs.put(b"old")
        before = make().look(f"blobs/{ref.sha256}")
        later = time.time() + 50_000
        monkeypatch.setattr("angelia.store.media.cached_blobs.time.monotonic", lambda: later)
        replaced: list[str] = []
        monkeypatch.setattr(type(blobs._objects), "replace", lambda _, name, __: replaced.append(name))
        await blobs.put(b"old")
        assert replaced == [], "it is not old yet"
        monkeypatch.setattr("angelia.store.media.cached_blobs.time.time", lambda: later)
        blobs._seen.clear()
        await blobs.put(b"old")
        assert before
        assert replaced == [before.name]

    async def test_erased_it_is_gone_here_and_there(
        self, db: Database, blobs: CachedBlobs, transcript: Transcript, make: Make
    ) -> None:
        ours, shared = await blobs.put(b"ours"), await blobs.put(b"shared")
        await transcript.append(NAME, [shown(ours)])
        await transcript.append(NAME, [shown(shared)])
        other = ConversationId("c2")
        await transcript.append(other, [ConversationOpened("terminal", "/work"), shown(shared)])
        await transcript.erase(NAME, blobs)
        assert await blobs.all() == [shared.sha256]
        assert make().look(f"blobs/{ours.sha256}") is None
        assert not blobs.path(ours.sha256).exists()
        assert await blobs.trash() == []


async def test_a_backup_holds_the_bytes_and_is_a_home_of_its_own(
    db: Database, blobs: CachedBlobs, transcript: Transcript, tmp_path: Path
) -> None:
    ref = await blobs.put(b"kept elsewhere")
    await transcript.append(NAME, [shown(ref)])
    forget(blobs, ref)
    await upkeep.backup(db, blobs, tmp_path / "backup")
    assert await BlobStore(tmp_path / "backup").get(ref.sha256) == b"kept elsewhere"
