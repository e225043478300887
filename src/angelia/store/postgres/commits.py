"""Writes to PostgreSQL: many jobs in one transaction, none told before its commit, one after the other everywhere.

The store's jobs look before they write: whether a key is known, who holds a lease, which number is free. What they find
has to hold until they have committed, and the numbers of entries have to be in the order of the commits, or who reads
on from a number would miss one. So a writer takes a lock of the whole store for its transaction, as SQLite does, and
what waits in this process goes with it. Row locks or serializable transactions would let several writers go at once,
and have them begin again whenever two index pages meet.

When the connection breaks between `COMMIT` and its answer, nobody knows what became of it, and the server is asked
(`pg_xact_status`, https://www.postgresql.org/docs/current/functions-info.html): so an error says that nothing was
written, and a success that it was. One doubt is left: a server that crashed gives the numbers out again that had not
reached its disk, so a transaction of somebody else that takes ours before we ask, and commits, is taken for ours.
"""

import threading
import time
from collections.abc import Sequence
from typing import Any

from angelia.core.crash import crash_point
from angelia.store.port import Job
from angelia.store.postgres.connection import PostgresConnection
from angelia.store.postgres.faults import gone, of_postgres, unreachable
from angelia.store.sql.worker_thread import JobFailed

CHANNEL = "angelia_committed"
"""Where each commit is told (`LISTEN`)."""
LOCKS = 1_097_754_465
"""The first number of all advisory locks of ours, "Ang!"; the second is of the schema, or of a process."""

_BEGIN = (
    f"BEGIN; SELECT pg_advisory_xact_lock({LOCKS}, hashtext(current_schema())); SAVEPOINT job;"
    " SELECT pg_current_xact_id()::text"
)
"""One way there and back for all of it, as for what stands between two jobs."""
_NEXT = "RELEASE job; SAVEPOINT job"
_COMMIT = f"SELECT pg_notify('{CHANNEL}', ''); COMMIT"
_PAUSE_S = 0.1
"""Between one try to reach a server and the next."""


class _Unknown(Exception):
    """The connection broke when the transaction `number` was to be committed."""

    def __init__(self, number: str) -> None:
        self.number = number
        super().__init__(number)


class Commits:
    """The writing connection of one process, made anew when it breaks; for one thread."""

    def __init__(self, address: str, where: str, patience_s: float) -> None:
        self._address, self._where = address, where
        self._patience_s = patience_s
        self._closing = threading.Event()
        self._connection: PostgresConnection | None = None
        self._outcomes: list[object] = []
        self.required: Job[None] | None = None
        """What each transaction begins with: nobody else writes before its commit, so it holds for all of its jobs."""

    def together(self, jobs: Sequence[Job[Any]]) -> list[object]:
        """Run `jobs` in one transaction and commit; returns their results, `JobFailed` for those that raised.

        A job that raises takes back only what it did itself. If the server goes away, it is waited for and they are run
        again; after the patience, all have failed.
        """
        import psycopg

        until = time.monotonic() + self._patience_s
        while True:
            try:
                return self._once(jobs)
            except _Unknown as unknown:
                if (known := self._became_of(unknown.number, until)) is not None:
                    return [JobFailed(known) for _ in jobs] if isinstance(known, Exception) else self._outcomes
            except psycopg.Error as error:
                if not gone(error) or time.monotonic() > until:
                    return [JobFailed(_told(error, self._where)) for _ in jobs]
            self._drop()
            self._closing.wait(_PAUSE_S)

    def close(self) -> None:
        """Let go of the connection."""
        self._drop()

    def _once(self, jobs: Sequence[Job[Any]]) -> list[object]:
        import psycopg

        connection = self._open()
        ((number,),) = connection.command(_BEGIN)
        try:
            if barred := self._barred(connection):
                self._roll_back()
                return [JobFailed(barred) for _ in jobs]
            self._outcomes = []
            for place, job in enumerate(jobs):
                if place:
                    connection.command(_NEXT)
                self._outcomes.append(_attempt(connection, job, self._where))
            crash_point("append.before_commit")
            try:
                connection.command(_COMMIT)
            except psycopg.Error as error:
                if gone(error):
                    raise _Unknown(number) from error
                raise
        except BaseException:
            self._roll_back()
            raise
        crash_point("append.after_commit")
        return self._outcomes

    def _barred(self, connection: PostgresConnection) -> Exception | None:
        import psycopg

        try:
            if self.required is not None:
                self.required(connection)
        except psycopg.Error:
            raise
        except Exception as error:  # noqa: BLE001 - it belongs to those who await the jobs
            return error
        return None

    def _became_of(self, number: str, until: float) -> Exception | bool | None:
        """True if the transaction was committed, None if it was not; an error if nobody can be asked in time."""
        import psycopg

        while True:
            try:
                self._drop()
                query = "SELECT pg_xact_status(CAST(? AS xid8))"
                (status,) = self._open().execute(query, (number,)).fetchone()
                if status in ("committed", "aborted"):
                    return True if status == "committed" else None
            except psycopg.errors.InvalidParameterValue:
                return None  # a number that is still to come: the server crashed, and what had it is not on its disk
            except psycopg.Error as error:
                if not gone(error) or time.monotonic() > until:
                    return unreachable(self._where, f"it went away at a commit, which may count or not ({error})")
            self._closing.wait(_PAUSE_S)

    def _open(self) -> PostgresConnection:
        if self._connection is None or self._connection.closed:
            self._connection = PostgresConnection.open(self._address)
        return self._connection

    def _roll_back(self) -> None:
        import psycopg

        if self._connection is None or self._connection.closed:
            return
        try:
            self._connection.command("ROLLBACK")
        except psycopg.Error:
            self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _attempt(connection: PostgresConnection, job: Job[Any], where: str) -> object:
    """What a job gives, behind the savepoint to which it is taken back if it raises."""
    import psycopg

    try:
        return job(connection)
    except Exception as error:
        if gone(error):
            raise
        connection.command("ROLLBACK TO job")
        return JobFailed(_told(error, where) if isinstance(error, psycopg.Error) else error)


def _told(error: Exception, where: str) -> Exception:
    """What to tell a waiter: an error of its own each time, since a traceback grows with every raise."""
    import psycopg

    told = of_postgres(error, where) if isinstance(error, psycopg.Error) else error
    if told is not error:
        told.__cause__ = error
    return told
