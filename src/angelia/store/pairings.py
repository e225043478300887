"""People whom the owner let in with a code: hashed, short-lived, good for one use, told once."""

import hashlib
import secrets
import sqlite3
from collections.abc import Callable

from msgspec import Struct

from angelia.core.errors import NotFound
from angelia.store.db import Database

LIVES_MS = 3_600_000
"""How long a code is good for."""
_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
_LENGTH = 8
"""Forty bits: with an hour of life and a handful of tries a minute, guessing is hopeless."""

Draw = Callable[[], str]


class Paired(Struct, frozen=True):
    """Somebody who may speak through a door, or who asks to. `person` is the platform's id; times are Unix ms."""

    door: str
    person: str
    name: str
    asked_at: int
    expires: int
    approved_by: str


def draw_code() -> str:
    """A fresh code, without letters that look alike."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))


class Pairings:
    """Who was let in, and who waits."""

    def __init__(self, db: Database, draw: Draw = draw_code) -> None:
        self._db, self._draw = db, draw

    async def admitted(self, door: str) -> frozenset[str]:
        """The ids of those who were let in through a door."""
        rows = await self._db.read(
            lambda connection: connection.execute(
                "SELECT person FROM pairings WHERE door = ? AND approved_by <> ''", (door,)
            ).fetchall()
        )
        return frozenset(person for (person,) in rows)

    async def ask(self, door: str, person: str, name: str) -> str:
        """A code for somebody unknown; empty when they were told theirs and it has not expired."""
        code, now = self._draw(), self._db.clock()
        return await self._db.write(lambda connection: _ask(connection, (door, person, name), code, now))

    async def waiting(self) -> list[Paired]:
        """Those who have a code that is still good, oldest first."""
        now = self._db.clock()
        return await self._db.read(
            lambda connection: _paired(connection, "approved_by = '' AND expires > ? ORDER BY asked_at", (now,))
        )

    async def list(self) -> list[Paired]:
        """Those who were let in."""
        return await self._db.read(lambda connection: _paired(connection, "approved_by <> '' ORDER BY door, name", ()))

    async def approve(self, code: str, *, by: str) -> Paired:
        """Let in whoever was given this code.

        Raises:
            NotFound: nobody was, or it has expired or was used.
        """
        now, hashed = self._db.clock(), _hashed(code.strip().upper())
        found = await self._db.write(lambda connection: _approve(connection, "code = ?", (hashed,), (by, now)))
        return _or_nobody(found)

    async def approve_person(self, door: str, person: str, *, by: str) -> Paired:
        """Let in somebody who waits; for a button in the owner's chat.

        Raises:
            NotFound: nobody of this id waits, or the code has expired.
        """
        who, now = (door, person), self._db.clock()
        found = await self._db.write(lambda connection: _approve(connection, "door = ? AND person = ?", who, (by, now)))
        return _or_nobody(found)

    async def forget(self, door: str, person: str) -> bool:
        """Let somebody in no longer; False if they were not."""
        gone = await self._db.write(
            lambda connection: (
                connection.execute("DELETE FROM pairings WHERE door = ? AND person = ?", (door, person)).rowcount
            )
        )
        return bool(gone)


def _or_nobody(found: Paired | None) -> Paired:
    if found is None:
        raise NotFound(
            "Nobody waits with this code.",
            "A code is good for one hour and for one use.",
            "Let them write again, which brings a fresh one.",
        )
    return found


def _hashed(code: str) -> str:
    return hashlib.sha256(f"angelia-pairing:{code}".encode()).hexdigest()


def _ask(connection: sqlite3.Connection, who: tuple[str, str, str], code: str, now: int) -> str:
    door, person, name = who
    row = connection.execute("SELECT expires FROM pairings WHERE door = ? AND person = ?", (door, person)).fetchone()
    if row and row[0] > now:
        return ""
    connection.execute(
        "INSERT OR REPLACE INTO pairings (door, person, name, code, asked_at, expires) VALUES (?, ?, ?, ?, ?, ?)",
        (door, person, name, _hashed(code), now, now + LIVES_MS),
    )
    return code


def _approve(
    connection: sqlite3.Connection, where: str, which: tuple[str, ...], done: tuple[str, int]
) -> Paired | None:
    by, now = done
    found = _paired(connection, f"{where} AND code <> '' AND approved_by = '' AND expires > ?", (*which, now))
    if not found:
        return None
    one = found[0]
    connection.execute(
        "UPDATE pairings SET approved_by = ?, code = '' WHERE door = ? AND person = ?", (by, one.door, one.person)
    )
    return one


def _paired(connection: sqlite3.Connection, where: str, values: tuple[object, ...]) -> list[Paired]:
    columns = ", ".join(Paired.__struct_fields__)
    rows = connection.execute(f"SELECT {columns} FROM pairings WHERE {where}", values)  # noqa: S608 - fixed text
    return [Paired(*row) for row in rows]
