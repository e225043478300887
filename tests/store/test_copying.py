"""A home's log moves between SQLite and PostgreSQL, either way: whole and equal, or not at all."""

import os
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from angelia.core.entry import ConversationOpened
from angelia.core.errors import BadInput, StoreBusy, StoreDamaged, StoreError
from angelia.core.ids import ConversationId, new_conversation, wall_clock
from angelia.core.principal import OWNER
from angelia.service.conversation.forks import fork_conversation
from angelia.store.log.copying import BESIDE, CopiedEntries, StagedLog, copy_entries, nobody_writes
from angelia.store.log.search import search
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.port import LogStore, StoreConnection
from angelia.store.postgres.database import PostgresDatabase
from angelia.store.postgres.staged import StagedPostgres
from angelia.store.sql.copy_folder import STAGED
from angelia.store.sql.database import FILE, Database
from angelia.store.sql.staged import StagedFile
from angelia.store.sql.upkeep import verify
from angelia.store.tables.key_value import KeyValue
from angelia.testing.crash import ANGELIA
from tests import nursery
from tests.examples import TIMES
from tests.store.leases import acquire
from tests.store.postgres_server import PostgresServer
from tests.store.test_forks import story
from tests.store.words import answered, said

pytestmark = pytest.mark.anyio

MANY = 1_100
"""Entries of one conversation: two commits of a copying."""
FILLED = ("entries", *BESIDE)
GRANT = "INSERT INTO grants (principal, sandbox, workspace, conversation, pattern, given_by, given_at, until) VALUES"


class Place:
    """Where a log is, or comes to be."""

    def __init__(self, home: Path, address: str) -> None:
        self.home, self.address = home, address

    @property
    def name(self) -> str:
        """As the command is told."""
        return self.address or "home"

    def open(self) -> LogStore:
        """As everybody opens it."""
        return PostgresDatabase.open(self.address, self.home) if self.address else Database.open(self.home)

    def stage(self) -> StagedLog:
        """As the copying does."""
        if self.address:
            return StagedPostgres.open(self.address, self.home, FILLED, password="")
        return StagedFile.open(self.home, FILLED)


@pytest.fixture(params=["to PostgreSQL", "to SQLite"])
def places(request: pytest.FixtureRequest, tmp_path: Path, postgres: PostgresServer) -> tuple[Place, Place]:
    in_home, there = Place(tmp_path / "home", ""), Place(tmp_path / "home", postgres.fresh())
    return (in_home, there) if request.param == "to PostgreSQL" else (there, in_home)


async def fill(db: LogStore, many: int = 30) -> ConversationId:
    """A log with all that a copy could get wrong: a past, forks, erased places, what lies beside; the long one."""
    transcript, blobs = Transcript(db), BlobStore(db.home)
    told = await story(transcript, blobs)
    await fork_conversation(transcript, told, 6, wall_clock)
    long, erased = new_conversation(), new_conversation()
    texts = (said(f"grebe {number} \0 of 東京", f"key {number}") for number in range(many - 2))
    await transcript.append(long, [ConversationOpened("telegram", "/lake"), *texts, answered("A grebe.", cost=30)])
    await transcript.append(erased, [ConversationOpened("terminal", "/lake"), said("gone"), answered("Gone.", cost=5)])
    await transcript.erase(erased, blobs)
    await KeyValue(db).put("seen", "yes")

    def beside(connection: StoreConnection) -> None:
        connection.execute(f"{GRANT} ('owner', 'local', '/lake', '', 'ls', 'owner', 1, 0)")
        connection.execute(f"{GRANT} ('owner', 'local', '/lake', '', 'rm', 'owner', 2, 0)")
        connection.execute("DELETE FROM grants WHERE pattern = 'rm'")
        connection.execute("INSERT INTO pairings VALUES ('telegram:1', 'telegram', 'Ann', '', 1, 2, 'owner', 'guest')")

    await db.write(beside)
    return long


