"""The numbers that SQLite gives to rows (https://sqlite.org/autoinc.html)."""

from angelia.store.port import StoreConnection


class SqliteNumbers:
    """See `store.port.Numbers`."""

    brought = ""

    def last(self, connection: StoreConnection, table: str) -> int:
        """The highest that was ever given."""
        row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
        return int(row[0]) if row else 0

    def go_on_after(self, connection: StoreConnection, table: str, number: int) -> None:
        """Give higher ones from now on."""
        if number > self.last(connection, table):
            connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
            connection.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (table, number))
