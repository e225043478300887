"""The tables in PostgreSQL: those of `store/sql/schema.py`, in its types, with its triggers.

Texts are compared byte by byte (`COLLATE "C"`), as SQLite does it, so both give the same order.
"""

import re
from collections.abc import Sequence

from angelia.store.port import StoreConnection
from angelia.store.postgres.marks import MARKS
from angelia.store.postgres.viewing import VIEWING, VIEWING_OF_DAYS
from angelia.store.sql import schema
from angelia.store.sql.day_sums import DAY_SUMS, IN_POSTGRES

VERSION = 10
"""Of the tables; `format` holds it."""

_TYPES = {"INTEGER": "bigint", "TEXT": 'text COLLATE "C"', "BLOB": "bytea"}

_TRIGGERS = """
CREATE FUNCTION entries_only_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM entries WHERE conversation = NEW.conversation AND seq >= NEW.seq) THEN
        RAISE EXCEPTION 'the log is append-only: an entry comes after all others';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER entries_only_follow BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION entries_only_follow();
CREATE FUNCTION entries_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'the log is append-only: an entry never changes'; END $$;
CREATE TRIGGER entries_never_change BEFORE UPDATE ON entries FOR EACH ROW EXECUTE FUNCTION entries_never_change();
CREATE TRIGGER entries_are_not_emptied BEFORE TRUNCATE ON entries EXECUTE FUNCTION entries_never_change();
CREATE FUNCTION entries_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM conversations WHERE id = OLD.conversation AND erasing IS NOT NULL) THEN
        RAISE EXCEPTION 'the log is append-only: only a whole conversation can be erased';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER entries_stay BEFORE DELETE ON entries FOR EACH ROW EXECUTE FUNCTION entries_stay();
"""

_WORDS = """
CREATE TABLE words (rowid bigint PRIMARY KEY, tokens tsvector NOT NULL, size integer NOT NULL);
CREATE INDEX words_by_token ON words USING gin (tokens);
CREATE TABLE terms (term text COLLATE "C" PRIMARY KEY, doc bigint NOT NULL);
INSERT INTO indexed VALUES (1, 0);
CREATE TABLE words_total (texts bigint NOT NULL, size bigint NOT NULL);
INSERT INTO words_total VALUES (0, 0);
CREATE FUNCTION words_bm25
    (tokens tsvector, size integer, words text[], begin_words boolean[], weights float8[], average float8)
    RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
    SELECT -coalesce(sum(weight * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * size / average))), 0)
    FROM (
        SELECT asked.weight, (
            SELECT sum(cardinality(held.positions)) FROM unnest(tokens) AS held
            WHERE held.lexeme = asked.word OR (asked.begins AND starts_with(held.lexeme, asked.word))
        ) AS often
        FROM unnest(words, begin_words, weights) AS asked (word, begins, weight)
    ) AS counted
$$;
"""

_BY_HOUR = (
    f"ALTER TABLE conversations ADD COLUMN last_hour INTEGER GENERATED ALWAYS AS (last_at / {schema.HOUR_MS}) STORED",
    *schema.LISTED,
)

_BY_DAY = (*DAY_SUMS, *IN_POSTGRES, VIEWING_OF_DAYS)
# Computed by the server, and the same within a minute: an append changes no index (heap-only tuples).
_MINUTE = f"last_at / {schema.MINUTE_MS}"
_BY_MINUTE = (
    *schema.NOT_BY_HOUR,
    f"ALTER TABLE conversations ADD COLUMN last_minute INTEGER GENERATED ALWAYS AS ({_MINUTE}) STORED",
    *schema.BY_LAST_MINUTE,
)

_STEPS: dict[int, Sequence[str]] = {
    1: schema.SECOND,
    2: (VIEWING,),
    3: schema.THIRD,
    4: (MARKS,),
    5: schema.FOURTH,
    6: _BY_HOUR,
    7: _BY_DAY,
    8: _BY_MINUTE,
    9: schema.NINTH,
}
"""What leads from each version to the next."""

_FORMAT = "CREATE TABLE format (one bigint PRIMARY KEY CHECK (one = 1), version bigint NOT NULL)"
_BORN = "INSERT INTO born VALUES (1, CAST(extract(epoch FROM now()) AS bigint));"

COPYING = "CREATE TABLE copying (one bigint)"
"""There while a log is being copied into these tables, which are none until then."""


def exists(connection: StoreConnection) -> bool:
    """Whether there are tables of ours."""
    return connection.execute("SELECT to_regclass('format')").fetchone()[0] is not None


def copying_exists(connection: StoreConnection) -> bool:
    """Whether a log is being copied into them."""
    return connection.execute("SELECT to_regclass('copying')").fetchone()[0] is not None


def creation() -> str:
    """The statements that make an empty store."""
    first = ";".join(map(_in_postgres, schema.TABLES))
    later = ";".join(_in_postgres(statement) for number in range(1, VERSION) for statement in _STEPS[number])
    return f"{_FORMAT};INSERT INTO format VALUES (1, {VERSION});{first};{_TRIGGERS}{_WORDS}{_BORN}{later};"  # noqa: S608


def later_steps(version: int) -> str:
    """The statements that lead from the tables of an earlier version to those of now."""
    missing = [_in_postgres(statement) for number in range(version, VERSION) for statement in _STEPS[number]]
    return ";".join([*missing, f"UPDATE format SET version = {VERSION}"])  # noqa: S608 - a number of ours


def _in_postgres(statement: str) -> str:
    """One of SQLite's `CREATE TABLE` or `CREATE INDEX`.

    >>> _in_postgres("CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a BLOB DEFAULT x'') STRICT, WITHOUT ROWID")
    "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a bytea DEFAULT '')"
    """
    text = statement.replace("INTEGER PRIMARY KEY AUTOINCREMENT", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY")
    text = re.sub(r"\)\s*STRICT(, WITHOUT ROWID)?\s*$", ")", text.strip()).replace("x''", "''")
    return re.sub(r"\b(INTEGER|TEXT|BLOB)\b", lambda found: _TYPES[found.group()], text)
