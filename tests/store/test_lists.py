"""A list of conversations reads those of some minutes by an index, however many there are, and never all of them."""

from collections.abc import Awaitable, Callable

import pytest

from angelia.core import entry as e
from angelia.core.ids import ConversationId, PlaceId
from angelia.core.principal import OWNER, Principal
from angelia.store.log.transcript import Mark, Summary, Transcript
from angelia.store.port import LogStore, StoreConnection
from angelia.store.tables.outbox import Outbox
from angelia.store.tables.people import KnownPeople
from angelia.store.tables.spendings import Spendings
from tests.store.work import Look, steps

pytestmark = pytest.mark.anyio

MINUTE = 60_000
ANN = Principal("chat", "ann")
LISTS: dict[str, tuple[Callable[[Transcript], Awaitable[list[Summary]]], str]] = {
    "all": (lambda log: log.conversations(OWNER), "conversations_by_use"),
    "the next page": (lambda log: log.conversations(OWNER, before=Mark(5 * MINUTE, "x")), "conversations_by_use"),
    "one's own": (lambda log: log.conversations(ANN), "conversations_by_owner"),
    "one owner's": (lambda log: log.conversations(OWNER, owner=ANN), "conversations_by_owner"),
    "a folder's": (lambda log: log.conversations(OWNER, workspace="/work"), "conversations_by_workspace"),
    "a door's": (lambda log: log.conversations(OWNER, door="terminal"), "conversations_by_door"),
}
LOOKS: dict[str, tuple[Look, str]] = {
    "a place's conversations": (lambda db: Transcript(db).in_place(OWNER, PlaceId("one")), "conversations_by_place"),
    "whoever works in a folder": (lambda db: Transcript(db).works_in("/work"), "conversations_by_workspace"),
    "an owner's newest one": (lambda db: Transcript(db).newest(OWNER), "SCAN e"),
    "what one has cost": (lambda db: Transcript(db).spent(OWNER, 0, ConversationId("one")), "SEARCH spending_in_days"),
    "what all have cost": (lambda db: Transcript(db).spent(OWNER, 7), "SEARCH spending_days"),
    "what was paid each day": (lambda db: Spendings(db).by_day(OWNER, 7), "SEARCH spending_days"),
    "what was sent last": (lambda db: Outbox(db).newest(OWNER, 20), "outbox_by_place"),
    "what is to be sent, or failed": (lambda db: Outbox(db).counts("chat"), "outbox_doubtful"),
    "who is known": (lambda db: KnownPeople(db).known(), "COVERING INDEX conversations_by_owner"),
}
"""What else is asked of all conversations, and what tells in its plan that no table is read whole."""


class Noting:
    """Notes what a connection is asked, and passes it on."""

    def __init__(self, connection: StoreConnection, asked: list[tuple[str, tuple[object, ...]]]) -> None:
        self._connection, self._asked = connection, asked

    def execute(self, statement: str, values: tuple[object, ...] = ()) -> object:
        """See `StoreConnection`."""
        self._asked.append((statement, values))
        return self._connection.execute(statement, values)