async def held(db: LogStore) -> dict[str, list[tuple[object, ...]]]:
    """All that a log consists of, as it lies there."""

    def look(connection: StoreConnection) -> dict[str, list[tuple[object, ...]]]:
        tables = ("entries", *BESIDE, "born")
        return {table: sorted(map(tuple, connection.execute(f"SELECT * FROM {table}"))) for table in tables}

    return await db.read(look)


async def moved(source: Place, target: Place, told: Callable[[str], None] = lambda _: None) -> CopiedEntries:
    staged = target.stage()
    with closing(source.open()) as db, closing(staged.db):
        return await copy_entries(db, staged, told)


async def test_a_copy_is_equal_in_order_and_goes_on(places: tuple[Place, Place]) -> None:
    source, target = places
    with closing(source.open()) as db:
        long = await fill(db)
        await db.write(lambda connection: connection.execute("UPDATE born SET at = 1700000000"))  # and not just now
        before = await held(db)
        found = [hit.conversation for hit in (await search(db, OWNER, "grebe 7")).hits]
    copied = await moved(source, target)
    assert (copied.conversations, copied.entries, copied.before) == (3, len(before["entries"]), 0)
    with closing(target.open()) as db, closing(source.open()) as old:
        assert await held(db) == before == await held(old)
        assert await verify(db, BlobStore(db.home)) == []
        assert [hit.conversation for hit in (await search(db, OWNER, "grebe 7")).hits] == found != []
        for one in (db, old):  # no place or grant is given twice, not even those of what was erased
            await Transcript(one).append(long, [said("and on")])
            await one.write(lambda connection: connection.execute(f"{GRANT} ('a', '', '', '', '', 'a', 0, 0)"))
        after = await held(db)
        assert after["entries"][-1][:3] == (await held(old))["entries"][-1][:3]
        assert after["grants"][-1] == (await held(old))["grants"][-1]
        assert (after["grants"][-1][0], len(after["grants"])) == (3, 2)


async def test_who_works_there_is_named_and_nothing_is_copied(places: tuple[Place, Place]) -> None:
    source, target = places
    with closing(source.open()) as db:
        long = await fill(db)
    with closing(source.open()) as db:
        lease = await acquire(db, long, "the terminal")
        with pytest.raises(StoreBusy, match=rf"the terminal \(process {os.getpid()}.*End what runs"):
            await moved(source, target)
        await lease.release()
        with pytest.raises(StoreBusy, match="the terminal"):  # it runs still, and may write with the next word
            await moved(source, target)
    assert (await moved(source, target)).before == 0


async def test_nobody_writes_while_it_is_copied(places: tuple[Place, Place]) -> None:
    source, _ = places
    with closing(source.open()) as db:
        await fill(db)
    with closing(source.open()) as db:
        async with nobody_writes(db) as require_held:
            assert await db.read(lambda connection: connection.execute("SELECT count(*) FROM entries").fetchone()[0])
            with pytest.raises((StoreBusy, TimeoutError)):
                await try_to_write(source)
            require_held()
        await KeyValue(db).put("after", "x")
    with closing(source.open()) as again:
        assert [key for key, _ in await KeyValue(again).all()] == ["after", "seen"]


async def try_to_write(place: Place) -> None:
    """With little patience, from a connection of its own."""
    if not place.address:
        with closing(Database.open_as_it_is(place.home, patience_s=0.01)) as other:
            await KeyValue(other).put("meanwhile", "x")
        return
    import psycopg

    with psycopg.connect(place.address) as connection:
        locked = connection.execute("SELECT pg_try_advisory_xact_lock(1097754465, hashtext(current_schema()))")
        if locked.fetchone() == (False,):
            raise StoreBusy("Somebody has it.")


async def test_a_copy_that_does_not_count_yet_is_no_log(places: tuple[Place, Place]) -> None:
    source, target = places
    with closing(source.open()) as db:
        await fill(db)
    target.stage().db.close()
    if target.address:
        with pytest.raises(StoreError, match="is being copied there"):
            target.open()
        with pytest.raises(StoreError, match="is being copied there"):
            PostgresDatabase.open_to_read(target.address, target.home)
    else:
        assert not (target.home / FILE).exists()
    await moved(source, target)
    target.open().close()
    assert not (target.home / STAGED).exists()


