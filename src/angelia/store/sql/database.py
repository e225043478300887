"""The one module that opens the SQLite file: one connection that writes, one that reads, each with its thread."""

import asyncio
import logging
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from threading import Event
from typing import TypeVar, cast

from angelia.core.errors import StoreDamaged, StoreError, StoreReadOnly
from angelia.core.ids import Clock, wall_clock
from angelia.core.principal import OWNER, Principal
from angelia.store.port import Condition, Haste, under
from angelia.store.presence import Presence, alive
from angelia.store.sql.connections import connect, connect_to_read, new_file, scratch
from angelia.store.sql.faults import damaging, explained, of_sqlite, read_only, require_space
from angelia.store.sql.full_text import FullText
from angelia.store.sql.group_commit import commit_together
from angelia.store.sql.migrate import migrate, require_known
from angelia.store.sql.numbers import SqliteNumbers
from angelia.store.sql.schema import read_as_now
from angelia.store.sql.tips import TipsJournal
from angelia.store.sql.wal_stamp import wal_stamp
from angelia.store.sql.wholeness import ends, integrity, lost, not_whole, require_whole
from angelia.store.sql.worker_thread import JobFailed, WorkerThread

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]

FILE = "angelia.db"
_OLDEST_SQLITE = (3, 37, 0)
"""STRICT tables, https://sqlite.org/stricttables.html."""
_LOOKED_S = 0.05
_RARELY_S = 0.2
"""How long somebody who waits for another process's commits lets pass between two looks: at first, and once nothing
has come for a while; most of what a look costs is to wake up for it."""
_CHECK = "INSERT INTO words (words) VALUES ('integrity-check')"
_TOGETHER = 1024
"""Writes in one transaction, at most."""
_COPIED_AT_ONCE = 1000
"""Pages, of 4 kB, between two looks whether a copy is still wanted."""
_LOOKED_EACH = 1000
"""Steps of SQLite's machine, some microseconds, between two looks whether a copy is still wanted."""

logger = logging.getLogger("angelia.store")


class _HomePresence(Presence):
    """That of a process in a home, whose disk may be full."""

    def name(self, holder: str) -> str:
        """See `Presence`; raises a StoreError in place of an OSError."""
        with explained(self._folder.parent):
            return super().name(holder)


