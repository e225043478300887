"""A connection to PostgreSQL that takes the statements of the store: `?` for values, numbers as ints.

By psycopg and not asyncpg: the store's jobs are functions that run in threads, one statement after the other, and to
those asyncpg's event loop costs three times as much for each statement (60 µs, where psycopg takes 20).
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from angelia.store.portable import without_nul
from angelia.store.postgres import faults

if TYPE_CHECKING:
    import psycopg

    from angelia.store.port import ResultRows

T = TypeVar("T")

_SETTINGS = {
    "autocommit": True,
    "prepare_threshold": 1,
    "connect_timeout": 5,
    "application_name": "angelia",
    # A server that is gone without a word is noticed within seconds.
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 10_000,
}

_ENDS_WITH_THE_MACHINE = (
    b"SET tcp_keepalives_idle = 1; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 2;"
    b" SET tcp_user_timeout = 1500; SET client_connection_check_interval = 500"
)
"""The server ends a session after two seconds where our machine has no power or no network, and could not say so: it
asks after a second of silence, and has no answer at the next (Linux looks at `tcp_user_timeout` then, no longer at the
count). What it sends is to be acknowledged within 1.5 seconds. Where it waits for a lock it looks each half second, so
that nobody is given one who is gone.

Others see by the session that we live: a line that is lost with a packet is made anew, and nobody believes that we are
gone before both were away for a second. The server asks the kernel, so a process that hangs is not meant. By its own
settings it waits for hours (https://www.postgresql.org/docs/current/runtime-config-connection.html).
"""


class PostgresConnection:
    """See `store.port.StoreConnection`; for one thread at a time. Transactions are begun and ended by `command`."""

    def __init__(self, own: "psycopg.Connection[tuple[Any, ...]]") -> None:
        self.own = own
        self.changes = 0
        """How many statements were run that are no questions."""
        self._pipeline: psycopg.Pipeline | None = None
        self._ending: psycopg.Cursor[tuple[Any, ...]] | None = None

    @classmethod
    def open(cls, address: str) -> "PostgresConnection":
        """Connect to `address`, a URI of libpq's or its `key=value` form.

        Raises:
            psycopg.Error: it cannot be reached, or lets nobody in.
        """
        import psycopg
        from psycopg.types.numeric import IntLoader

        own = psycopg.connect(address, **cast("Any", _SETTINGS))
        own.execute(_ENDS_WITH_THE_MACHINE, prepare=False)
        own.execute(f"SET lock_timeout = {faults.LOCKED_MS}".encode(), prepare=False)
        own.adapters.register_loader("numeric", IntLoader)  # sums of bigint; the store has no fractions
        return cls(own)

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> "ResultRows":
        """Run one statement. Within `in_pipeline` it is only on its way until its rows are asked for."""
        text, changes = _translated(statement)
        self.changes += changes
        cursor = self.own.execute(text, [_plain(value) for value in values])
        return _RowsToCome(cursor, self._pipeline) if self._pipeline else cursor

    def executemany(self, statement: str, rows: Sequence[Sequence[Any]], /) -> None:
        """Run it once for each row of values, all on their way at once."""
        if rows:
            self.changes += 1
            plain = [[_plain(value) for value in row] for row in rows]
            self.own.cursor().executemany(_translated(statement)[0], plain)

    def commit(self) -> None:
        """End the transaction; within `in_pipeline`, with whose end it is committed.

        Raises:
            psycopg.Error: it was not, or nobody knows (`faults.gone`).
        """
        self._ending = self.own.execute(b"COMMIT", prepare=False)
        if self._pipeline is None:
            self._require_committed()

    def in_pipeline(self, work: Callable[[], T]) -> T:
        """Do `work` with statements that wait for no answer; returns when all of them have one.

        The first one that fails ends the transaction, and is raised by a later one, or at the end.

        Raises:
            psycopg.Error: one of them failed. And whatever `work` raises.
        """
        import psycopg

        failure: BaseException | None = None
        try:
            with self.own.pipeline() as self._pipeline:
                try:
                    result = work()
                except BaseException as error:  # noqa: BLE001 - raised below: psycopg logs what else fails on its way out
                    failure = error
        except psycopg.Error as error:
            raise failure or error from None
        finally:
            self._pipeline = None
        if failure is not None:
            raise failure
        self._require_committed()
        return result

    def _require_committed(self) -> None:
        """PostgreSQL answers a `COMMIT` of what has failed with `ROLLBACK`, which is no error."""
        import psycopg

        ending, self._ending = self._ending, None
        if ending is not None and ending.statusmessage != "COMMIT":
            raise psycopg.errors.InFailedSqlTransaction("a statement failed, and nobody looked at it")

    def command(self, text: str) -> list[tuple[Any, ...]]:
        """Run fixed statements that take no values, several in one way there and back; the rows of the last one."""
        cursor = self.own.execute(text.encode(), prepare=False)
        while cursor.nextset():
            pass
        return cursor.fetchall() if cursor.description else []

    @property
    def closed(self) -> bool:
        """Whether it is of no use any more."""
        return self.own.closed

    def close(self) -> None:
        """Let go of it."""
        self.own.close()


class _RowsToCome:
    """See `store.port.ResultRows`; each question waits for what was sent so far.

    It asks for it by a `Sync` and not by a `Flush`, which psycopg would send: after that one the server takes us to be
    at work for ever, and ends no transaction whose process is stopped (`idle_in_transaction_session_timeout`).
    """

    def __init__(self, cursor: "psycopg.Cursor[tuple[Any, ...]]", pipeline: "psycopg.Pipeline") -> None:
        self._cursor, self._pipeline = cursor, pipeline

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""
        return self._answered().rowcount

    def fetchone(self) -> Any:
        """The next row."""
        return self._answered().fetchone()

    def fetchall(self) -> list[Any]:
        """The rows that are left."""
        return self._answered().fetchall()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._answered())

    def _answered(self) -> "psycopg.Cursor[tuple[Any, ...]]":
        if self._cursor.pgresult is None:
            self._pipeline.sync()
        return self._cursor


@cache
def _translated(statement: str) -> tuple[bytes, bool]:
    """As psycopg takes it, and whether it changes something. The store's statements are fixed texts with no `?` in
    quotes.
    """
    changes = not statement.lstrip().startswith("SELECT")
    return statement.replace("%", "%%").replace("?", "%s").encode(), changes


def _plain(value: object) -> object:
    if type(value) is int or type(value) is bytes:  # most are
        return value
    return int(value) if isinstance(value, bool) else without_nul(value)
