"""Who is known in a home, where their name stands, and what is kept beside the log under it."""

from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from angelia.core.ids import ConversationId
from angelia.core.principal import ERASED, Principal
from angelia.store.log.examined import by_place
from angelia.store.port import LogStore, StoreConnection
from angelia.store.sql.visibility import AUDIT

_BESIDE = {
    "pairings": ("principal", "name, asked_at, expires, approved_by, role"),
    "grants": ("principal", "id, sandbox, workspace, conversation, pattern, given_by, given_at, until"),
    "spending": ("principal", "at, conversation, seq, model, cost, input, output, cache_read, cache_write"),
    "spending_erased": ("principal", "at, model, cost, input, output, cache_read, cache_write"),
    "notes": ("owner", "number, at, scope, about, what, text, state, settled_by, settled_at"),
    "schedules": ("owner", "conversation, state, why, upto, source"),
}
_KNOWN = """
    SELECT k.owner, k.conversations, max(c.last_at) FROM
        (SELECT owner, count(*) AS conversations, max(last_minute) AS last_minute FROM conversations
        WHERE door <> ? GROUP BY owner) AS k
    CROSS JOIN conversations AS c WHERE c.owner = k.owner AND c.last_minute = k.last_minute AND c.door <> ?
    GROUP BY k.owner, k.conversations ORDER BY 3 DESC, 1
"""
"""Counted from the index alone; a conversation itself is looked at in the minute of somebody's last one."""


class KnownPerson(Struct, frozen=True):
    """Somebody to whom conversations belong: how many, and when one was used last (Unix milliseconds)."""

    principal: Principal
    conversations: int
    last_at: int


class KnownPeople:
    """Everybody whom a home knows."""

    def __init__(self, db: LogStore) -> None:
        self._db = db

    async def known(self) -> list[KnownPerson]:
        """Those to whom conversations belong, whoever was there last first."""
        rows = await self._db.read(lambda connection: connection.execute(_KNOWN, (AUDIT, AUDIT)).fetchall())
        return [KnownPerson(Principal.parse(owner), count, last) for owner, count, last in rows]

    async def named(self, who: Principal) -> list[ConversationId]:
        """The conversations that are theirs, or in which an entry names them, oldest first. Reads the whole log."""
        return await self._db.read(partial(_named, who=who))

    async def beside(self, who: Principal) -> dict[str, list[dict[str, Any]]]:
        """The rows under their name, by table."""
        return await self._db.read(partial(_beside, who=who))

    async def forget(self, who: Principal) -> None:
        """Let them in no longer, and take back what was granted for them. What was paid stays counted, for nobody."""
        await self._db.write(partial(_forget, who=who))


def _named(connection: StoreConnection, who: Principal) -> list[ConversationId]:
    written = msgspec.json.encode(who)
    owned = connection.execute("SELECT id FROM conversations WHERE owner = ? ORDER BY id", (str(who),)).fetchall()
    found = dict.fromkeys(name for (name,) in owned)
    asked = str(who).encode()  # in a question whether they may come in
    for _, row in by_place(connection):
        if row and (written in row.body or (row.kind == "DeliveryQueued" and asked in row.body)):
            found[row.conversation] = None
    return sorted(map(ConversationId, found))


def _beside(connection: StoreConnection, who: Principal) -> dict[str, list[dict[str, Any]]]:
    found = {}
    for table, (column, columns) in _BESIDE.items():
        query = f"SELECT {columns} FROM {table} WHERE {column} = ? ORDER BY 1"  # noqa: S608 - names from the table
        rows = connection.execute(query, (str(who),)).fetchall()
        found[table] = [dict(zip(columns.split(", "), row, strict=True)) for row in rows]
    found["answers"] = [{"key": key, "value": value} for key, value in _answers(connection, who)]
    return found


def _answers(connection: StoreConnection, who: Principal) -> list[tuple[str, str]]:
    """What is remembered under their name: files and skills that they have answered about, skills proposed to them."""
    rows = connection.execute("SELECT key, value FROM remembered ORDER BY key").fetchall()
    return [(key, value) for key, value in rows if f":{who}\n" in key]


def _forget(connection: StoreConnection, who: Principal) -> None:
    own = (str(who),)
    connection.execute("DELETE FROM pairings WHERE principal = ?", own)
    connection.execute("DELETE FROM grants WHERE principal = ?", own)
    connection.execute("UPDATE grants SET given_by = ? WHERE given_by = ?", (str(ERASED), *own))
    connection.execute("UPDATE spending_erased SET principal = ? WHERE principal = ?", (str(ERASED), *own))
    for key, _ in _answers(connection, who):
        connection.execute("DELETE FROM remembered WHERE key = ?", (key,))
    sender = f"\n{who.id}"  # of the chat in which an owner last wrote
    connection.execute(
        "DELETE FROM remembered WHERE key = ? AND substr(value, length(value) - ?) = ?",
        (f"owner-chat:{who.door}", len(sender) - 1, sender),
    )
