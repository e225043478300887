"""Bring a database up to the version of this program, forward only, with a copy put aside first."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from angelia.core.errors import StoreError
from angelia.store.sql import schema
from angelia.store.sql.connections import connect_to_read, new_file

Step = Sequence[str]
"""The statements that lead from one version to the next."""

STEPS: tuple[Step, ...] = schema.STEPS


def migrate(connection: sqlite3.Connection, path: Path, steps: Sequence[Step] = STEPS) -> None:
    """Apply the steps that are missing, all in one transaction: nobody meets a database between two versions, and of
    two processes that try at once the second finds it done.

    Before a database with something in it is changed, it is copied to `angelia.db.v<version>` beside it.

    Raises:
        StoreError: a newer Angelia wrote the database, or it belongs to another program.
    """
    if require_known(connection, path, steps) == len(steps):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = require_known(connection, path, steps)  # another process may have been quicker
        if 0 < version < len(steps):
            _copy(path, path.with_name(f"{path.name}.v{version}"))
        for step in steps[version:]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION}")
        connection.execute(f"PRAGMA user_version = {len(steps)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite itself ends it when the disk fails
            connection.execute("ROLLBACK")
        raise


def require_known(connection: sqlite3.Connection, path: Path, steps: Sequence[Step] = STEPS) -> int:
    """The version of a database; it is one of ours, or empty.

    Raises:
        StoreError: a newer Angelia wrote the database, or it belongs to another program.
    """
    version = _version(connection)
    if version > len(steps):
        raise StoreError(
            f"{path} has store format {version}, and this Angelia knows formats up to {len(steps)}.",
            why="A newer Angelia wrote it.",
            then="Update this Angelia; nothing has been changed.",
        )
    _refuse_a_stranger(connection, path)
    return version


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _refuse_a_stranger(connection: sqlite3.Connection, path: Path) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if tables and application == schema.UNKEPT:
        raise StoreError(
            f"{path} was written by a version before the first release, whose format is not kept.",
            then="Move it aside, or choose another home with ANGELIA_HOME; nothing was changed.",
        )
    if tables and application != schema.APPLICATION:
        raise StoreError(
            f"{path} is a database of another program.",
            then="Choose another home with ANGELIA_HOME; nothing was changed.",
        )


def _copy(path: Path, to: Path) -> None:
    to.unlink(missing_ok=True)
    with closing(connect_to_read(path)) as source, closing(new_file(to)) as copy:
        source.backup(copy)
