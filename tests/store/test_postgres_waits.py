"""What is waited for at a server: a lock that somebody else has, and a moment in which it turns us away."""

import asyncio
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from angelia.core.entry import ConversationOpened
from angelia.core.errors import StoreBusy, StoreError, StoreUnreachable
from angelia.core.ids import new_conversation
from angelia.store.log.copying import nobody_writes
from angelia.store.log.transcript import Transcript
from angelia.store.port import ResultRows, StoreConnection
from angelia.store.postgres import commits as commits_of_postgres
from angelia.store.postgres import faults
from angelia.store.postgres.commits import LOCK
from angelia.store.postgres.connection import PostgresConnection
from angelia.store.postgres.database import PostgresDatabase
from tests.store.breaking_line import BreakingLine
from tests.store.postgres_server import ASKED, PostgresServer
from tests.store.words import said

pytestmark = [pytest.mark.anyio, pytest.mark.real("postgres")]

TOLD = (
    "Another process keeps the database postgresql:///postgres locked; this one waited for 0.05 seconds. It copies this"
    " store, rebuilds it, or brings it to a newer version: nothing else takes so long. Nothing was written; try again"
    " when that is done, or end that process."
)


@pytest.fixture
def line(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BreakingLine]:
    folder = tmp_path_factory.mktemp("l")
    line = BreakingLine(folder, postgres.folder)
    line.start()
    yield line
    line.close()


def through(line: BreakingLine, address: str, postgres: PostgresServer) -> str:
    return address.replace(str(postgres.folder), str(line.folder))


class Counting:
    """A transaction of which it is known how often the server was asked."""

    def __init__(self, inner: StoreConnection) -> None:
        self._inner, self.asked = inner, 0

    def execute(self, statement: str, values: Sequence[object] = (), /) -> ResultRows:
        self.asked += 1
        return self._inner.execute(statement, values)

    def executemany(self, statement: str, rows: Sequence[Sequence[object]], /) -> object:
        raise AssertionError("nothing is written here")


async def test_who_has_many_leases_is_asked_for_once(postgres: PostgresServer, home: Path) -> None:
    address = postgres.fresh()
    with closing(PostgresDatabase.open(address, home)) as db, closing(PostgresDatabase.open(address, home)) as other:
        ours, theirs = db.presence.name("one"), other.presence.name("two")

        def look(connection: StoreConnection) -> tuple[list[bool], int]:
            clock, later = db.presence.until(connection, 60_000)
            counting = Counting(connection)
            asked = [(ours, clock, later), (theirs, clock, later), ("x", clock, later), (ours, clock, 0), ("", "", 0)]
            return db.presence.held(counting, [*asked, (ours, "another", later)]), counting.asked

        assert await db.read(look) == ([True, True, False, False, False, False], 1)


