"""The numbers that PostgreSQL gives to rows, by the sequence of each table."""

from angelia.store.port import StoreConnection


class PostgresNumbers:
    """See `store.port.Numbers`."""

    brought = "OVERRIDING SYSTEM VALUE"

    def highest(self, table: str) -> str:
        """The highest that was ever given."""
        return f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {table}_id_seq"  # noqa: S608 - fixed names

    def last(self, connection: StoreConnection, table: str) -> int:
        """The same at once."""
        return int(connection.execute(self.highest(table)).fetchone()[0])

    def go_on_after(self, connection: StoreConnection, table: str, number: int) -> None:
        """Give higher ones from now on."""
        if number > self.last(connection, table):
            connection.execute("SELECT setval(pg_get_serial_sequence(?, 'id'), ?)", (table, number))
