"""The log in PostgreSQL: a connection that writes, one that listens, and one or two that read, each with its thread."""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec import Struct

from angelia.core.errors import MissingPart, StoreError
from angelia.core.ids import Clock, ConversationId, wall_clock
from angelia.core.principal import OWNER, Principal
from angelia.store.port import Condition, Haste, Job
from angelia.store.postgres.asking_again import with_connection
from angelia.store.postgres.commits import LOCKS, Commits
from angelia.store.postgres.connection import PostgresConnection
from angelia.store.postgres.faults import explained, gone, of_postgres
from angelia.store.postgres.full_text import PostgresFullText
from angelia.store.postgres.numbers import PostgresNumbers
from angelia.store.postgres.presence import PostgresPresence
from angelia.store.postgres.schema import VERSION, copying_exists, creation, exists, later_steps
from angelia.store.postgres.viewing import prepare, proof_of, view_as
from angelia.store.presence import Presence
from angelia.store.sql.faults import read_only
from angelia.store.sql.tips import Tip, Tips
from angelia.store.sql.worker_thread import JobFailed, WorkerThread

T = TypeVar("T")

_Read = tuple[Job[object], Principal]
"""What is to be looked at, and for whom."""

Tables = Callable[[PostgresConnection, str], None]
"""What makes the tables where there are none; the text says where, for errors."""

SCHEMES = ("postgresql://", "postgres://")
_TOGETHER = 64
"""Writes in one transaction, at most: of more savepoints the server keeps no list in memory."""
_LONGEST_READS_S = 0.05
"""After how long what is urgent is looked for, if there is a choice."""
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class NoTips:
    """See `store.port.Ends`: the server keeps a log of its own, which says whether it lost its end."""

    def read(self) -> Tips:
        """Nothing is known."""
        return Tips({})

    def read_end(self) -> Tips:
        """Nothing is known."""
        return Tips({})

    def of(self, _: ConversationId) -> Tip | None:
        """Nothing is known."""
        return None

    def follow(self, tip: Tip) -> None:
        """Nothing to be kept."""

    def erasing(self, conversation: ConversationId) -> None:
        """Nothing to be kept."""

    def rewriting(self, conversation: ConversationId, upto: int) -> None:
        """Nothing to be kept."""


class Viewing(Struct, frozen=True):
    """How single people's rows are read: as which role, and with the key of the proofs."""

    address: str
    key: bytes

    def proof(self, viewer: Principal, connection: PostgresConnection) -> str:
        """See `viewing.proof_of`."""
        return proof_of(self.key, viewer, connection.own.info.backend_pid)