async def test_who_would_write_while_a_log_is_copied_is_told_and_nothing_is_written(
    postgres: PostgresServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = postgres.fresh()
    with closing(PostgresDatabase.open(address, home)) as copied:
        conversation = new_conversation()
        await Transcript(copied).append(conversation, [ConversationOpened("terminal", "/work")])
        async with nobody_writes(copied):
            monkeypatch.setattr(faults, "LOCKED_MS", 50)
            with closing(PostgresDatabase.open(address, home)) as other:
                log = Transcript(other)
                many = (log.append(conversation, [said("lost")]) for _ in range(3))
                told = await asyncio.gather(*many, return_exceptions=True)
                assert [str(one) for one in told] == [TOLD] * 3
                assert len(await log.entries(conversation)) == 1  # who reads waits for nobody
        with closing(PostgresDatabase.open(address, home)) as other:
            await Transcript(other).append(conversation, [said("kept")])
        assert len(await Transcript(copied).entries(conversation)) == 2


async def test_a_lock_is_waited_for_once_not_once_for_all_jobs_and_once_for_each(
    postgres: PostgresServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    def look(connection: StoreConnection) -> object:
        return connection.execute("SELECT 1").fetchone()

    address = postgres.fresh() + "%20-clog_min_messages%3Derror"
    monkeypatch.setattr(faults, "LOCKED_MS", 50)
    log, waited = postgres.folder / "log", "canceling statement due to lock timeout"
    before = log.read_text().count(waited)
    with closing(PostgresDatabase.open(address, home)) as db:
        assert await db.write(look) == (1,)
        with psycopg.connect(address) as holding:
            holding.execute(LOCK.encode())
            with pytest.raises(StoreBusy):
                await db.write(look)
        assert await db.write(look) == (1,)
    assert log.read_text().count(waited) == before + 1


@pytest.mark.parametrize(("longest_s", "commits"), [(3600.0, 1), (-1.0, 3)], ids=["in time", "too long"])
async def test_what_a_commit_does_not_come_to_in_time_goes_with_the_next_one(
    postgres: PostgresServer, home: Path, monkeypatch: pytest.MonkeyPatch, longest_s: float, commits: int
) -> None:
    monkeypatch.setattr(commits_of_postgres, "_LONGEST_S", longest_s)

    def put(connection: StoreConnection, key: str) -> object:
        connection.execute("INSERT INTO remembered VALUES (?, '')", (key,))
        return connection.execute("SELECT CAST(pg_current_xact_id() AS text)").fetchone()

    with closing(PostgresDatabase.open(postgres.fresh(), home)) as db:
        outcomes = await asyncio.gather(*(db.write(partial(put, key=key)) for key in "abc"))
        rows = await db.read(lambda connection: connection.execute("SELECT key FROM remembered").fetchall())
    assert len(set(outcomes)) == commits
    assert sorted(rows) == [("a",), ("b",), ("c",)]


async def test_who_is_gone_while_it_waits_for_a_lock_is_not_given_it(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    address = postgres.fresh()
    waiting = "SELECT count(*) FROM pg_locks WHERE pid = %s AND locktype = 'advisory' AND NOT granted"

    async def waits(number: int) -> None:
        async with asyncio.timeout(60):
            while holding.execute(waiting, (pid,)).fetchone() != (number,):  # noqa: ASYNC110 - the server tells
                await asyncio.sleep(0.01)

    monkeypatch.setattr(faults, "LOCKED_MS", 3_600_000)
    with psycopg.connect(address) as holding:
        holding.execute(LOCK.encode())
        gone = PostgresConnection.open(address)
        pid = gone.own.info.backend_pid
        with socket.socket(fileno=os.dup(gone.own.fileno())) as line:
            asked = asyncio.create_task(asyncio.to_thread(gone.command, f"BEGIN; {LOCK}"))
            await waits(1)
            line.shutdown(socket.SHUT_RDWR)
        with pytest.raises(psycopg.OperationalError):
            await asked
        await waits(0)


async def test_tables_that_somebody_else_is_about_to_make_are_waited_for_and_then_it_is_told(
    postgres: PostgresServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    address = postgres.fresh()
    monkeypatch.setattr(faults, "LOCKED_MS", 50)
    with psycopg.connect(address) as holding:
        holding.execute(LOCK.encode())
        with pytest.raises(StoreBusy, match="keeps the database"):
            PostgresDatabase.open(address, home)
    PostgresDatabase.open(address, home).close()


@pytest.mark.parametrize("opens", [PostgresDatabase.open, PostgresDatabase.open_to_read], ids=["write", "read"])
async def test_who_is_turned_away_twice_is_let_in_the_third_time(
    postgres: PostgresServer, home: Path, line: BreakingLine, opens: Callable[[str, Path], PostgresDatabase]
) -> None:
    address = postgres.fresh()
    PostgresDatabase.open(address, home).close()
    line.turns_away = 2
    opens(through(line, address, postgres), home).close()
    assert line.came == 3


async def test_a_process_that_is_turned_away_twice_when_it_first_listens_is_let_in(
    postgres: PostgresServer, home: Path, line: BreakingLine
) -> None:
    with closing(PostgresDatabase.open(through(line, postgres.fresh(), postgres), home)) as db:
        line.turns_away = 2
        assert db.presence.name("a driver")
        assert await db.read(lambda connection: db.presence.lives(connection, db.presence.name("")))


async def test_a_server_that_turns_everybody_away_is_asked_three_times(
    postgres: PostgresServer, home: Path, line: BreakingLine
) -> None:
    line.turns_away = 9
    with pytest.raises(StoreUnreachable, match="cannot be reached"):
        PostgresDatabase.open(through(line, postgres.fresh(), postgres), home)
    assert line.came == 3


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("/postgres?", "/nothere?"), 'database "nothere" does not exist'),
        (("angelia@", "nobody@"), 'role "nobody" does not exist'),
        (("angelia@", f"{ASKED}@"), "password authentication failed"),
    ],
    ids=["database", "name", "password"],
)
async def test_what_will_never_be_let_in_is_not_asked_again(
    postgres: PostgresServer, home: Path, line: BreakingLine, wrong: tuple[str, str], said: str
) -> None:
    address = through(line, postgres.fresh(), postgres).replace(*wrong)
    with pytest.raises(StoreError, match="lets nobody in") as told:
        PostgresDatabase.open(address, home, password="p4ssw0rd")
    assert said in str(told.value)
    assert "Look at `store` in the settings" in str(told.value)
    assert line.came == 1
