"""The numbers that SQLite gives to rows (https://sqlite.org/autoinc.html)."""

from angelia.store.port import StoreConnection


class SqliteNumbers:
    """See `store.port.Numbers`."""

    brought = ""

    def highest(self, table: str) -> str:
        """The highest that was ever given."""
        return f"SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '{table}'"  # noqa: S608 - fixed names

    def last(self, connection: StoreConnection, table: str) -> int:
        """The same at once."""
        return int(connection.execute(self.highest(table)).fetchone()[0])

    def go_on_after(self, connection: StoreConnection, table: str, number: int) -> None:
        """Give higher ones from now on."""
        if number > self.last(connection, table):
            connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
            connection.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (table, number))
