"""Many writes, one commit: each in a savepoint of its own, none acknowledged before all are durable."""

import sqlite3
from collections.abc import Callable, Sequence

from angelia.core.crash import crash_point
from angelia.store.sql.faults import beyond
from angelia.store.sql.worker_thread import JobFailed

Job = Callable[[sqlite3.Connection], object]

_TRIES = 3
"""How often a busy database is asked for the write lock; SQLite itself waits its patience each time."""


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
) -> list[object]:
    """Run `jobs` in one transaction and commit; returns their results, `JobFailed` for those that raised.

    A job that raises takes back only what it did itself. If the commit fails, all have failed. `committed` is called
    once it is durable, before anybody hears of it.
    """
    try:
        _begin(connection)
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


def _begin(connection: sqlite3.Connection) -> None:
    for left in reversed(range(_TRIES)):
        try:
            connection.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if left == 0 or error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PROTOCOL):
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
