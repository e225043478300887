"""A database of another agent, read from a copy: even looking at one in its place writes files beside it."""

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from angelia.held_folder import HeldFolder
from angelia.service.imports.old_home import OldHome, UnreadableFile
from angelia.store.sql.connections import foreign_copy

_PARTS = ("", "-wal")
_TRIES = 3
"""How often it is copied while somebody writes to it."""


class OldDatabase:
    """The tables of a database, and no views: what they would compute is whoever's wrote the file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._tables: dict[str, frozenset[str]] = {}
        for (name,) in self.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"):
            if isinstance(name, str) and name.isidentifier():
                columns = self.rows(f"PRAGMA table_info({name})")
                self._tables[name] = frozenset(str(column[1]) for column in columns)

    def has(self, table: str, *columns: str) -> bool:
        """Whether there is a table with these columns."""
        return table in self._tables and self._tables[table].issuperset(columns)

    def column(self, table: str, name: str, otherwise: str = "NULL") -> str:
        """The name of a column, as a query names it; `otherwise` where older versions have none."""
        return name if self.has(table, name) else otherwise

    def rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """All rows of a query.

        Raises:
            UnreadableFile: the database is damaged there.
        """
        try:
            return self._connection.execute(query, values).fetchall()
        except (sqlite3.Error, MemoryError) as error:
            raise UnreadableFile(f"the database is damaged: {error}") from error


@contextmanager
def old_database(home: OldHome, path: str) -> Iterator[OldDatabase]:
    """The database at `path`, with what its write-ahead log holds.

    Raises:
        UnreadableFile: it cannot be copied, is written to all the time, or is no database.
    """
    with HeldFolder() as folder:
        copy = folder / "copy.db"
        _copy_still(home, path, copy)
        try:
            connection = foreign_copy(copy)
        except sqlite3.Error as error:
            raise UnreadableFile(f"it is no database that can be read: {error}") from error
        with closing(connection):
            yield OldDatabase(connection)


def _copy_still(home: OldHome, path: str, copy: Path) -> None:
    for _ in range(_TRIES):
        before = _state(home, path)
        for ending in _PARTS[: len(before)]:
            _copy(home, f"{path}{ending}", Path(f"{copy}{ending}"))
        if _state(home, path) == before:
            return
    raise UnreadableFile("somebody writes to it all the time: end the other agent, or copy its home first")


def _copy(home: OldHome, path: str, to: Path) -> None:
    with home.open(path) as file, to.open("wb") as target:
        try:
            shutil.copyfileobj(file, target, 1 << 20)
        except OSError as error:
            raise UnreadableFile(f"it cannot be copied: {error.strerror}") from error


def _state(home: OldHome, path: str) -> list[tuple[int, int]]:
    found = []
    for ending in _PARTS:
        with suppress(OSError):  # most have no write-ahead log
            known = (home.path / f"{path}{ending}").lstat()
            found.append((known.st_size, known.st_mtime_ns))
    return found