class Database:
    """A home's database. Made by `open`; one per process and home.

    Jobs are functions of a connection. They run in a thread, so they must not touch what the event loop touches.
    """

    def __init__(self, home: Path, clock: Clock, patience_s: float, writer: sqlite3.Connection | None) -> None:
        self.home, self.clock = home, clock
        self.presence = _HomePresence(home / "alive")
        self.tips = TipsJournal(home)
        self.words, self.numbers = FullText(), SqliteNumbers()
        self._patience_s = patience_s
        self._writer = writer
        self._reader: sqlite3.Connection | None = None
        self._required: Job[None] | None = None
        self._writes: WorkerThread[Job[object]] = WorkerThread(
            "angelia-writes", self._commit, most=_TOGETHER, at_rest=self.tips.sync
        )
        self._reads: WorkerThread[Job[object]] = WorkerThread("angelia-reads", self._look, most=1)
        self._version = -1
        self._wal: tuple[int, int, int] | None = None
        """Its stamp from before that version was read."""

    @classmethod
    def open(cls, home: Path, *, clock: Clock = wall_clock, patience_s: float = 5.0) -> "Database":
        """Open the database in `home`, which is made (for its owner alone) when it is not there.

        `clock` dates entries. `patience_s` is how long, in seconds, another process is waited for each time.

        Raises:
            StoreReadOnly, StoreFull, StoreBusy: as they say; nothing was changed.
            StoreDamaged: it is, or its log does not end where it ended; nothing was changed.
            StoreError: a newer Angelia wrote it, it is not a database of ours, or Python's SQLite is older than 3.37.
        """
        tips = TipsJournal(home)
        with explained(home):
            if not (home / FILE).exists() and (known := tips.read()).newest:
                with closing(scratch()) as nothing:
                    raise not_whole(home / FILE, list(lost(nothing, known)))
        writer = _opened(home, patience_s)
        try:
            with explained(home):
                _require_whole(writer, tips, home)
        except BaseException:
            # The last connection to be closed moves the write-ahead log into the file: let that be one that cannot.
            with closing(connect_to_read(home / FILE)):
                writer.close()
            raise
        return cls(home, clock, patience_s, writer)

    @classmethod
    def open_as_it_is(cls, home: Path, *, clock: Clock = wall_clock, patience_s: float = 5.0) -> "Database":
        """As `open`, whether its log ends where it ended or not: for what mends it, or asks a person."""
        return cls(home, clock, patience_s, _opened(home, patience_s))

    @classmethod
    def open_to_read(cls, home: Path) -> "Database":
        """Open the database in `home` without changing anything there, whole or not; `write` raises. A home in which
        there is none yet reads as an empty one. Nobody may be able to write to it, neither file nor folder.

        Raises:
            StoreDamaged, StoreBusy: it cannot be read.
            StoreError: as `open`.
        """
        _require_sqlite()
        opened = cls(home, wall_clock, 5.0, None)
        with explained(home):
            opened._reader = _known_to_read(home / FILE)
        return opened

    @property
    def writable(self) -> bool:
        """Whether it was opened to be written."""
        return self._writer is not None

    async def write(self, job: Job[T], haste: Haste = Haste.USUAL) -> T:
        """Run `job` inside a transaction and return its result once that is durably committed.

        Jobs run one after the other, many to a commit; one that raises is undone and disturbs no other.
        Cancelling the wait does not undo the write.

        Raises:
            StoreFull, StoreReadOnly, StoreBusy, StoreDamaged: nothing was written. And whatever `job` raises.
        """
        if self._writer is None:
            raise read_only(self.home, "it was opened to be read")
        return cast("T", await self._writes.run(under(self._required, job), haste))

    def require(self, condition: Condition | None) -> None:
        """See `store.port.LogStore`."""
        self._required = condition and (lambda connection: condition(connection)())

    def require_space(self) -> None:
        """See `store.port.LogStore`."""
        require_space(self.home)

    async def read(self, job: Job[T], viewer: Principal = OWNER, haste: Haste = Haste.USUAL) -> T:
        """Run `job` on a consistent state that holds every write acknowledged so far.

        Raises:
            StoreBusy, StoreDamaged: it cannot be read. And whatever `job` raises.
        """
        return cast("T", await self._reads.run(lambda connection: _at_one_moment(connection, job), haste))

    async def try_out(self, job: Job[T]) -> T:
        """Run `job`, which writes, on a connection of its own, and take back what it wrote.

        Raises:
            StoreReadOnly, StoreBusy, StoreDamaged: it cannot be written. And whatever `job` raises.
        """
        return await asyncio.to_thread(_tried, self.home, job, self._patience_s)

    async def data_version(self) -> int:
        """A number that changes when anybody, this process or another, has committed something."""
        wal = wal_stamp(self.home / FILE)
        version = cast("int", await self._reads.run(_data_version))
        self._version, self._wal = version, wal
        return version

    async def next_commit(self, after: int, longest_s: float) -> None:
        """Wait for one, or for so long. SQLite tells nobody of a commit, but each is written into its write-ahead log:
        to look at that file's time takes microseconds, where the number takes a round through a thread.
        """
        until, pause = time.monotonic() + longest_s, _LOOKED_S
        while (left := until - time.monotonic()) > 0:
            await asyncio.sleep(min(left, pause))
            pause = min(2 * pause, _RARELY_S)
            if after != self._version or self._wal is None or wal_stamp(self.home / FILE) != self._wal:
                return

    async def faults(self) -> list[str]:
        """What SQLite finds wrong with the file, a sentence each."""
        try:
            return await self.read(integrity)
        except StoreDamaged as error:
            return [error.what]

    async def index_faults(self) -> str:
        """What FTS5 finds wrong. It takes the wish to be checked as a write: where nobody may, it is not asked."""
        with suppress(StoreReadOnly):
            try:
                await self.try_out(lambda connection: connection.execute(_CHECK).fetchall())
            except (StoreDamaged, sqlite3.DatabaseError) as error:
                return str(error.__cause__ if isinstance(error, StoreDamaged) else error)
        return ""

    async def checkpoint(self) -> None:
        """Move the write-ahead log into the database and cut it, so that erased text does not linger there.

        Other processes that read at this moment may put it off to the next one.
        """
        await self._reads.run(lambda _: self._cut_log())

    async def copy_to(self, path: Path, look: Job[T]) -> T:
        """Write a consistent copy of the database, while others go on writing; returns what `look` finds in the copy.
        Cancelled, it goes no further: no thread is left that a process would have to wait for at its end.

        Raises:
            StoreFull, StoreReadOnly: it cannot be written there.
        """
        stopped = Event()
        try:
            return await asyncio.to_thread(_copy, self.home, path, look, stopped)
        finally:
            stopped.set()

    def close(self) -> None:
        """Finish queued writes, then let go of the file. Further calls raise."""
        self._writes.close()
        self._reads.close()
        self.tips.close()
        for connection in (self._reader, self._writer):
            if connection is not None:
                connection.close()
        self.presence.close()

    def _commit(self, jobs: Sequence[Job[object]]) -> Sequence[object]:
        assert self._writer is not None
        self.tips.begin()
        return commit_together(self._writer, jobs, self._fault, self.tips.written, self._patience_s)

    def _look(self, jobs: Sequence[Job[object]]) -> Sequence[object]:
        return [self._look_once(job) for job in jobs]

    def _look_once(self, job: Job[object]) -> object:
        try:
            with explained(self.home):
                if self._reader is None:
                    self._reader = connect(self.home / FILE, self._patience_s)
                    self._reader.execute("PRAGMA query_only = ON")
                return job(self._reader)
        except Exception as error:  # noqa: BLE001 - it belongs to whoever awaits this job
            return JobFailed(error)

    def _cut_log(self) -> None:
        connection = connect(self.home / FILE, self._patience_s)
        try:
            connection.execute("PRAGMA wal_checkpoint (TRUNCATE)")
        finally:
            connection.close()

    def _fault(self, error: sqlite3.Error) -> Exception:
        return of_sqlite(error, self.home, alive(self.home / "alive"))