async def asked_by(db: LogStore, look: Look, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How the store finds what a look asks for, a line each."""
    asked: list[tuple[str, tuple[object, ...]]] = []
    read = db.read
    with monkeypatch.context() as patched:
        patched.setattr(db, "read", lambda job, *viewer: read(lambda one: job(Noting(one, asked)), *viewer))
        await look(db)
    ((statement, values),) = asked
    return await db.read(lambda connection: _plan(connection, statement, values))


def _plan(connection: StoreConnection, statement: str, values: tuple[object, ...]) -> list[str]:
    if type(connection).__module__ == "sqlite3":
        return [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    for way in ("seqscan", "bitmapscan", "sort"):  # which it takes for a table that small
        connection.execute(f"SET LOCAL enable_{way} = off")
    return [str(row[0]) for row in connection.execute(f"EXPLAIN {statement}", values)]


@pytest.mark.parametrize("name", LISTS)
async def test_a_list_is_read_by_an_index_and_sorted_within_the_minute_alone(
    db: LogStore, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, index = LISTS[name]
    plan = await asked_by(db, lambda db: look(Transcript(db)), monkeypatch)
    assert len(plan) == 2, plan
    assert index in plan[0], plan
    assert "RIGHT PART OF ORDER BY" in plan[1] or "LAST 2 TERMS OF ORDER BY" in plan[1], plan


async def test_what_was_used_in_the_same_hour_is_not_sorted_to_list_some(
    db: LogStore, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def use(name: str, minute: int) -> None:
        at = 9 * 60 * MINUTE + minute * MINUTE
        await transcript.append(ConversationId(name), [e.ConversationOpened("terminal", "/work")], at=[at])

    for number in range(60):
        await use(f"a{number:03}", number)
    few = await steps(db, lambda db: Transcript(db).conversations(OWNER, limit=20), monkeypatch)
    for number in range(300):
        await use(f"b{number:03}", number % 40)
    assert 0 < await steps(db, lambda db: Transcript(db).conversations(OWNER, limit=20), monkeypatch) < 2 * few


@pytest.mark.parametrize("engine", ["postgresql"])
@pytest.mark.parametrize("name", LISTS)
async def test_postgresql_does_so_too(db: LogStore, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    look, index = LISTS[name]
    plan = "\n".join(await asked_by(db, lambda db: look(Transcript(db)), monkeypatch))
    assert index in plan, plan
    assert "Incremental Sort" in plan, plan


@pytest.mark.parametrize("name", LOOKS)
async def test_a_look_reads_no_table_whole(db: LogStore, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    look, told = LOOKS[name]
    plan = await asked_by(db, look, monkeypatch)
    assert any(told in line for line in plan), plan
    whole = [
        line for line in plan if line.startswith(("SCAN conv", "SCAN out", "SCAN spending")) and "USING" not in line
    ]
    assert whole == [], plan


async def test_what_is_used_again_is_listed_where_it_is_used_now(db: LogStore, transcript: Transcript) -> None:
    """A minute is written down once, not with each entry: and with the first one of the next."""
    names = [ConversationId(name) for name in ("one", "two", "three")]
    for number, name in enumerate(names):
        await transcript.append(name, [e.ConversationOpened("terminal", "/work")], at=[number * MINUTE])
    await transcript.append(names[0], [e.CancelAsked(OWNER), e.CancelAsked(OWNER)], at=[9 * MINUTE, 9 * MINUTE + 1])
    await transcript.append(names[1], [e.CancelAsked(OWNER)], at=[9 * MINUTE])
    assert [one.id for one in await transcript.conversations(OWNER)] == ["one", "two", "three"]
    query = "SELECT id, last_minute FROM conversations ORDER BY id"
    minutes = await db.read(lambda connection: connection.execute(query).fetchall())
    assert [tuple(row) for row in minutes] == [("one", 9), ("three", 2), ("two", 9)]


@pytest.mark.parametrize("engine", ["postgresql"])
async def test_an_entry_of_the_same_minute_writes_no_index_of_conversations(
    db: LogStore, transcript: Transcript, conversation: ConversationId
) -> None:
    """PostgreSQL calls it heap-only; one with a new minute is none."""

    def heap_only(connection: StoreConnection) -> int:
        counted = "SELECT pg_stat_get_xact_tuples_hot_updated('conversations'::regclass)"
        return int(connection.execute(counted).fetchone()[0])

    def use(connection: StoreConnection, at: int) -> int:
        before = heap_only(connection)
        connection.execute("UPDATE conversations SET last_at = ? WHERE id = ?", (at, conversation))
        return heap_only(connection) - before

    await db.write(lambda connection: use(connection, 9 * MINUTE))
    assert await db.write(lambda connection: use(connection, 9 * MINUTE + 1)) == 1
    assert await db.write(lambda connection: use(connection, 10 * MINUTE)) == 0
