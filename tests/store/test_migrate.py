"""Databases move forward only, and leave a copy behind."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from angelia.core.days import DAY_MS
from angelia.core.errors import StoreError
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER
from angelia.store.log.transcript import Transcript
from angelia.store.sql import schema
from angelia.store.sql.database import FILE, Database
from angelia.store.sql.day_sums import COLUMNS, IN_SQLITE
from angelia.store.sql.migrate import STEPS, migrate
from angelia.store.sql.schema import UNKEPT
from angelia.store.tables.spendings import PaidFor, PaidIn, Spendings

HOUR = schema.HOUR_MS
SECOND_THAT_FAILS = ("CREATE TABLE later (x INTEGER) STRICT", "INSERT INTO nowhere VALUES (1)")


@pytest.fixture
def path(home: Path) -> Path:
    """A database of this version with something in it."""
    Database.open(home).close()
    connection = sqlite3.connect(home / FILE)
    connection.execute("INSERT INTO remembered VALUES ('a', 'b')")
    connection.commit()
    connection.close()
    return home / FILE


def connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_there_is_a_step_to_every_version() -> None:
    assert len(STEPS) == schema.VERSION


def test_an_older_database_is_copied_and_brought_forward(path: Path) -> None:
    connection = connect(path)
    migrate(connection, path, (*STEPS, ("CREATE TABLE later (x INTEGER) STRICT", "INSERT INTO later VALUES (1)")))
    assert version(connection) == schema.VERSION + 1
    assert connection.execute("SELECT x FROM later").fetchall() == [(1,)]
    connection.close()
    copy = connect(path.with_name(f"angelia.db.v{schema.VERSION}"))
    assert version(copy) == schema.VERSION
    assert copy.execute("SELECT * FROM remembered").fetchall() == [("a", "b")]
    copy.close()


def of_version_six(path: Path) -> None:
    """A log in which was paid, and in a conversation that is erased as well, before it was added up by day."""
    connection = connect(path)
    _with_hours(connection)
    _without_day_sums(connection)
    connection.execute("PRAGMA user_version = 6")
    _converse(connection)
    one = "INSERT INTO spending VALUES (?, ?, ?, ?, 'm', ?, 5, 2, 0, 0)"
    connection.executemany(one, [(3, "one", 2, "owner", 70), (DAY_MS, "one", 4, "owner", -1), (4, "two", 2, "ann", 9)])
    connection.execute("INSERT INTO spending_erased VALUES (8, 'owner', 'm', 100, 1, 1, 0, 0)")
    connection.close()


def _with_hours(connection: sqlite3.Connection) -> None:
    """As versions 6 and 7 list conversations, with what came after 7 taken out."""
    connection.execute("ALTER TABLE leases DROP COLUMN rested")
    connection.execute("DROP TRIGGER conversations_by_minute")
    for index in schema.BY_LAST_MINUTE:
        connection.execute(f"DROP INDEX {index.split()[2]}")
    connection.execute("ALTER TABLE conversations DROP COLUMN last_minute")
    connection.execute("ALTER TABLE conversations DROP COLUMN last_hour")
    of_version_six = [one for one in schema.SIXTH if "conversations" in one and "_by_place" not in one]
    for statement in of_version_six:
        connection.execute(statement)


def _without_day_sums(connection: sqlite3.Connection) -> None:
    for trigger in IN_SQLITE:
        connection.execute(f"DROP TRIGGER {trigger.split()[2]}")
    for table in COLUMNS:
        connection.execute(f"DROP TABLE {table}")


async def paid(db: Database) -> object:
    """What was paid in it, in each way in which it is asked."""
    with closing(db):
        spendings = Spendings(db)
        return await spendings.by_day(OWNER, 0), await spendings.by_conversation(OWNER, 0, 5)


PAID = (
    [PaidFor(0, "m", 179, 11, 5, 0), PaidFor(DAY_MS, "m", 0, 5, 2, 1)],
    [
        PaidIn(ConversationId("one"), "", "terminal", 70, 10, 4, 1),
        PaidIn(ConversationId("two"), "", "terminal", 9, 5, 2, 0),
    ],
)


@pytest.mark.anyio
async def test_what_was_paid_before_it_was_added_up_by_day_is_added_up(path: Path) -> None:
    of_version_six(path)
    assert await paid(Database.open(path.parent)) == PAID
    connection = connect(path)
    connection.execute("INSERT INTO spending VALUES (9, 'two', 3, 'ann', 'm', 1, 0, 0, 0, 0)")
    assert connection.execute("SELECT cost FROM spending_days WHERE principal = 'ann'").fetchall() == [(10,)]
    connection.close()


@pytest.mark.anyio
async def test_who_only_reads_adds_it_up_itself(path: Path) -> None:
    of_version_six(path)
    assert await paid(Database.open_to_read(path.parent)) == PAID
    connection = connect(path)
    assert version(connection) == 6
    connection.close()


def of_version_five(path: Path) -> None:
    """A log of three conversations, as the version before the hours of their last use left it."""
    connection = connect(path)
    _with_hours(connection)
    _without_day_sums(connection)
    connection.execute("DROP TRIGGER conversations_by_hour")
    for index in schema.LISTED:
        connection.execute(f"DROP INDEX {index.split()[2]}")
    connection.execute("ALTER TABLE conversations DROP COLUMN last_hour")
    connection.execute("PRAGMA user_version = 5")
    _converse(connection)
    connection.close()


def _converse(connection: sqlite3.Connection) -> None:
    for name, at in (("one", 5 * HOUR), ("two", 7 * HOUR + 1), ("three", 6 * HOUR)):
        connection.execute(
            "INSERT INTO conversations (id, opened_at, door, owner, workspace, sandbox, place, last_at)"
            " VALUES (?, 0, 'terminal', 'owner', '/work', 'local', ?, ?)",
            (name, name, at),
        )


async def listed(db: Database) -> list[str]:
    """Its conversations, those used last first."""
    with closing(db):
        return [one.id for one in await Transcript(db).conversations(OWNER)]


@pytest.mark.anyio
async def test_a_log_of_before_the_minutes_of_last_use_is_brought_forward(path: Path) -> None:
    of_version_five(path)
    assert await listed(Database.open(path.parent)) == ["two", "three", "one"]
    connection = connect(path)
    assert connection.execute("SELECT id, last_minute FROM conversations ORDER BY id").fetchall() == [
        ("one", 300),
        ("three", 360),
        ("two", 420),
    ]
    made = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    connection.close()
    assert {"conversations_by_minute", *(index.split()[2] for index in schema.LISTED)} <= made


def test_a_process_of_before_goes_on_beside_it(path: Path) -> None:
    """It lists conversations by the hour of their last use, as it did, and what it writes is added up."""
    of_version_six(path)
    of_before = connect(path)
    of_before.execute("UPDATE conversations SET last_at = last_at")
    listed = "SELECT id, last_hour FROM conversations WHERE last_hour <= 6 ORDER BY last_hour DESC, last_at DESC"
    assert of_before.execute(listed).fetchall() == [("three", 6), ("one", 5)]
    Database.open(path.parent).close()
    assert of_before.execute(listed).fetchall() == [("three", 6), ("one", 5)]
    of_before.execute("UPDATE conversations SET last_at = ? WHERE id = 'two'", (6 * HOUR + 2,))
    assert of_before.execute(listed).fetchall() == [("two", 6), ("three", 6), ("one", 5)]
    of_before.execute("UPDATE leases SET presence = '', expires = 0 WHERE conversation = 'one' AND epoch = 1")
    of_before.execute("INSERT INTO spending VALUES (9, 'two', 3, 'ann', 'm', 1, 0, 0, 0, 0)")
    assert of_before.execute("SELECT cost FROM spending_days WHERE principal = 'ann'").fetchall() == [(10,)]
    of_before.close()


@pytest.mark.anyio
async def test_who_only_reads_reads_it_as_it_is(path: Path) -> None:
    of_version_five(path)
    assert await listed(Database.open_to_read(path.parent)) == ["two", "three", "one"]
    connection = connect(path)
    assert version(connection) == 5
    connection.close()


def test_a_step_that_fails_leaves_the_database_as_it_was(path: Path) -> None:
    connection = connect(path)
    with pytest.raises(sqlite3.OperationalError, match="no such table: nowhere"):
        migrate(connection, path, (*STEPS, SECOND_THAT_FAILS))
    assert version(connection) == schema.VERSION
    assert connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'later'").fetchone() == (0,)
    connection.close()


def test_a_newer_database_is_refused_and_left_alone(path: Path) -> None:
    connection = connect(path)
    connection.execute("PRAGMA user_version = 10")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="store format 10, and this Angelia knows formats up to 9"):
        Database.open(path.parent)
    assert path.read_bytes() == before


def test_a_database_of_before_the_first_release_is_refused_and_left_alone(path: Path) -> None:
    connection = connect(path)
    connection.execute(f"PRAGMA application_id = {UNKEPT}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="before the first release"):
        Database.open(path.parent)
    assert path.read_bytes() == before


def test_nobody_meets_a_database_between_two_versions(home: Path) -> None:
    home.mkdir()
    new, other = connect(home / FILE), connect(home / FILE)
    new.execute("PRAGMA journal_mode = WAL")
    met: list[int] = []
    new.create_function("look", 0, lambda: met.append(version(other)))
    migrate(new, home / FILE, (*STEPS, ("SELECT look()",)))
    assert met == [0]
    assert version(other) == len(STEPS) + 1
    assert not list(home.glob("*.v*")), "what is new is no older database to be copied"
    new.close()
    other.close()


def test_two_processes_that_migrate_at_once_apply_each_step_once_and_keep_the_older_copy(path: Path) -> None:
    steps = (*STEPS, ("CREATE TABLE later (x INTEGER) STRICT", "INSERT INTO later VALUES (1)"))
    one, two = connect(path), connect(path)

    def quicker(statement: str) -> None:
        if statement == "BEGIN IMMEDIATE":
            migrate(one, path, steps)

    two.set_trace_callback(quicker)
    migrate(two, path, steps)
    assert two.execute("SELECT x FROM later").fetchall() == [(1,)]
    one.close()
    two.close()
    copy = connect(path.with_name(f"angelia.db.v{schema.VERSION}"))
    assert version(copy) == schema.VERSION
    copy.close()
