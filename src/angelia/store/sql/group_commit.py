"""Many writes, one commit: each in a savepoint of its own, none acknowledged before all are durable."""

import sqlite3
import time
from collections.abc import Callable, Sequence
from itertools import cycle

from angelia.core.crash import crash_point
from angelia.store.sql.faults import beyond
from angelia.store.sql.worker_thread import JobFailed

Job = Callable[[sqlite3.Connection], object]

_TRIES = 3
"""How many times its patience a write waits for another process."""
_WAITS_MS = (0, 0, 0, 0, 2)
"""Milliseconds that SQLite waits for the write lock, each time that it is looked for, over and over. By itself it would
look ever more rarely, at last every 100 ms. Whoever writes on and on lets go of the lock for less than one, and nobody
is woken by that: beside such a process a patient SQLite waited for seconds.
"""


class _Lost(Exception):
    """SQLite rolled the whole transaction back when this `job` failed."""

    def __init__(self, job: Exception) -> None:
        self.job = job
        super().__init__(str(job))


def commit_together(
    connection: sqlite3.Connection,
    jobs: Sequence[Job],
    fault: Callable[[sqlite3.Error], Exception],
    committed: Callable[[], None],
    patience_s: float,
) -> list[object]:
    """Run `jobs` in one transaction and commit; returns their results, `JobFailed` for those that raised.

    A job that raises takes back only what it did itself. If the commit fails, all have failed. `committed` is called
    once it is durable, before anybody hears of it. How long the connection waits by itself is changed.
    """
    try:
        _begin(connection, time.monotonic() + _TRIES * patience_s)
        outcomes = [_attempt(connection, job, fault) for job in jobs]
        crash_point("append.before_commit")
        connection.execute("COMMIT")
    except (sqlite3.Error, _Lost) as error:
        _roll_back(connection)
        reason = error.job if isinstance(error, _Lost) else error
        return [JobFailed(_told(reason, fault)) for _ in jobs]
    except BaseException:
        _roll_back(connection)
        raise
    crash_point("append.after_commit")
    committed()
    return outcomes


def _begin(connection: sqlite3.Connection, until: float) -> None:
    for wait_ms in cycle(_WAITS_MS):
        connection.execute(f"PRAGMA busy_timeout = {wait_ms}")
        try:
            connection.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PROTOCOL)
            if not busy or time.monotonic() > until:
                raise


def _attempt(connection: sqlite3.Connection, job: Job, fault: Callable[[sqlite3.Error], Exception]) -> object:
    connection.execute("SAVEPOINT job")
    try:
        result = job(connection)
    except Exception as error:
        if not connection.in_transaction:  # a full disk, an I/O error: SQLite takes everything back
            raise _Lost(error) from error
        connection.execute("ROLLBACK TO job")
        connection.execute("RELEASE job")
        return JobFailed(_told(error, fault))
    connection.execute("RELEASE job")
    return result


def _told(error: Exception, fault: Callable[[sqlite3.Error], Exception]) -> Exception:
    """What to tell a waiter: an error of its own each time, since a traceback grows with every raise."""
    told = fault(error) if isinstance(error, sqlite3.Error) else error
    told = beyond(error) if isinstance(error, OverflowError) else told
    if told is not error:
        told.__cause__ = error
    return told


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")