class PostgresDatabase:
    """See `store.port.LogStore`. `home` is this machine's folder for all that is not the log. Made by `open`."""

    def __init__(
        self, reached: tuple[str, str], home: Path, clock: Clock, patience_s: float, *, writable: bool
    ) -> None:
        self.home, self.clock = home, clock
        self.writable = writable
        address, self.where = reached
        self.presence = PostgresPresence(address, self.where, Presence(home / "alive"))
        self.tips = NoTips()
        self.words, self.numbers = PostgresFullText(), PostgresNumbers()
        self._address = address
        self._commits = Commits(address, self.where, patience_s, self.presence.hold)
        self._reader: PostgresConnection | None = None
        self._writes: WorkerThread[Job[object]] = WorkerThread("angelia-writes", self._commits.together, most=_TOGETHER)
        self._viewing: Viewing | None = None
        self._viewer: PostgresConnection | None = None
        self._reads: WorkerThread[_Read] = WorkerThread("angelia-reads", self._look, most=1)
        self._seen = ("", 0, 0)

    @classmethod
    def open(
        cls,
        address: str,
        home: Path,
        *,
        password: str = "",
        clock: Clock = wall_clock,
        patience_s: float = 5.0,
        tables: "Tables | None" = None,
    ) -> "PostgresDatabase":
        """Open the store at `address`, a URI of libpq's; its tables are made where there are none, by `tables` if that
        is given.

        `password` is for that server alone; without one libpq looks into `~/.pgpass`. `patience_s` is how long, in
        seconds, a server that went away is waited for.

        Raises:
            MissingPart: psycopg is not installed.
            StoreUnreachable: nobody answers there, and did not when asked again twice.
            StoreBusy: there is something to be made, and another process keeps the store locked.
            StoreError: a newer Angelia wrote it, or nobody is let in.
        """
        where = without_secrets(address)
        address = _with_password(address, password)
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with explained(where):
            with_connection(address, lambda connection: (tables or _make_tables)(connection, where))
        return cls((address, where), home, clock, patience_s, writable=True)

    @classmethod
    def open_to_read(cls, address: str, home: Path, *, password: str = "") -> "PostgresDatabase":
        """Open it without changing anything there; `write` raises.

        Raises:
            MissingPart, StoreUnreachable, StoreError: as `open`; there may be no tables yet.
        """
        where = without_secrets(address)
        address = _with_password(address, password)
        with explained(where):
            version = with_connection(address, lambda connection: _version(connection, where))
        if version == 0:
            raise StoreError(f"There is no log in {where} yet.", then="`angelia` begins one.")
        return cls((address, where), home, wall_clock, 5.0, writable=False)

    def read_for_others_as(self, role: str, password: str) -> None:
        """Read as this role from now on what is read for people who are not the owner of the home
        (`store.postgres.viewing`).

        Raises:
            ConfigError: there is no such role, or it would see what is not theirs.
            StoreUnreachable: nobody answers there.
        """
        with explained(self.where):
            key = with_connection(self._address, lambda connection: prepare(connection, role))
        self._viewing = Viewing(_as_role(self._address, role, password), key)

    async def write(self, job: Job[T], haste: Haste = Haste.USUAL) -> T:
        """See `store.port.LogStore`."""
        if not self.writable:
            raise read_only(Path(self.where), "it was opened to be read")
        return cast("T", await self._writes.run(job, haste))

    def require(self, condition: Condition | None) -> None:
        """See `store.port.LogStore`."""
        self._commits.required = condition

    def require_space(self) -> None:
        """Nothing: how much room its disk has, a server tells nobody."""

    async def read(self, job: Job[T], viewer: Principal = OWNER, haste: Haste = Haste.USUAL) -> T:
        """See `store.port.LogStore`."""
        return cast("T", await self._reads.run((job, viewer), haste))

    async def data_version(self) -> int:
        """A number that changes when anybody has committed something; of the server's other databases, too."""
        heard = self.presence.heard
        snapshot = await self.read(_snapshot)
        known, number, _ = self._seen
        self._seen = (snapshot, number + (snapshot != known), heard)
        return self._seen[1]

    async def next_commit(self, after: int, longest_s: float) -> None:
        """See `store.port.LogStore`."""
        _, number, heard = self._seen
        if number == after:
            await asyncio.to_thread(self.presence.name, "a process")
            await self.presence.next_notice(heard, longest_s)

    async def faults(self) -> list[str]:
        """Nothing: the server looks at the checksums of its pages when it reads them, and says so then."""
        return []

    async def index_faults(self) -> str:
        """Words whose count is not that of the texts that hold them."""
        query = (
            "SELECT count(*) FROM (SELECT term, doc FROM terms EXCEPT SELECT word, ndoc FROM"
            " ts_stat('SELECT tokens FROM words')) AS wrong"
        )
        wrong = await self.read(lambda connection: connection.execute(query).fetchone()[0])
        return f"{wrong} words are miscounted" if wrong else ""

    async def checkpoint(self) -> None:
        """Nothing to be done here: what the server keeps of deleted rows, its vacuum takes away."""

    def close(self) -> None:
        """See `store.port.LogStore`. What is queued while the server is away has failed then."""
        self._commits.wait_no_more()
        self._writes.close()
        self._reads.close()
        self._commits.close()
        self._forget_reader()
        self.presence.close()

    def _look(self, reads: Sequence[_Read]) -> Sequence[object]:
        until, found = time.monotonic() + _LONGEST_READS_S, list[object]()
        for read in reads:
            found.append(self._look_once(read))
            if time.monotonic() > until:
                break
        return found

    def _look_once(self, read: _Read) -> object:
        import psycopg

        try:
            try:
                return self._at_one_moment(*read)
            except psycopg.Error as error:
                if not gone(error):
                    raise
                self._forget_reader()
            return self._at_one_moment(*read)
        except psycopg.Error as error:
            self._forget_reader()
            told = of_postgres(error, self.where)
            if told is not error:
                told.__cause__ = error
            return JobFailed(told)
        except Exception as error:  # noqa: BLE001 - it belongs to whoever awaits this job
            return JobFailed(error)

    def _at_one_moment(self, job: Job[object], viewer: Principal) -> object:
        connection = self._reading(viewer)

        def look() -> object:
            connection.execute(_READ)
            if connection is self._viewer and self._viewing:
                view_as(connection, viewer, self._viewing.proof(viewer, connection))
            found = job(connection)
            connection.commit()  # after a `ROLLBACK` psycopg prepares all statements anew
            return found

        try:
            return connection.in_pipeline(look)
        except BaseException:
            if not connection.closed:
                connection.command("ROLLBACK")
            raise

    def _reading(self, viewer: Principal) -> PostgresConnection:
        if self._viewing is None or viewer == OWNER:
            if self._reader is None or self._reader.closed:
                self._reader = PostgresConnection.open(self._address)
            return self._reader
        if self._viewer is None or self._viewer.closed:
            self._viewer = PostgresConnection.open(self._viewing.address)
        return self._viewer

    def _forget_reader(self) -> None:
        for connection in (self._reader, self._viewer):
            if connection is not None:
                connection.close()
        self._reader = self._viewer = None


