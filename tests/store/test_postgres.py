"""What a server adds to what can go wrong: it restarts, lines break at any byte, notices are lost."""

import asyncio
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from angelia.core.entry import ConversationOpened, UserSaid
from angelia.core.errors import ConfigError, StoreError, StoreUnreachable
from angelia.core.ids import ConversationId, new_conversation
from angelia.core.principal import OWNER
from angelia.service.log_places import open_log
from angelia.service.settings.config import load
from angelia.store.log.examined import by_place
from angelia.store.log.lease import HeldElsewhere, Lease, take
from angelia.store.log.transcript import Spending, Transcript
from angelia.store.port import ALL_ROWS, ResultRows, StoreConnection
from angelia.store.postgres.commits import LOCKS
from angelia.store.postgres.database import PostgresDatabase
from angelia.store.postgres.schema import VERSION
from angelia.store.postgres.viewing import SHOWN
from angelia.store.tables.machines import Machines
from tests.store.breaking_line import BreakingLine
from tests.store.leases import acquire
from tests.store.postgres_server import PostgresServer, postgres_server
from tests.store.words import said

pytestmark = [pytest.mark.anyio, pytest.mark.real("postgres")]


CUT = (  # idle: whoever connects for the first time is told of a line that breaks, and one that listens is not
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE query LIKE 'SELECT pg_advisory_lock%' AND state = 'idle'"
)
"""Ends the lines by which processes listen."""


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """One of its own, which a test may kill."""
    with postgres_server() as server:
        yield server


async def begun(db: PostgresDatabase) -> ConversationId:
    conversation = new_conversation()
    await Transcript(db).append(conversation, [ConversationOpened("terminal", "/work")])
    return conversation


async def acquired_once_free(db: PostgresDatabase, conversation: ConversationId) -> Lease:
    """The lease, once the server has noticed that the sessions of who held it have ended."""
    while True:
        try:
            return await acquire(db, conversation, "another")
        except HeldElsewhere:
            await asyncio.sleep(0.01)


async def texts(db: PostgresDatabase, conversation: ConversationId) -> list[str]:
    facts = [entry.fact for entry in await Transcript(db).entries(conversation)]
    return [fact.parts[0].text for fact in facts if isinstance(fact, UserSaid)]  # type: ignore[union-attr]


async def test_a_server_that_is_killed_and_comes_back_loses_nothing_and_doubles_nothing(
    server: PostgresServer, home: Path
) -> None:
    db = PostgresDatabase.open(server.fresh(), home, patience_s=60)
    conversation = await begun(db)
    acknowledged: list[str] = []
    down = asyncio.Event()

    async def write(name: int) -> None:
        number = 0
        while not down.is_set() or number < 3:
            number += 1
            await Transcript(db).append(conversation, [said(f"{name} {number}")])
            acknowledged.append(f"{name} {number}")
            await asyncio.sleep(0)

    writing = [asyncio.create_task(write(name)) for name in range(4)]
    while len(acknowledged) < 40:  # noqa: ASYNC110 - they are counted by who writes
        await asyncio.sleep(0.01)
    await asyncio.to_thread(server.kill)
    down.set()
    await asyncio.to_thread(server.start)
    await asyncio.gather(*writing)
    assert sorted(await texts(db, conversation)) == sorted(acknowledged)
    db.close()


@pytest.mark.parametrize("answered", [False, True], ids=["before it came", "after it was done"])
async def test_a_line_that_breaks_at_a_commit_writes_once(
    postgres: PostgresServer, home: Path, tmp_path_factory: pytest.TempPathFactory, *, answered: bool
) -> None:
    folder = tmp_path_factory.mktemp("l")
    line = BreakingLine(folder, postgres.folder, answered=answered)
    line.start()
    db = PostgresDatabase.open(postgres.fresh().replace(str(postgres.folder), str(folder)), home)
    conversation = await begun(db)
    line.armed = True
    entries = await Transcript(db).append(conversation, [said("once")])
    assert [entry.seq for entry in entries] == [2]
    assert not line.armed
    assert await texts(db, conversation) == ["once"]
    db.close()
    line.close()


