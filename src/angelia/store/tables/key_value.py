"""Small things that outlive a conversation: a key, a value."""

import logging
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from angelia.core.errors import UNREADABLE
from angelia.store.port import LogStore, StoreConnection

_PUT = "INSERT INTO remembered VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
_BEGINNING_WITH = "SELECT key, value FROM remembered WHERE substr(key, 1, ?) = ? ORDER BY key"
V = TypeVar("V")

logger = logging.getLogger("angelia.store")


class KeyValue:
    """Texts by name, such as a yes that holds for good or what was learnt about a model. Most are JSON: what cannot be
    read is as if it were not there, and named in the log file, so that it keeps nothing beside it from being read.
    """

    def __init__(self, db: LogStore) -> None:
        self._db = db

    async def get(self, key: str, default: str = "") -> str:
        """The value of `key`, or `default`."""

        def look(connection: StoreConnection) -> str:
            row = connection.execute("SELECT value FROM remembered WHERE key = ?", (key,)).fetchone()
            return str(row[0]) if row else default

        return await self._db.read(look)

    async def get_as(self, kind: type[V], key: str) -> V | None:
        """The value of `key`, written as JSON; None where there is none, or it cannot be read."""
        written = await self.get(key)
        return read_as(kind, key, written) if written else None

    async def put(self, key: str, value: str) -> None:
        """Remember `value`, in place of an earlier one."""
        await self._db.write(lambda connection: connection.execute(_PUT, (key, value)))

    async def replace(self, key: str, known: str, value: str) -> bool:
        """Remember `value` in place of `known`, empty for none yet; False if it is another by now. Of several who do
        it at once, in whatever process, one is told True.
        """

        def swap(connection: StoreConnection) -> bool:
            row = connection.execute("SELECT value FROM remembered WHERE key = ?", (key,)).fetchone()
            if (row[0] if row else "") != known:
                return False
            connection.execute(_PUT, (key, value))
            return True

        return await self._db.write(swap)

    async def add(self, key: str, value: str, prefix: str, same: Callable[[str], bool]) -> bool:
        """Remember `value`, unless one under a key that begins with `prefix` is the same; then False. Of several who do
        it at once, in whatever process, one is told True.
        """

        def put(connection: StoreConnection) -> bool:
            rows = connection.execute(_BEGINNING_WITH, (len(prefix), prefix)).fetchall()
            if any(same(str(kept)) for _, kept in rows):
                return False
            connection.execute(_PUT, (key, value))
            return True

        return await self._db.write(put)

    async def forget(self, key: str) -> None:
        """Forget `key`; nothing happens if it is not known."""
        await self._db.write(lambda connection: connection.execute("DELETE FROM remembered WHERE key = ?", (key,)))

    async def all(self, prefix: str = "") -> list[tuple[str, str]]:
        """Keys that begin with `prefix`, and their values, in order of the keys."""
        return await self._db.read(
            lambda connection: connection.execute(_BEGINNING_WITH, (len(prefix), prefix)).fetchall()
        )

    async def all_as(self, kind: type[V], prefix: str) -> list[tuple[str, V]]:
        """Those of `all`, written as JSON, that can be read."""
        return list(_readable(kind, await self.all(prefix)))


def read_as(kind: type[V], key: str, written: str) -> V | None:
    """What was remembered under a key as JSON; None, which the log file tells, where it cannot be read: it is damaged,
    or another version wrote it.
    """
    try:
        return msgspec.json.decode(written, type=kind)
    except UNREADABLE as error:
        logger.warning("what is remembered as %r cannot be read, and counts as not there: %s", key, error)
        return None


def _readable(kind: type[V], rows: list[tuple[str, str]]) -> Iterator[tuple[str, V]]:
    for key, written in rows:
        if (value := read_as(kind, key, written)) is not None:
            yield key, value