def without_secrets(address: str) -> str:
    """An address as it can be shown.

    >>> without_secrets("postgresql://ann:secret@db.example/angelia?password=secret")
    'postgresql://db.example/angelia'
    """
    from urllib.parse import urlsplit

    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def secrets_in(address: str) -> frozenset[str]:
    """The password in an address."""
    from urllib.parse import parse_qs, unquote, urlsplit

    parts = urlsplit(address)
    given = [unquote(parts.password or ""), *parse_qs(parts.query).get("password", [])]
    return frozenset(one for one in given if one)


def _snapshot(connection: Any) -> str:
    """Which transactions are over: two looks with the same answer see the same rows."""
    return str(connection.execute("SELECT CAST(pg_current_snapshot() AS text)").fetchone()[0])


def _as_role(address: str, role: str, password: str) -> str:
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    same = {name: str(value) for name, value in conninfo_to_dict(address).items() if name != "password"}
    own: dict[str, str] = {"password": password} if password else {}
    return make_conninfo("", **{**same, "user": role, **own})


def _with_password(address: str, password: str) -> str:
    """Kept from now on, since the variable that held it is taken out of the environment."""
    try:
        from psycopg.conninfo import make_conninfo
    except ImportError as error:
        raise MissingPart("PostgreSQL", "cluster") from error
    with explained(without_secrets(address)):
        return make_conninfo(address, **({"password": password} if password else {}))


def _make_tables(connection: PostgresConnection, where: str) -> None:
    if _version(connection, where) == VERSION:
        return  # without the lock: who looks into a log waits for nobody who copies it
    connection.command("BEGIN")
    connection.execute("SELECT pg_advisory_xact_lock(?, hashtext(current_schema()))", (LOCKS,))
    if (version := _version(connection, where)) == 0:
        connection.command(creation())
    elif version < VERSION:
        connection.command(later_steps(version))
    connection.command("COMMIT")


def _version(connection: PostgresConnection, where: str) -> int:
    """The version of the tables that are there, 0 for none.

    Raises:
        StoreError: a newer Angelia made them, or a log is being copied into them.
    """
    if not exists(connection):
        return 0
    if copying_exists(connection):
        raise StoreError(
            f"The log in {where} is being copied there, or its copying was ended.",
            "It is not whole before that is done.",
            "Go on with it: `angelia store copy home postgresql://…` begins where it is.",
        )
    (version,) = connection.execute("SELECT version FROM format").fetchone()
    if version > VERSION:
        raise StoreError(
            f"The tables in {where} are of version {version}; this Angelia knows {VERSION}.",
            then="Update this copy of Angelia: a newer one uses the same database.",
        )
    return int(version)