@pytest.mark.soak
async def test_a_transaction_whose_number_somebody_else_has_after_a_crash_is_not_taken_for_theirs(
    server: PostgresServer, home: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    import psycopg

    ours: list[int] = []
    theirs: list[int] = []
    query = "SELECT pg_current_xact_id()::text::bigint"

    def crash() -> None:
        server.kill()
        server.start()
        with psycopg.connect(server.address, autocommit=True) as somebody:
            while not theirs or theirs[-1] < ours[0]:
                theirs.extend(somebody.execute(query).fetchone() or ())

    def say(connection: StoreConnection) -> None:
        ours.append(connection.execute(query).fetchone()[0])
        connection.execute("INSERT INTO remembered VALUES ('said', ?)", (str(len(ours)),))

    with psycopg.connect(server.address, autocommit=True) as tuning:  # nothing reaches the disk before a commit
        tuning.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
        tuning.execute("SELECT pg_reload_conf()")
    folder = tmp_path_factory.mktemp("l")
    line = BreakingLine(folder, server.folder, answered=False, meanwhile=crash)
    line.start()
    address = server.fresh().replace(str(server.folder), str(folder))
    db = PostgresDatabase.open(address, home, patience_s=60)
    await begun(db)
    line.armed = True
    await db.write(say)
    assert ours[0] in theirs
    found = "SELECT value FROM remembered WHERE key = 'said'"
    assert await db.read(lambda connection: connection.execute(found).fetchall()) == [("2",)]
    db.close()
    line.close()


async def test_of_jobs_in_one_commit_each_fails_for_itself(postgres: PostgresServer, home: Path) -> None:
    import psycopg

    db = PostgresDatabase.open(postgres.fresh(), home)

    def put(key: str, *, again: bool = False, fails: bool = False) -> Callable[[StoreConnection], str]:
        def job(connection: StoreConnection) -> str:
            for _ in range(1 + again):  # the second one breaks a law of the table, of which nobody asks
                connection.execute("INSERT INTO remembered VALUES (?, '')", (key,))
            if fails:
                raise ValueError(key)
            return key

        return job

    jobs = [put("a"), put("b", again=True), put("c"), put("d", fails=True), put("e")]
    outcomes = await asyncio.gather(*(db.write(job) for job in jobs), return_exceptions=True)
    assert [outcomes[0], outcomes[2], outcomes[4]] == ["a", "c", "e"]
    assert isinstance(outcomes[1], psycopg.errors.UniqueViolation)
    assert isinstance(outcomes[3], ValueError)
    rows = await db.read(lambda connection: connection.execute("SELECT key FROM remembered ORDER BY key").fetchall())
    assert rows == [("a",), ("c",), ("e",)]
    db.close()


@pytest.mark.parametrize("asked", ["SELECT 1", "INSERT INTO remembered VALUES ('begun', '')"])
async def test_a_process_that_is_stopped_in_the_middle_of_a_write_keeps_others_waiting_for_seconds_only(
    postgres: PostgresServer, home: Path, asked: str
) -> None:
    address = postgres.fresh()
    here, there = PostgresDatabase.open(address, home), PostgresDatabase.open(address, home)
    conversation = await begun(there)
    holds, wakes = threading.Event(), threading.Event()

    def stop(connection: StoreConnection) -> None:
        _ = connection.execute(asked).rowcount
        holds.set()
        wakes.wait()
        connection.execute("INSERT INTO remembered VALUES ('said', 'once')")

    stopped = asyncio.create_task(here.write(stop))
    await asyncio.to_thread(holds.wait)
    await Transcript(there).append(conversation, [said("meanwhile")])
    wakes.set()
    await stopped
    found = "SELECT value FROM remembered WHERE key = 'said'"
    assert await there.read(lambda connection: connection.execute(found).fetchall()) == [("once",)]
    here.close()
    there.close()


async def test_no_commit_is_sent_before_the_lock_is_held(
    postgres: PostgresServer, home: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("l")
    free, sent_free = threading.Event(), []
    line = BreakingLine(folder, postgres.folder, meanwhile=lambda: sent_free.append(free.is_set()), goes_on=True)
    line.start()
    address = postgres.fresh()
    here = PostgresDatabase.open(address.replace(str(postgres.folder), str(folder)), home)
    there = PostgresDatabase.open(address, home)
    await begun(here)
    holds = threading.Event()
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = ? AND NOT granted"

    def hold(connection: StoreConnection) -> None:
        while not connection.execute(waiting, (LOCKS,)).fetchone()[0]:
            holds.set()  # with the first answer: what was sent before it has the lock by then
        free.set()

    holding = asyncio.create_task(there.write(hold))
    await asyncio.to_thread(holds.wait)
    line.armed = True
    await here.write(lambda connection: connection.execute("INSERT INTO remembered VALUES ('said', '')"))
    await holding
    assert sent_free == [True]
    here.close()
    there.close()
    line.close()


async def test_a_mark_that_was_taken_away_is_made_again_and_old_ones_go(postgres: PostgresServer, home: Path) -> None:
    address = postgres.fresh()
    db = PostgresDatabase.open(address, home)
    await begun(db)
    marks = "SELECT number FROM marks"
    assert await db.write(lambda connection: connection.execute("DELETE FROM marks").rowcount) == 1
    await begun(db)
    assert await db.write(lambda connection: connection.execute(marks).fetchall()) == [(4,)]
    await db.write(lambda connection: connection.execute("UPDATE marks SET at = at - interval '2 days'"))
    other = PostgresDatabase.open(address, home)
    await begun(other)
    assert await db.read(lambda connection: connection.execute(marks).fetchall()) == [(1,)]
    db.close()
    other.close()


async def test_a_server_that_stays_away_is_told_and_nothing_is_written(server: PostgresServer, home: Path) -> None:
    db = PostgresDatabase.open(server.fresh(), home, patience_s=0.2)
    conversation = await begun(db)
    await asyncio.to_thread(server.kill)
    acts: list[Callable[[], object]] = [
        lambda: Transcript(db).append(conversation, [said("lost")]),
        lambda: Transcript(db).entries(conversation),
    ]
    for act in acts:
        with pytest.raises(StoreUnreachable, match="cannot be reached"):
            await act()  # type: ignore[misc]
    await asyncio.to_thread(server.start)
    await Transcript(db).append(conversation, [said("kept")])
    assert await texts(db, conversation) == ["kept"]
    db.close()


@pytest.mark.soak
async def test_a_process_that_ends_waits_for_no_server(server: PostgresServer, home: Path) -> None:
    db = PostgresDatabase.open(server.fresh(), home, patience_s=3600)
    conversation = await begun(db)
    await asyncio.to_thread(server.kill)
    waiting = asyncio.create_task(Transcript(db).append(conversation, [said("lost")]))
    await asyncio.sleep(0)
    await asyncio.to_thread(db.close)
    with pytest.raises(StoreUnreachable, match="cannot be reached"):
        await waiting
    await asyncio.to_thread(server.start)


async def test_who_asks_for_our_name_waits_for_no_server(server: PostgresServer, home: Path) -> None:
    db = PostgresDatabase.open(server.fresh(), home)
    name = db.presence.name("a driver")
    await asyncio.to_thread(server.kill)
    for _ in range(50):  # the listening line notices meanwhile
        assert db.presence.name("a driver") == name
        await asyncio.sleep(0.01)
    await asyncio.to_thread(server.start)
    lease = await acquire(db, await begun(db), "a driver")
    await lease.renew()
    db.close()


@pytest.mark.parametrize("at", [b"application_name", b"LISTEN"], ids=["connects", "waits for an answer"])
async def test_a_process_ends_while_its_listening_line_is_made_anew(
    postgres: PostgresServer, home: Path, tmp_path_factory: pytest.TempPathFactory, at: bytes
) -> None:
    def end_meanwhile() -> None:
        line.ended.clear()
        ending.start()
        begins.set()
        if at == b"LISTEN":  # the server says nothing before that
            ending.join()
        else:  # the connection that writes is closed just before the one that listens is looked for
            line.ended.wait()

    folder = tmp_path_factory.mktemp("l")
    line = BreakingLine(folder, postgres.folder, meanwhile=end_meanwhile, at=at, goes_on=True)
    line.start()
    db = PostgresDatabase.open(postgres.fresh().replace(str(postgres.folder), str(folder)), home)
    ending, begins = threading.Thread(target=db.close), threading.Event()
    await begun(db)
    db.presence.name("a driver")
    line.armed = True
    await db.write(lambda connection: connection.execute(CUT).fetchall())
    await asyncio.to_thread(begins.wait)
    await asyncio.to_thread(ending.join, 60)
    assert not ending.is_alive(), "it waits for somebody to wake it"
    line.close()


class Counting:
    """A transaction, of which it is known how many rows a statement gave at most."""

    def __init__(self, inner: StoreConnection) -> None:
        self._inner = inner
        self.most = 0

    def execute(self, statement: str, values: Sequence[object] = (), /) -> ResultRows:
        found = self._inner.execute(statement, values)
        self.most = max(self.most, found.rowcount)
        return found

    def executemany(self, statement: str, rows: Sequence[Sequence[object]], /) -> object:
        raise AssertionError("nothing is written here")


async def test_a_long_log_is_read_a_thousand_entries_at_a_time(postgres: PostgresServer, home: Path) -> None:
    db = PostgresDatabase.open(postgres.fresh(), home)
    await Transcript(db).append(await begun(db), [said("x")] * 2002)

    def look(connection: StoreConnection, most: int) -> tuple[list[int], int]:
        counting = Counting(connection)
        return [place for place, _ in by_place(counting, 1, most)], counting.most

    for most in (999, 1000, 1001, 2000, 2003, ALL_ROWS):
        assert await db.read(partial(look, most=most)) == (list(range(2, 2 + min(most, 2002))), min(most, 1000))
    db.close()


async def test_news_come_also_where_the_listening_line_was_cut(postgres: PostgresServer, home: Path) -> None:
    address = postgres.fresh()
    here, there = PostgresDatabase.open(address, home), PostgresDatabase.open(address, home)
    conversation = await begun(here)
    waiting = asyncio.create_task(Transcript(here).news(conversation, lambda: 1))
    while not await there.write(lambda connection: connection.execute(CUT).fetchall()):  # noqa: ASYNC110 - until it waits
        await asyncio.sleep(0)
    await Transcript(there).append(conversation, [said("hello")])
    assert [entry.seq for entry in await waiting] == [2]
    here.close()
    there.close()


@pytest.mark.parametrize("line", ["listens", "writes"])
async def test_a_process_is_seen_to_live_while_one_of_its_lines_is_made_anew(
    postgres: PostgresServer, home: Path, line: str
) -> None:
    address = postgres.fresh()
    here, there = PostgresDatabase.open(address, home), PostgresDatabase.open(address, home)
    conversation = await begun(here)
    lease = await acquire(here, conversation, "a driver")
    name = here.presence.name("a driver")
    sessions = (  # gone by the time that the answer is there
        "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity JOIN pg_locks USING (pid)"
        " WHERE locktype = 'advisory' AND classid = CAST(? AS oid) AND objid = CAST(? AS oid)"
        f" AND query {'LIKE' if line == 'listens' else 'NOT LIKE'} 'SELECT pg_advisory_lock%'"
    )

    def cut_and_look(connection: StoreConnection) -> tuple[list[tuple[bool]], str]:
        cut = connection.execute(sessions, (LOCKS, zlib.crc32(name.encode()) & 0x7FFF_FFFF)).fetchall()
        try:
            take(connection, there, conversation, "another", there.presence.ttl_ms)
        except HeldElsewhere as held:
            return cut, held.holder
        return cut, "nobody"

    assert await there.write(cut_and_look) == ([(True,)], f"a driver ({here.presence.here})")
    await Transcript(here).append(conversation, [said("still mine")], lease=lease)
    here.close()
    assert (await acquired_once_free(there, conversation)).epoch == lease.epoch + 1
    there.close()


async def test_a_clock_that_is_wrong_takes_nobody_s_lease(postgres: PostgresServer, home: Path) -> None:
    address = postgres.fresh()
    here = PostgresDatabase.open(address, home)
    ahead = PostgresDatabase.open(address, home, clock=lambda: 4_000_000_000_000)
    conversation = await begun(here)
    lease = await acquire(here, conversation, "a driver")
    with pytest.raises(StoreError, match="is working on this conversation"):
        await acquire(ahead, conversation, "another")
    await Transcript(here).append(conversation, [said("still mine")], lease=lease)
    here.close()
    ahead.close()


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("mysql://db.example/angelia", "no place for a log"),
        ("postgresql://ann:secret@db.example/angelia", "has a password in it"),
        ("postgresql://ann@db.example/angelia?password=secret", "has a password in it"),
    ],
)
async def test_a_place_that_will_not_do_is_told_without_its_secret(tmp_path: Path, address: str, why: str) -> None:
    loaded = load(tmp_path, {"ANGELIA_STORE": address}, [], {})
    with pytest.raises(ConfigError, match=why) as told:
        open_log(loaded, {}, lambda: 0)
    assert "secret" not in str(told.value)


