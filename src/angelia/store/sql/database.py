"""The one module that opens the SQLite file: one connection that writes, one that reads, each with its thread."""

import os
import sqlite3
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar, cast

from angelia.core.errors import StoreError
from angelia.core.ids import Clock, wall_clock
from angelia.store.presence import Presence, alive
from angelia.store.sql.faults import explained, of_sqlite
from angelia.store.sql.group_commit import commit_together
from angelia.store.sql.migrate import migrate
from angelia.store.sql.schema import FIRST
from angelia.store.sql.worker_thread import JobFailed, WorkerThread

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]

FILE = "angelia.db"
_OLDEST_SQLITE = (3, 37, 0)
"""STRICT tables, https://sqlite.org/stricttables.html."""
_PAGES_KEPT_KIB = 1024
"""Of the file, for each connection; half of what SQLite would keep, since the system holds the whole file anyway."""
_LOG_KEPT = 64 * 1024 * 1024
"""Bytes that the write-ahead log may keep on disk after a checkpoint."""
_TOGETHER = 1024
"""Writes in one transaction, at most."""


class Database:
    """A home's database. Made by `open`; one per process and home.

    Jobs are functions of a connection. They run in a thread, so they must not touch what the event loop touches.
    """

    def __init__(self, home: Path, clock: Clock, patience_s: float, writer: sqlite3.Connection) -> None:
        self.home, self.clock = home, clock
        self.presence = Presence(home / "alive")
        self._patience_s = patience_s
        self._writer: sqlite3.Connection = writer
        self._reader: sqlite3.Connection | None = None
        self._writes: WorkerThread[Job[object]] = WorkerThread("angelia-writes", self._commit, most=_TOGETHER)
        self._reads: WorkerThread[Job[object]] = WorkerThread("angelia-reads", self._look, most=1)

    @classmethod
    def open(cls, home: Path, *, clock: Clock = wall_clock, patience_s: float = 5.0) -> "Database":
        """Open the database in `home`, which is made (for its owner alone) when it is not there.

        `clock` dates entries. `patience_s` is how long, in seconds, SQLite waits for another process each time.

        Raises:
            StoreReadOnly, StoreFull, StoreBusy, StoreDamaged: as they say; nothing was changed.
            StoreError: a newer Angelia wrote it, it is not a database of ours, or Python's SQLite is older than 3.37.
        """
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise StoreError(
                f"The store needs SQLite 3.37 or newer; this Python has {sqlite3.sqlite_version}.",
                then="Use a Python that was built with a newer one; those of uv and python.org are.",
            )
        with explained(home):
            _make_home(home)
            writer = _connect(home / FILE, patience_s)
            try:
                migrate(writer, home / FILE)
            except BaseException:
                writer.close()
                raise
        return cls(home, clock, patience_s, writer)

    async def write(self, job: Job[T], *, patient: bool = False) -> T:
        """Run `job` inside a transaction and return its result once that is durably committed. One that is `patient`
        waits some milliseconds for another to share its commit.

        Jobs run one after the other, many to a commit; one that raises is undone and disturbs no other.
        Cancelling the wait does not undo the write.

        Raises:
            StoreFull, StoreReadOnly, StoreBusy, StoreDamaged: nothing was written. And whatever `job` raises.
        """
        return cast("T", await self._writes.run(job, patient=patient))

    async def read(self, job: Job[T]) -> T:
        """Run `job` on a consistent state that holds every write acknowledged so far.

        Raises:
            StoreBusy, StoreDamaged: it cannot be read. And whatever `job` raises.
        """
        return cast("T", await self._reads.run(lambda connection: _at_one_moment(connection, job)))

    async def data_version(self) -> int:
        """A number that changes when anybody, this process or another, has committed something."""
        return cast("int", await self._reads.run(_data_version))

    async def checkpoint(self) -> None:
        """Move the write-ahead log into the database and cut it, so that erased text does not linger there.

        Other processes that read at this moment may put it off to the next one.
        """
        await self._reads.run(lambda _: self._cut_log())

    async def copy_to(self, path: Path, look: Job[T]) -> T:
        """Write a consistent copy of the database, while others go on writing; returns what `look` finds in the copy.

        Raises:
            StoreFull, StoreReadOnly: it cannot be written there.
        """
        return cast("T", await self._reads.run(lambda connection: _copy(connection, path, look)))

    def close(self) -> None:
        """Finish queued writes, then let go of the file. Further calls raise."""
        self._writes.close()
        self._reads.close()
        for connection in (self._reader, self._writer):
            if connection is not None:
                connection.close()
        self.presence.close()

    def _commit(self, jobs: Sequence[Job[object]]) -> Sequence[object]:
        return commit_together(self._writer, jobs, self._fault)

    def _look(self, jobs: Sequence[Job[object]]) -> Sequence[object]:
        return [self._look_once(job) for job in jobs]

    def _look_once(self, job: Job[object]) -> object:
        try:
            with explained(self.home):
                if self._reader is None:
                    self._reader = _connect(self.home / FILE, self._patience_s)
                    self._reader.execute("PRAGMA query_only = ON")
                return job(self._reader)
        except Exception as error:  # noqa: BLE001 - it belongs to whoever awaits this job
            return JobFailed(error)

    def _cut_log(self) -> None:
        connection = _connect(self.home / FILE, self._patience_s)
        try:
            connection.execute("PRAGMA wal_checkpoint (TRUNCATE)")
        finally:
            connection.close()

    def _fault(self, error: sqlite3.Error) -> Exception:
        return of_sqlite(error, self.home, alive(self.home / "alive"))


def scratch() -> sqlite3.Connection:
    """An empty database of the present version, in a temporary file that nobody else sees; for comparisons."""
    connection = sqlite3.connect("", isolation_level=None)
    for statement in FIRST:
        connection.execute(statement)
    return connection


def _make_home(home: Path) -> None:
    if home.exists() and not home.is_dir():
        raise StoreError(f"{home} is a file.", then="The home must be a folder: choose another with ANGELIA_HOME.")
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if stat.S_IMODE(home.stat().st_mode) & 0o077:
        with suppress(OSError):  # not ours, or a file system without modes: what we write there is private by itself
            home.chmod(0o700)
    os.close(os.open(home / FILE, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite's side files take its permissions


def _connect(path: Path, patience_s: float) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=patience_s, isolation_level=None, check_same_thread=False)
    try:
        mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise StoreError(
                f"{path} cannot use a write-ahead log (it stays in mode {mode}).",
                why="Its file system does not share memory between processes; network drives usually do not.",
                then="Choose a home on a local disk with ANGELIA_HOME.",
            )
        for pragma in (
            "synchronous = FULL",
            "fullfsync = ON",
            "foreign_keys = ON",
            "recursive_triggers = ON",
            "secure_delete = ON",
            f"journal_size_limit = {_LOG_KEPT}",
            f"cache_size = -{_PAGES_KEPT_KIB}",
        ):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _at_one_moment(connection: sqlite3.Connection, job: Job[T]) -> T:
    connection.execute("BEGIN")
    try:
        return job(connection)
    finally:
        if connection.in_transaction:  # SQLite itself ends it when the disk fails
            connection.execute("ROLLBACK")


def _data_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def _copy(connection: sqlite3.Connection, path: Path, look: Job[T]) -> T:
    with explained(path.parent):
        copy = sqlite3.connect(path, isolation_level=None)
        try:
            connection.backup(copy)
            return look(copy)
        finally:
            copy.close()
