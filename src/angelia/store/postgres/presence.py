"""The connection by which a process is alive to others, and hears of their commits.

While it stands it holds a lock of its session (https://www.postgresql.org/docs/current/explicit-locking.html), which
the server lets go of when the process ends, however it ends. Who only looks at the lock knows who is dead; the time of
a lease, by the server's clock, knows who hangs, or is cut off. The connection that writes holds the same lock, so that
one of the two can break, and be made again, while the process is seen to live.
"""

import asyncio
import os
import socket
import threading
import zlib
from asyncio import AbstractEventLoop
from collections.abc import Sequence
from contextlib import suppress

from angelia.deadline import within
from angelia.store.port import LeaseEnd, StoreConnection
from angelia.store.postgres.asking_again import asked_again
from angelia.store.postgres.commits import CHANNEL, LOCKS
from angelia.store.postgres.connection import PostgresConnection
from angelia.store.postgres.faults import explained
from angelia.store.presence import Presence

TTL_MS = 4_500
"""How long a lease holds without renewal: a machine that is cut off, or hangs, is replaced within five seconds."""
CLOCK = "server"
"""By which clock leases end."""
_AGAIN_S = 0.2
"""Seconds between two tries to reach a server that went away."""
_HOLD = "SELECT pg_advisory_lock_shared(?, ?)"
_NOW = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)"
_LIVING = (
    "SELECT CAST(objid AS bigint) FROM pg_locks WHERE locktype = 'advisory' AND classid = CAST(? AS oid) AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_LIVES = f"{_LIVING} AND objid = CAST(? AS oid)"
_ALL_LIVING = f"SELECT {_NOW}, ARRAY({_LIVING})"


class PostgresPresence:
    """See `store.port.Presences`. `presence` is the file by which this machine knows the process."""

    ttl_ms = TTL_MS

    def __init__(self, address: str, where: str, presence: Presence) -> None:
        self._address, self._where = address, where
        self._presence = presence
        self._connection: PostgresConnection | None = None
        self._changing = threading.Lock()
        """Held while the connection becomes another one, so that who ends this ends that one."""
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._name = ""
        self._rest = threading.Event()
        self._waiting: dict[asyncio.Future[None], AbstractEventLoop] = {}
        self.heard = 0
        """How often a commit was told, or may have been missed."""

    @property
    def here(self) -> str:
        """The number of this process, and the name of its machine."""
        return f"{self._presence.here} on {socket.gethostname()}"

    def name(self, holder: str) -> str:
        """See `store.port.Presences`. The first call waits for the server; later ones wait for nobody.

        Raises:
            OSError: the home cannot be written.
            StoreUnreachable: nobody answers there.
        """
        with self._starting, explained(self._where):
            if self._rest.is_set():  # who asked in a thread may come after the end
                return self._name
            self._name = self._name or self._presence.name(holder)
            if self._thread is None:  # from then on it is the thread that connects again: two would wait for one lock
                asked_again(self._connect)
                self._thread = threading.Thread(target=self._listen, name="angelia-listens", daemon=True)
                self._thread.start()
        return self._name

    def hold(self, connection: StoreConnection) -> bool:
        """Be alive by the session of `connection`, too, also where its transaction is taken back; False, and nothing is
        done, while this process has no name.
        """
        if self._name:
            connection.execute(_HOLD, (LOCKS, _number(self._name)))
        return bool(self._name)

    def lives(self, connection: StoreConnection, presence: str) -> bool:
        """Whether it runs here, by its file, or somewhere, by its session: that may be away for a moment."""
        here = self._presence.lives(connection, presence)
        return here or bool(connection.execute(_LIVES, (LOCKS, _number(presence))).fetchone())

    def until(self, connection: StoreConnection, ttl_ms: int) -> tuple[str, int]:
        """So many milliseconds from now, by the server's clock."""
        (expires,) = connection.execute(f"SELECT {_NOW} + ?", (ttl_ms,)).fetchone()
        return CLOCK, int(expires)

    def held(self, connection: StoreConnection, leases: Sequence[LeaseEnd]) -> list[bool]:
        """Of each, whether this is not later by the server's clock, and its process has its session. The server is
        asked once, however many they are: who has much to do waits for each of its answers.
        """
        now, living = connection.execute(_ALL_LIVING, (LOCKS,)).fetchone()
        return [
            clock == CLOCK and bool(presence) and now < expires and _number(presence) in living
            for presence, clock, expires in leases
        ]

    def left_ms(self, connection: StoreConnection, leases: Sequence[LeaseEnd]) -> list[int]:
        """See `store.port.Presences`; by the server's clock."""
        (now,) = connection.execute(f"SELECT {_NOW}").fetchone()
        return [max(expires - now, 0) if clock == CLOCK else 0 for _, clock, expires in leases]

    async def next_notice(self, after: int, longest_s: float) -> None:
        """Return once `heard` is not `after`, at the latest after so many seconds."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._waiting[future] = loop
        try:
            if self.heard == after:
                with suppress(TimeoutError):
                    await within(longest_s, future)
        finally:
            self._waiting.pop(future, None)

    def close(self) -> None:
        """Say that this process is done."""
        with self._starting, self._changing:
            self._rest.set()
            self._wake_who_listens()
        if self._thread is not None:
            self._thread.join()
        self._forget()
        self._presence.close()

    def _connect(self) -> None:
        connection = PostgresConnection.open(self._address)
        try:
            with self._changing:
                self._connection = connection
                if self._rest.is_set():  # it was not there yet to be woken
                    self._wake_who_listens()
            connection.command(f"LISTEN {CHANNEL}")
            connection.execute(_HOLD, (LOCKS, _number(self._name)))
        except BaseException:
            self._forget()
            raise

    def _forget(self) -> None:
        with self._changing:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _wake_who_listens(self) -> None:
        import psycopg

        if self._connection is not None:
            with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(self._connection.own.fileno())) as own:
                own.shutdown(socket.SHUT_RDWR)

    def _listen(self) -> None:
        import psycopg

        while not self._rest.is_set():
            try:
                if self._connection is None:
                    self._connect()
                    self._wake()  # what was told meanwhile was told to nobody
                assert self._connection is not None
                for _ in self._connection.own.notifies():
                    self._wake()
            except (psycopg.Error, OSError):
                self._forget()
                self._rest.wait(_AGAIN_S)

    def _wake(self) -> None:
        self.heard += 1
        for future, loop in list(self._waiting.items()):
            with suppress(RuntimeError):  # a loop that is closed has nobody left who waits
                loop.call_soon_threadsafe(_settle, future)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _number(name: str) -> int:
    """A name as the second number of a lock: 31 bits, so that its sign is no matter to who looks for it."""
    return zlib.crc32(name.encode()) & 0x7FFF_FFFF
