"""Writes to PostgreSQL: many jobs in one transaction, none told before its commit, one after the other everywhere.

The store's jobs look before they write: whether a key is known, who holds a lease, which number is free. What they find
has to hold until they have committed, and the numbers of entries have to be in the order of the commits, or who reads
on from a number would miss one. So a writer takes a lock of the whole store for its transaction, as SQLite does, and
what waits in this process goes with it. Row locks or serializable transactions would let several writers go at once,
and have them begin again whenever two index pages meet.

What a job does not look at waits for no answer (`PostgresConnection.in_pipeline`), and there is one way back to a place
within a transaction: its beginning. So jobs are run together first. Where one fails that has written, or a statement
does, all is taken back, and they are run again one by one, each behind a savepoint, so that each fails for itself.

When the connection breaks between `COMMIT` and its answer, the mark of the transaction is looked for
(`store.postgres.marks`): so an error says that nothing was written, and a success that it was.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from angelia.core.crash import crash_point
from angelia.store.port import AskingJob, Condition, Job
from angelia.store.postgres.connection import PostgresConnection
from angelia.store.postgres.faults import gone, of_postgres, unreachable
from angelia.store.postgres.marks import Marks, MarkTakenAway, TransactionMark
from angelia.store.sql.worker_thread import JobFailed

CHANNEL = "angelia_committed"
"""Where each commit is told (`LISTEN`)."""
LOCKS = 1_097_754_465
"""The first number of all advisory locks of ours, "Ang!"; the second is of the schema, or of a process."""

LOCK = f"SELECT pg_advisory_xact_lock({LOCKS}, hashtext(current_schema()))"
"""Within a transaction: be the one that writes to the store, until it is over."""
_LOCK_AND_TELL = f"{LOCK}, pg_notify('{CHANNEL}', '')"
_LONGEST_S = 0.25
"""After how long a transaction is to be committed, if there is a choice: others wait for the lock meanwhile, and some
of them to say that they live, or to take over from somebody who does not.
"""
_PAUSE_S = 0.1
"""Between one try to reach a server and the next."""
STOPPED_MS = 2_000
"""How long a transaction may ask the server for nothing: a process that was stopped, or a machine that was cut off, in
the middle of one would keep everybody else from writing for as long. Less than half of what a lease holds, so that
others can renew theirs in time, who wait for each other then; its own jobs are run again when it wakes up.
"""


class _Unknown(Exception):
    """The connection broke when the transaction with this mark was to be committed."""

    def __init__(self, mark: TransactionMark) -> None:
        self.mark = mark
        super().__init__(mark)


class _OneByOne(Exception):
    """A job failed that had written something."""


class _Barred(Exception):
    """That on which each transaction depends does not hold."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        super().__init__(str(error))


