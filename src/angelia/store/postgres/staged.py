"""A log that is being copied into PostgreSQL: a table says so until it is whole, and nobody else opens it."""

from pathlib import Path

from angelia.core.errors import BadInput
from angelia.store.postgres.commits import LOCKS
from angelia.store.postgres.connection import PostgresConnection
from angelia.store.postgres.database import PostgresDatabase
from angelia.store.postgres.schema import COPYING, copying_exists, creation, exists


class StagedPostgres:
    """See `store.log.copying.StagedLog`."""

    def __init__(self, db: PostgresDatabase) -> None:
        self.db = db

    @classmethod
    def open(cls, address: str, home: Path, filled: tuple[str, ...], *, password: str) -> "StagedPostgres":
        """Begin one, or go on with what is there of one; `filled` names tables that are empty where there is no log.

        Raises:
            BadInput: there is a log already.
            MissingPart, StoreError: as `PostgresDatabase.open`.
        """

        def stage(connection: PostgresConnection, where: str) -> None:
            connection.command("BEGIN")
            connection.execute("SELECT pg_advisory_xact_lock(?, hashtext(current_schema()))", (LOCKS,))
            if not exists(connection):
                connection.command(f"{creation()}{COPYING}")
            elif not copying_exists(connection):
                if _holds_something(connection, filled):
                    raise BadInput(
                        f"There is a log in {where} already.",
                        "A log is copied to where there is none, so that none is lost.",
                        "Name an empty database, or another schema: `?options=-csearch_path%3DNAME`.",
                    )
                connection.command(COPYING)
            connection.command("COMMIT")

        return cls(PostgresDatabase.open(address, home, password=password, tables=stage))

    async def finish(self) -> None:
        """See `store.log.copying.StagedLog`."""
        await self.db.write(lambda connection: connection.execute("DROP TABLE copying"))
        self.db.close()


def _holds_something(connection: PostgresConnection, tables: tuple[str, ...]) -> bool:
    return any(connection.execute(f"SELECT EXISTS (SELECT 1 FROM {table})").fetchone()[0] for table in tables)  # noqa: S608
