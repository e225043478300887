"""Small things that outlive a conversation: a key, a value."""

from collections.abc import Callable

from angelia.store.port import LogStore, StoreConnection

_PUT = "INSERT INTO remembered VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
_BEGINNING_WITH = "SELECT key, value FROM remembered WHERE substr(key, 1, ?) = ? ORDER BY key"


class KeyValue:
    """Texts by name, such as a yes that holds for good or what was learnt about a model."""

    def __init__(self, db: LogStore) -> None:
        self._db = db

    async def get(self, key: str, default: str = "") -> str:
        """The value of `key`, or `default`."""

        def look(connection: StoreConnection) -> str:
            row = connection.execute("SELECT value FROM remembered WHERE key = ?", (key,)).fetchone()
            return str(row[0]) if row else default

        return await self._db.read(look)

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