class Commits:
    """The writing connection of one process, made anew when it breaks; for one thread.

    `hold` shows on a connection that the process lives, and says whether it could yet.
    """

    def __init__(self, address: str, where: str, patience_s: float, hold: Callable[[PostgresConnection], bool]) -> None:
        self._address, self._where = address, where
        self._patience_s = patience_s
        self._ending = threading.Event()
        self._connection: PostgresConnection | None = None
        self._hold = hold
        self._holds = self._held = False
        self._marks = Marks()
        self._marked = False
        self._sent: TransactionMark | None = None
        self._outcomes: list[object] = []
        self.required: Condition | None = None
        """On what each transaction depends. It asks first and judges last: nobody else writes meanwhile, so what it
        finds holds for all of the jobs, and its answer comes with the first one for which a job waits.
        """
        self._judge: Callable[[], None] | None = None

    def together(self, jobs: Sequence[Job[Any]]) -> list[object]:
        """Run `jobs` in one transaction and commit; returns their results, `JobFailed` for those that raised. Those to
        which it does not come within `_LONGEST_S` have none.

        A job that raises takes back only what it did itself. If the server goes away, it is waited for and they are run
        again; after the patience, all have failed.
        """
        import psycopg

        until = time.monotonic() + self._patience_s
        while True:
            self._sent = None
            try:
                return self._once(jobs)
            except _Unknown as unknown:
                if (known := self._became_of(unknown.mark, until)) is not None:
                    return [JobFailed(known) for _ in jobs] if isinstance(known, Exception) else self._outcomes
            except psycopg.Error as error:
                if not gone(error) or self._is_over(until):
                    return [JobFailed(_told(error, self._where)) for _ in jobs]
            self._drop()
            self._ending.wait(_PAUSE_S)

    def wait_no_more(self) -> None:
        """The process ends: a server that is away is not waited for any longer; from any thread."""
        self._ending.set()

    def close(self) -> None:
        """Let go of the connection."""
        self._drop()

    def _is_over(self, until: float) -> bool:
        return self._ending.is_set() or time.monotonic() > until

    def _once(self, jobs: Sequence[Job[Any]]) -> list[object]:
        import psycopg

        try:
            connection = self._open()
            try:
                connection.in_pipeline(lambda: self._all_at_once(connection, jobs))
            except (_OneByOne, psycopg.Error) as error:
                if gone(error) or isinstance(error, psycopg.errors.LockNotAvailable):
                    raise
                self._roll_back()
                self._one_by_one(connection, jobs)
        except _Barred as barred:
            self._roll_back()
            return [JobFailed(barred.error) for _ in jobs]
        except BaseException as error:
            if self._sent and isinstance(error, Exception) and gone(error):
                raise _Unknown(self._sent) from error
            self._roll_back()
            raise
        self._holds = self._held
        crash_point("append.after_commit")
        return self._outcomes

    def _all_at_once(self, connection: PostgresConnection, jobs: Sequence[Job[Any]]) -> None:
        import psycopg

        connection.execute("BEGIN")
        mark = self._begin(connection)
        for job in self._in_time(_asked_together(connection, jobs)):
            before = connection.changes
            try:
                self._outcomes.append(job(connection))
            except psycopg.Error:
                raise
            except Exception as error:
                if connection.changes > before:
                    raise _OneByOne from error
                self._outcomes.append(JobFailed(error))
        self._end(connection, mark)

    def _one_by_one(self, connection: PostgresConnection, jobs: Sequence[Job[Any]]) -> None:
        self._sent = None
        connection.command("BEGIN")
        mark = self._begin(connection)
        for job in self._in_time(jobs):
            connection.command("SAVEPOINT job")
            self._outcomes.append(_attempt(connection, job, self._where))
            connection.command("RELEASE job")
        self._end(connection, mark)

    def _in_time(self, jobs: Iterable[Job[Any]]) -> Iterator[Job[Any]]:
        until = time.monotonic() + _LONGEST_S
        for job in jobs:
            yield job
            if time.monotonic() > until:
                return

    def _begin(self, connection: PostgresConnection) -> TransactionMark:
        connection.execute(_LOCK_AND_TELL)
        mark = self._marks.leave(connection)
        self._outcomes = []
        self._judge = self.required(connection) if self.required else None
        return mark

    def _end(self, connection: PostgresConnection, mark: TransactionMark) -> None:
        if barred := self._barred():
            raise _Barred(barred)
        self._held = self._holds or self._hold(connection)
        mark.confirm(connection)
        crash_point("append.before_commit")
        self._sent = mark
        connection.commit()

    def _barred(self) -> Exception | None:
        import psycopg

        try:
            if self._judge is not None:
                self._judge()
        except psycopg.Error:
            raise
        except Exception as error:  # noqa: BLE001 - it belongs to those who await the jobs
            return error
        return None

    def _became_of(self, mark: TransactionMark, until: float) -> Exception | bool | None:
        """True if the transaction was committed, None if it was not; an error if nobody can be asked in time."""
        import psycopg

        while True:
            try:
                self._drop()
                connection = self._open()
                connection.command(f"BEGIN; {LOCK}")
                committed = mark.was_committed(connection)
                connection.command("ROLLBACK")
                return committed or None
            except MarkTakenAway:
                self._drop()
                return unreachable(self._where, "it went away at a commit, more than a day ago, which may count or not")
            except psycopg.Error as error:
                if not gone(error) or self._is_over(until):
                    return unreachable(self._where, f"it went away at a commit, which may count or not ({error})")
            self._ending.wait(_PAUSE_S)

    def _open(self) -> PostgresConnection:
        if self._connection is None or self._connection.closed:
            self._connection, self._holds = PostgresConnection.open(self._address), False
            self._connection.command(f"SET idle_in_transaction_session_timeout = {STOPPED_MS}")
        if not self._marked:
            self._connection.command(f"BEGIN; {LOCK}")
            self._marks.begin(self._connection)
            self._connection.command("COMMIT")
            self._marked = True
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


def _asked_together(connection: PostgresConnection, jobs: Sequence[Job[Any]]) -> Iterator[Job[Any]]:
    """The jobs, each after those before it; neighbours that can ask their first question as one have done so."""
    for kind, neighbours in groupby(jobs, type):
        if issubclass(kind, AskingJob):
            yield from kind.asked_together(connection, list(neighbours))
        else:
            yield from neighbours


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
