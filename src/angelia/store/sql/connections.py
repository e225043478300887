"""Connections to databases: to write, to read where perhaps nobody may write, to new files, to none."""

import os
import sqlite3
import time
from pathlib import Path
from urllib.parse import quote

from angelia.core.errors import StoreError
from angelia.store.sql.schema import STEPS

_PAGES_KEPT_KIB = 1024
"""Of the file, for each connection; half of what SQLite would keep, since the system holds the whole file anyway."""
_LOG_KEPT = 64 * 1024 * 1024
"""Bytes that the write-ahead log may keep on disk after a checkpoint."""


def connect(path: Path, patience_s: float) -> sqlite3.Connection:
    """A connection to a home's database, with all its settings.

    Raises:
        sqlite3.Error: it cannot be opened.
        StoreError: its file system cannot hold a write-ahead log.
    """
    connection = sqlite3.connect(path, timeout=patience_s, isolation_level=None, check_same_thread=False)
    try:
        mode = _begin_log(connection, patience_s)
        if mode != "wal":
            raise StoreError(
                f"{path} cannot use a write-ahead log (it stays in mode {mode}).",
                why="Its file system does not share memory between processes; network drives usually do not.",
                then="Choose a home on a local disk with ANGELIA_HOME.",
            )
        for pragma in (
            "synchronous = FULL",
            "fullfsync = ON",
            "foreign_keys = ON",
            "recursive_triggers = ON",
            "secure_delete = ON",
            f"journal_size_limit = {_LOG_KEPT}",
            f"cache_size = -{_PAGES_KEPT_KIB}",
            "temp_store = MEMORY",  # what a fork copies and what is sorted is put down nowhere beside the home
        ):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _begin_log(connection: sqlite3.Connection, patience_s: float) -> str:
    """Let it have a write-ahead log, and return the mode that it is in then.

    Where two processes make a database at once, SQLite does not wait for the other one here and says at once that it
    is locked; it does where a transaction begins.
    """
    end = time.monotonic() + patience_s
    while True:
        try:
            return str(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection to the database at `path` that cannot write, nor move the write-ahead log into it at its end: of a
    log that lost its middle, SQLite would take the beginning for the whole, and throw the rest away.

    A write-ahead log is read with shared memory, which has to be made where it is missing. Where it cannot be made, a
    database without a log is read as one that nobody changes, and one with a log from a copy of both.

    Raises:
        sqlite3.Error, OSError: it cannot be read.
    """
    if os.access(path.parent, os.W_OK) and os.access(path, os.W_OK):
        return _to_read(path, "mode=ro")
    log = path.with_name(f"{path.name}-wal")
    if not log.exists() or not log.stat().st_size:
        return _to_read(path, "mode=ro&immutable=1")
    import shutil

    from angelia.held_folder import HeldFolder  # few homes may not be written to

    with HeldFolder() as folder:
        for file in (path, log):
            shutil.copyfile(file, folder / file.name)
        return _to_read(folder / path.name, "mode=rw")  # open files stay readable without their names


def connect_to_unchanging(path: Path) -> sqlite3.Connection:
    """A connection to a database that nobody changes meanwhile, such as a copy; nothing is made beside it.

    Raises:
        sqlite3.Error: it cannot be read.
    """
    return _to_read(path, "mode=ro&immutable=1")


def foreign_copy(path: Path) -> sqlite3.Connection:
    """A connection to a copy, made for this, of a database that another program wrote: nothing that it holds is run
    (https://sqlite.org/security.html), no value has more than 64 MB, and bytes that are no UTF-8 become a sign.

    Raises:
        sqlite3.Error: it cannot be read.
    """
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 64_000_000)
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", "query_only = ON"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("SELECT count(*) FROM sqlite_schema")
    except BaseException:
        connection.close()
        raise
    return connection


def new_file(path: Path) -> sqlite3.Connection:
    """A connection to a new file that nobody else has open, for its owner alone: SQLite's own would follow the umask.

    Raises:
        OSError: it exists, or cannot be made.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return sqlite3.connect(path, isolation_level=None)


def scratch() -> sqlite3.Connection:
    """An empty database of the present version, in a temporary file that nobody else sees; for comparisons."""
    connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    for step in STEPS:
        for statement in step:
            connection.execute(statement)
    return connection


def _to_read(path: Path, how: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path))}?{how}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema")  # the files are opened now
        connection.execute("PRAGMA query_only = ON")
    except BaseException:
        connection.close()
        raise
    return connection
