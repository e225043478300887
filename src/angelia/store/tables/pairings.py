"""People whom the owner let in with a code: hashed, short-lived, good for one use, told once."""

import hashlib
from collections.abc import Callable
from enum import Enum, auto

from msgspec import Struct
from msgspec.structs import replace

from angelia.core.errors import NotFound
from angelia.core.person_role import PersonRole
from angelia.core.principal import Principal
from angelia.store.port import LogStore, StoreConnection
from angelia.store.sql.visibility import visible_to

LIVES_MS = 3_600_000
"""How long a code is good for."""
_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
_LENGTH = 8
"""Forty bits: with an hour of life and a handful of tries a minute, guessing is hopeless."""

MOST_ASKING = 20
"""Strangers who are given a code through one door within an hour. It is counted in the store, so no restart helps."""
_RETRY_MS = 60_000
"""How soon somebody is given another code whose first one could not be sent."""

Draw = Callable[[], str]


class NoCode(Enum):
    """Why somebody unknown is given no code."""

    TOLD = auto()
    """They have one that is good."""
    TOO_MANY = auto()
    """As many as are given one within an hour have asked."""


class Paired(Struct, frozen=True):
    """Somebody who may speak through a door, or who asks to: then `approved_by` is None. Times are Unix ms."""

    principal: Principal
    name: str
    asked_at: int
    expires: int
    approved_by: Principal | None
    role: PersonRole


def draw_code() -> str:
    """A fresh code, without letters that look alike."""
    import secrets

    return "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))