async def test_a_log_is_not_copied_over_another(places: tuple[Place, Place]) -> None:
    source, target = places
    for place in places:
        with closing(place.open()) as db:
            await fill(db)
            before = await held(db)
    with pytest.raises(BadInput, match=r"There is a log in .* already"):
        await moved(source, target)
    with closing(target.open()) as db:
        assert await held(db) == before


async def test_a_log_that_was_altered_is_not_copied(places: tuple[Place, Place]) -> None:
    source, target = places
    with closing(source.open()) as db:
        await fill(db)
        off = "DROP TRIGGER entries_never_change" + (" ON entries" if source.address else "")
        await db.write(lambda connection: connection.execute(off))
        await db.write(lambda connection: connection.execute("UPDATE entries SET at = at + 1 WHERE id = 9"))
    with pytest.raises(StoreDamaged, match="is not what was stored there"):
        await moved(source, target)


async def test_what_was_erased_after_a_copying_was_ended_is_not_in_the_copy(places: tuple[Place, Place]) -> None:
    source, target = places

    class Ended(Exception):
        pass

    def end(_: str) -> None:
        raise Ended

    with closing(source.open()) as db:
        long = await fill(db)
    with pytest.raises(Ended):
        await moved(source, target, end)
    with closing(source.open()) as db:
        await Transcript(db).erase(long, BlobStore(db.home))
        wanted = await held(db)
        assert not (db.home / STAGED).exists()
    assert (await moved(source, target)).before == 0
    with closing(target.open()) as db:
        assert await held(db) == wanted
        assert await verify(db, BlobStore(db.home)) == []
        assert (await search(db, OWNER, "grebe")).hits == ()


@pytest.mark.soak(every=3)
@pytest.mark.parametrize(
    "point",
    ["append.after_commit:1", "append.before_commit:2", "last"]
    + [f"append.after_commit:{number}" for number in range(2, 6) if TIMES],
)
async def test_a_copying_that_is_killed_goes_on_and_every_export_is_equal(
    places: tuple[Place, Place], tmp_path: Path, point: str
) -> None:
    source, target = places
    with closing(source.open()) as db:
        await fill(db, MANY)
        total = len((await held(db))["entries"])
    there = {"append.after_commit:1": 1000, "append.before_commit:2": 1000}.get(point, total)
    already = f", {there:,} of them by a copying before"
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ANGELIA_HOME": str(source.home)}
    words = ("store", "copy", source.name, target.name)
    last = "copy.before_log:1" if not target.address else "append.before_commit:6"
    killed = await nursery.forked(last if point == "last" else point, words, environ, ANGELIA, b"")
    assert killed.status == -signal.SIGKILL, killed.stderr
    run = await nursery.run(words, environ)
    assert (run.status, run.stderr) == (0, ""), run.stderr
    assert f"3 conversations ({total:,} entries{already}) copied to {target.name}, and equal." in run.stdout

    async def exported(place: Place) -> dict[str, str]:
        told = {**environ, **({"ANGELIA_STORE": place.address} if place.address else {})}
        with closing(place.open()) as db:
            ids = [one.id for one in await Transcript(db).conversations(OWNER)]
        runs = {one: await nursery.run(("export", one, "--format", "jsonl"), told) for one in ids}
        assert [(run.status, run.stderr) for run in runs.values()] == [(0, "")] * 3
        return {one: run.stdout for one, run in runs.items()}

    assert await exported(source) == await exported(target)
    again = await nursery.run(words, environ)
    assert (again.status != 0, "There is a log in" in again.stderr) == (True, True), again.stderr


async def test_there_is_nothing_to_copy(places: tuple[Place, Place], tmp_path: Path) -> None:
    source, target = places
    source.open().close()
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ANGELIA_HOME": str(source.home)}
    run = await nursery.run(("store", "copy", source.name, target.name), environ)
    assert run.status != 0
    assert "There is no log in" in run.stderr
    same = await nursery.run(("store", "copy", source.name, source.name), environ)
    assert "Both places are the same." in same.stderr
    assert "Traceback" not in run.stderr + same.stderr