def _opened(home: Path, patience_s: float) -> sqlite3.Connection:
    _require_sqlite()
    with explained(home):
        _make_home(home)
        writer = connect(home / FILE, patience_s)
        try:
            migrate(writer, home / FILE)
        except BaseException:
            writer.close()
            raise
    return writer


def _require_whole(writer: sqlite3.Connection, tips: TipsJournal, home: Path) -> None:
    if tips.exists:
        require_whole(writer, tips, home / FILE)
    elif there := list(ends(writer)):
        logger.warning("%s has no tips: whether its log was cut off before today cannot be seen", home)
        tips.rewrite(there)


def _require_sqlite() -> None:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise StoreError(
            f"The store needs SQLite 3.37 or newer; this Python has {sqlite3.sqlite_version}.",
            then="Use a Python that was built with a newer one; those of uv and python.org are.",
        )


def _known_to_read(path: Path) -> sqlite3.Connection:
    """A connection to read a database of ours, an earlier one as if it were of this version; to an empty one where
    there is none yet, or no table in it.
    """
    if not path.exists() or not path.stat().st_size:
        return scratch()
    connection = connect_to_read(path)
    known = 0
    try:
        known = require_known(connection, path)
        for statement in read_as_now(known):
            connection.execute("PRAGMA query_only = OFF")
            connection.execute(statement)
            connection.execute("PRAGMA query_only = ON")
    finally:
        if not known:
            connection.close()
    return connection if known else scratch()


def _make_home(home: Path) -> None:
    if home.exists() and not home.is_dir():
        raise StoreError(f"{home} is a file.", then="The home must be a folder: choose another with ANGELIA_HOME.")
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if stat.S_IMODE(home.stat().st_mode) & 0o077:
        with suppress(OSError):  # not ours, or a file system without modes: what we write there is private by itself
            home.chmod(0o700)
    with suppress(FileExistsError):
        # SQLite's side files take its permissions. One that is there is never opened beside SQLite: closing it would
        # let go of every lock that this process has on it (https://sqlite.org/howtocorrupt.html, 2.2).
        os.close(os.open(home / FILE, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _at_one_moment(connection: sqlite3.Connection, job: Job[T]) -> T:
    connection.execute("BEGIN")
    try:
        return job(connection)
    finally:
        if connection.in_transaction:  # SQLite itself ends it when the disk fails
            connection.execute("ROLLBACK")


def _tried(home: Path, job: Job[T], patience_s: float) -> T:
    with explained(home), closing(connect(home / FILE, patience_s)) as connection:
        return _at_one_moment(connection, job)


def _data_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


class _CopyLeft(Exception):
    """Nobody waits for it any more, so nobody hears of this."""


def _copy(home: Path, path: Path, look: Job[T], stopped: Event) -> T:
    """With connections of its own: a large file takes a while, and nobody else is to wait for it.

    What is written meanwhile by others would have it begin anew between two steps, if it were not for the transaction
    (https://sqlite.org/c3ref/backup_finish.html).
    """

    def go_on(*_: int) -> None:
        if stopped.is_set():
            raise _CopyLeft

    with explained(path.parent), closing(connect_to_read(home / FILE)) as source, closing(new_file(path)) as copy:
        try:
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            source.backup(copy, pages=_COPIED_AT_ONCE, progress=go_on)
        except sqlite3.DatabaseError as error:
            raise of_sqlite(error, home if damaging(error) else path.parent) from error
        copy.set_progress_handler(stopped.is_set, _LOOKED_EACH)
        return look(copy)
