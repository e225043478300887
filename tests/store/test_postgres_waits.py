"""What is waited for at a server: a lock that somebody else has, and a moment in which it turns us away."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from angelia.core.entry import ConversationOpened
from angelia.core.errors import StoreBusy, StoreError, StoreUnreachable
from angelia.core.ids import new_conversation
from angelia.store.log.copying import nobody_writes
from angelia.store.log.transcript import Transcript
from angelia.store.port import StoreConnection
from angelia.store.postgres import faults
from angelia.store.postgres.commits import LOCK
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