class Pairings:
    """Who was let in, and who waits."""

    def __init__(self, db: LogStore, draw: Draw = draw_code) -> None:
        self._db, self._draw = db, draw

    async def roles(self, door: str) -> dict[str, PersonRole]:
        """Those who were let in through a door, by their ids: as what."""
        let_in = await self._db.read(lambda connection: _paired(connection, "door = ? AND approved_by <> ''", (door,)))
        return {one.principal.id: one.role for one in let_in}

    async def change(self, who: Principal, role: PersonRole) -> bool:
        """Somebody who was let in is something else from now on; False if nobody of this id was."""
        changed = await self._db.write(
            lambda connection: (
                connection.execute(
                    "UPDATE pairings SET role = ? WHERE principal = ? AND approved_by <> ''", (role, str(who))
                ).rowcount
            )
        )
        return bool(changed)

    async def ask(self, who: Principal, name: str) -> str | NoCode:
        """A code for somebody unknown, or why they are given none."""
        code, now = self._draw(), self._db.clock()
        return await self._db.write(lambda connection: _ask(connection, who, name, code, now))

    async def unsent(self, who: Principal) -> None:
        """A code could not be told: it is good for nothing, and whoever writes again in a minute is given another."""
        soon = self._db.clock() + _RETRY_MS
        await self._db.write(
            lambda connection: connection.execute(
                "UPDATE pairings SET code = '', expires = ? WHERE principal = ? AND approved_by = ''",
                (soon, str(who)),
            )
        )

    async def waiting(self, viewer: Principal) -> list[Paired]:
        """Those who have a code that is still good, oldest first; of them, whom `viewer` may see."""
        theirs, values = visible_to(viewer, "principal")
        where, at = f"{_GOOD} AND {theirs} ORDER BY asked_at", _good_at(self._db.clock())
        return await self._db.read(lambda connection: _paired(connection, where, (*at, *values)), viewer)

    async def list(self, viewer: Principal) -> list[Paired]:
        """Those who were let in; of them, whom `viewer` may see."""
        theirs, values = visible_to(viewer, "principal")
        where = f"approved_by <> '' AND {theirs} ORDER BY door, name"
        return await self._db.read(lambda connection: _paired(connection, where, values), viewer)

    async def find(self, code: str) -> Paired:
        """Whoever was given this code.

        Raises:
            NotFound: nobody was, or it has expired or was used.
        """
        now, hashed = self._db.clock(), _hashed(code.strip().upper())
        where, values = f"code = ? AND {_GOOD}", (hashed, *_good_at(now))
        found = await self._db.read(lambda connection: _paired(connection, where, values))
        return _or_nobody(found[0] if found else None)

    async def approve(self, code: str, *, by: Principal, role: PersonRole = PersonRole.GUEST) -> Paired:
        """Let in whoever was given this code.

        Raises:
            NotFound: nobody was, or it has expired or was used.
        """
        now, hashed = self._db.clock(), _hashed(code.strip().upper())
        found = await self._db.write(lambda connection: _approve(connection, "code = ?", hashed, (by, now, role)))
        return _or_nobody(found)

    async def approve_person(self, who: Principal, *, by: Principal) -> Paired:
        """Let in somebody who waits; for a button in the owner's chat.

        Raises:
            NotFound: nobody of this id waits, or the code has expired.
        """
        done = (by, self._db.clock(), PersonRole.GUEST)
        found = await self._db.write(lambda connection: _approve(connection, "principal = ?", str(who), done))
        return _or_nobody(found)

    async def knows(self, who: Principal) -> bool:
        """Whether somebody was let in, or asked to be."""
        return bool(await self._db.read(lambda connection: _paired(connection, "principal = ?", (str(who),))))

    async def forget(self, who: Principal) -> bool:
        """Let somebody in no longer; False if they were not."""
        gone = await self._db.write(
            lambda connection: connection.execute("DELETE FROM pairings WHERE principal = ?", (str(who),)).rowcount
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


_GOOD = "code <> '' AND approved_by = '' AND expires > ? AND expires <= ?"
"""What ends later than any code of now was given while a clock was ahead."""


def _good_at(now: int) -> tuple[int, int]:
    return now, now + 2 * LIVES_MS


def _ask(connection: StoreConnection, who: Principal, name: str, code: str, now: int) -> str | NoCode:
    before, (_, ahead) = now - LIVES_MS, _good_at(now)
    over = "DELETE FROM pairings WHERE approved_by = '' AND (expires <= ? AND asked_at <= ? OR expires > ?)"
    connection.execute(over, (now, before, ahead))  # what ends so late, somebody asked for as the clock was ahead
    row = connection.execute("SELECT expires FROM pairings WHERE principal = ?", (str(who),)).fetchone()
    if row and row[0] > now:
        return NoCode.TOLD
    others = "SELECT count(*) FROM pairings WHERE door = ? AND principal <> ? AND approved_by = '' AND asked_at > ?"
    if connection.execute(others, (who.door, str(who), before)).fetchone()[0] >= MOST_ASKING:
        return NoCode.TOO_MANY
    connection.execute("DELETE FROM pairings WHERE principal = ?", (str(who),))
    connection.execute(
        "INSERT INTO pairings (principal, door, name, code, asked_at, expires) VALUES (?, ?, ?, ?, ?, ?)",
        (str(who), who.door, name, _hashed(code), now, now + LIVES_MS),
    )
    return code


def _approve(
    connection: StoreConnection, where: str, which: str, done: tuple[Principal, int, PersonRole]
) -> Paired | None:
    by, now, role = done
    found = _paired(connection, f"{where} AND {_GOOD}", (which, *_good_at(now)))
    if not found:
        return None
    one = found[0]
    connection.execute(
        "UPDATE pairings SET approved_by = ?, code = '', role = ? WHERE principal = ?",
        (str(by), role, str(one.principal)),
    )
    return replace(one, approved_by=by, role=role)


def _paired(connection: StoreConnection, where: str, values: tuple[object, ...]) -> list[Paired]:
    columns = ", ".join(Paired.__struct_fields__)
    rows = connection.execute(f"SELECT {columns} FROM pairings WHERE {where}", values)  # noqa: S608 - fixed text
    return [
        Paired(Principal.parse(who), name, asked_at, expires, Principal.parse(by) if by else None, PersonRole(role))
        for who, name, asked_at, expires, by, role in rows
    ]
