"""A connection to PostgreSQL that takes the statements of the store: `?` for values, numbers as ints.

By psycopg and not asyncpg: the store's jobs are functions that run in threads, one statement after the other, and to
those asyncpg's event loop costs three times as much for each statement (60 µs, where psycopg takes 20).
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from angelia.store.portable import without_nul

if TYPE_CHECKING:
    import psycopg

    from angelia.store.port import ResultRows

_SETTINGS = {
    "autocommit": True,
    "prepare_threshold": 1,
    "connect_timeout": 5,
    "application_name": "angelia",
    # A machine that is gone without a word is noticed within seconds, by both sides.
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 10_000,
}


class PostgresConnection:
    """See `store.port.StoreConnection`; for one thread at a time. Transactions are begun and ended by `command`."""

    def __init__(self, own: "psycopg.Connection[tuple[Any, ...]]") -> None:
        self.own = own

    @classmethod
    def open(cls, address: str) -> "PostgresConnection":
        """Connect to `address`, a URI of libpq's or its `key=value` form.

        Raises:
            psycopg.Error: it cannot be reached, or lets nobody in.
        """
        import psycopg
        from psycopg.types.numeric import IntLoader

        own = psycopg.connect(address, **cast("Any", _SETTINGS))
        own.adapters.register_loader("numeric", IntLoader)  # sums of bigint; the store has no fractions
        return cls(own)

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> "ResultRows":
        """Run one statement."""
        return self.own.execute(_translated(statement), [_plain(value) for value in values])

    def executemany(self, statement: str, rows: Sequence[Sequence[Any]], /) -> None:
        """Run it once for each row of values, all on their way at once."""
        if rows:
            plain = [[_plain(value) for value in row] for row in rows]
            self.own.cursor().executemany(_translated(statement), plain)

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


@cache
def _translated(statement: str) -> bytes:
    """As psycopg takes it. The store's statements are fixed texts with no `?` in quotes."""
    return statement.replace("%", "%%").replace("?", "%s").encode()


def _plain(value: object) -> object:
    return int(value) if isinstance(value, bool) else without_nul(value)