async def test_a_password_that_is_wrong_is_not_shown(postgres: PostgresServer, home: Path) -> None:
    address = f"postgresql://nobody@/postgres?host={postgres.folder}"
    with pytest.raises(StoreError) as told:
        PostgresDatabase.open(address, home, password="p4ssw0rd")
    assert "p4ssw0rd" not in str(told.value)


async def test_tables_of_an_earlier_version_are_brought_forward(postgres: PostgresServer, tmp_path: Path) -> None:
    import psycopg

    address = postgres.fresh()
    PostgresDatabase.open(address, tmp_path).close()
    with psycopg.connect(address, autocommit=True) as connection:
        for table in SHOWN:
            connection.execute(f"DROP POLICY theirs ON {table}; ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
        connection.execute("DROP FUNCTION viewing(); DROP TABLE viewing_key, marks")
        for source, change in product(("spending", "spending_erased"), ("insert", "delete", "update")):
            connection.execute(f"DROP FUNCTION {source}_summed_{change} CASCADE")
        connection.execute("DROP TABLE spending_days, spending_in_days")
        connection.execute("ALTER TABLE leases DROP COLUMN may_cost; DROP INDEX entries_decided")
        connection.execute("ALTER TABLE conversations DROP COLUMN last_minute, DROP COLUMN last_hour")
        connection.execute("DROP INDEX conversations_by_place")
        connection.execute("DROP INDEX outbox_by_place, outbox_doubtful, spending_by_conversation")
        connection.execute("ALTER TABLE leases DROP COLUMN since, DROP COLUMN rested")
        connection.execute("DROP TABLE machines; UPDATE format SET version = 1")
        connection.execute("INSERT INTO leases VALUES ('one', 7, 'somebody', '', '', 0)")
        connection.execute("INSERT INTO spending VALUES (3, 'one', 2, 'owner', 'm', 70, 5, 2, 0, 0)")
    db = PostgresDatabase.open(address, tmp_path)
    query = "SELECT epoch, since, version FROM leases, format"
    assert await db.read(lambda connection: connection.execute(query).fetchall()) == [(7, 0, VERSION)]
    await Machines(db).tell("one", "1", frozenset(), 0)
    add = "INSERT INTO spending VALUES (4, 'one', 3, 'owner', 'm', 30, 5, 2, 0, 0)"
    await db.write(lambda connection: connection.execute(add))
    assert await Transcript(db).spent(OWNER, 0) == Spending(100, 14, 0)
    await db.read(lambda connection: connection.execute("SELECT last_hour FROM conversations"))  # as versions before do
    db.close()
