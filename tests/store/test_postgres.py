"""What a server adds to what can go wrong: it restarts, lines break at any byte, notices are lost."""

import asyncio
import select
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from angelia.core.entry import ConversationOpened, UserSaid
from angelia.core.errors import ConfigError, StoreError, StoreUnreachable
from angelia.core.ids import ConversationId, new_conversation
from angelia.service.log_places import open_log
from angelia.service.settings.config import load
from angelia.store.log.examined import by_place
from angelia.store.log.transcript import Transcript
from angelia.store.port import ALL_ROWS, ResultRows, StoreConnection
from angelia.store.postgres.database import PostgresDatabase
from angelia.store.postgres.schema import VERSION
from angelia.store.postgres.viewing import SHOWN
from angelia.store.tables.machines import Machines
from tests.store.leases import acquire
from tests.store.postgres_server import PostgresServer, postgres_server
from tests.store.words import said

pytestmark = [pytest.mark.anyio, pytest.mark.real("postgres")]


class BreakingLine(threading.Thread):
    """A way to the server's socket that ends at the first `COMMIT`: before it is passed on, or before its answer is."""

    def __init__(self, folder: Path, to: Path, *, answered: bool) -> None:
        super().__init__(daemon=True)
        self._to, self._answered = to, answered
        self.armed = False
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / ".s.PGSQL.5432"))
        self._listening.listen()

    def run(self) -> None:
        with self._listening:
            while True:
                try:
                    client, _ = self._listening.accept()
                except OSError:
                    return
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._to / ".s.PGSQL.5432"))
                threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()

    def close(self) -> None:
        """No further ways."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self.join()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        with client, server:
            while True:
                ready, _, _ = select.select([client, server], [], [])
                data = ready[0].recv(65536)
                if not data:
                    return
                if ready[0] is server:
                    client.sendall(data)
                elif self.armed and b"COMMIT" in data:
                    self.armed = False
                    if self._answered:
                        server.sendall(data)
                        server.recv(65536)  # nobody hears of it
                    return
                else:
                    server.sendall(data)


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """One of its own, which a test may kill."""
    with postgres_server() as server:
        yield server


async def begun(db: PostgresDatabase) -> ConversationId:
    conversation = new_conversation()
    await Transcript(db).append(conversation, [ConversationOpened("terminal", "/work")])
    return conversation


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
    cut = (  # idle: whoever connects for the first time is told of a line that breaks, and one that listens is not
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE query LIKE 'SELECT pg_advisory_lock%' AND state = 'idle'"
    )
    while not await there.write(lambda connection: connection.execute(cut).fetchall()):  # noqa: ASYNC110 - until it waits
        await asyncio.sleep(0)
    await Transcript(there).append(conversation, [said("hello")])
    assert [entry.seq for entry in await waiting] == [2]
    here.close()
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
        connection.execute("DROP FUNCTION viewing(); DROP TABLE viewing_key")
        connection.execute("ALTER TABLE leases DROP COLUMN since; DROP TABLE machines; UPDATE format SET version = 1")
        connection.execute("INSERT INTO leases VALUES ('one', 7, 'somebody', '', '', 0)")
    db = PostgresDatabase.open(address, tmp_path)
    query = "SELECT epoch, since, version FROM leases, format"
    assert await db.read(lambda connection: connection.execute(query).fetchall()) == [(7, 0, VERSION)]
    await Machines(db).tell("one", "1", frozenset(), 0)
    db.close()
