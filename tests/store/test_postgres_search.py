"""How PostgreSQL finds words: by their index, whatever its planner thinks of them."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import pytest

from angelia.core.principal import OWNER, Principal
from angelia.store.log.search import search
from angelia.store.port import Haste, Job, ResultRows, StoreConnection
from angelia.store.postgres.database import PostgresDatabase
from tests.store.postgres_server import PostgresServer

pytestmark = [pytest.mark.anyio, pytest.mark.real("postgres")]

T = TypeVar("T")

ANN = Principal("telegram", "4711")
TEXTS, NEWEST, WANTED = 60_000, 20_000, 100
# Everybody says "hello"; of "seldom" the server keeps no figures, and takes it to be in one text of 200.
FILL = f"""
ALTER TABLE entries DISABLE TRIGGER USER;
INSERT INTO conversations (id, opened_at, door, owner, workspace, sandbox, place, last_seq)
    SELECT 'c' || n, 0, 'telegram', 'telegram:' || 4711 + n % 10, '/', '', '', {TEXTS} / 100
    FROM generate_series(0, 99) AS n;
INSERT INTO entries (conversation, seq, at, epoch, version, kind, body, sum)
    SELECT 'c' || n % 100, n / 100 + 1, 0, 0, 1, 'UserSaid', '', '' FROM generate_series(0, {TEXTS} - 1) AS n
    ORDER BY n;
INSERT INTO words SELECT n, CASE WHEN n IN (1, 11, 30001) THEN tsvector 'seldom' ELSE 'hello bird' END, 2
    FROM generate_series(1, {TEXTS}) AS n;
UPDATE indexed SET upto = {TEXTS};
VACUUM ANALYZE
"""


class Explaining:
    """A transaction of which it is known how many texts each look for words has read."""

    def __init__(self, inner: StoreConnection, read: list[int]) -> None:
        self._inner, self._read = inner, read

    def execute(self, statement: str, values: Sequence[object] = (), /) -> ResultRows:
        if "tsquery" in statement:
            [(told,)] = self._inner.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", values)
            self._read.append(texts_read(told[0]["Plan"]))
        return self._inner.execute(statement, values)

    def executemany(self, statement: str, rows: Sequence[Sequence[object]], /) -> object:
        raise AssertionError("nothing is written here")


def texts_read(plan: dict[str, Any]) -> int:
    """How many, by what the server says that it did."""
    below = sum(map(texts_read, plan.get("Plans", ())))
    if plan.get("Relation Name") != "words":
        return below
    return below + int((plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * plan["Actual Loops"])


class Explained(PostgresDatabase):
    """One whose reads say how many texts they have read."""

    texts: list[int]

    async def read(self, job: Job[T], viewer: Principal = OWNER, haste: Haste = Haste.USUAL) -> T:
        return await super().read(lambda connection: job(Explaining(connection, self.texts)), viewer, haste)


@pytest.mark.soak
async def test_texts_are_looked_through_one_by_one_only_where_they_are_the_newest(
    postgres: PostgresServer, home: Path
) -> None:
    import psycopg

    address = postgres.fresh()
    with closing(Explained.open(address, home)) as db:
        assert isinstance(db, Explained)
        with psycopg.connect(address, autocommit=True) as connection:
            for statement in FILL.strip().split(";\n"):
                connection.execute(statement.encode())
        for viewer in (OWNER, ANN):
            for query in ("nobody", "nobo*", "seldom", "hello nobody", "hello"):
                db.texts = []
                await search(db, viewer, query)
                assert db.texts
                assert sum(db.texts) <= NEWEST + 2 * WANTED, (viewer, query, db.texts)
