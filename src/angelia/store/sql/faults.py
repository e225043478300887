"""What SQLite and the file system complain about, as errors that say what to do."""

import errno
import os
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from angelia.core.errors import BadInput, StoreBusy, StoreDamaged, StoreError, StoreFull, StoreReadOnly, fault_words

_NEARLY_NOTHING = 64 * 1024
"""Bytes. SQLite reports some writes to a full disk as plain I/O errors; with less than this free, it is full."""

SPACE_FOR_REPLIES = 8_000_000
"""Bytes. The longest replies, of some 128,000 tokens, are half a megabyte, which is written into the log of the
database, into its index, and later into the database itself; several conversations may be answered at once.
"""

_IN_VAIN = "An answer that cannot be stored would be paid for in vain, so no model was asked."

_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}


@contextmanager
def explained(home: Path) -> Iterator[None]:
    """Whatever SQLite or the file system complains about while working on `home` says what to do about it."""
    try:
        yield
    except OSError as error:
        raise of_os(error, home) from error
    except sqlite3.Error as error:
        told = of_sqlite(error, home)
        if told is error:
            raise
        raise told from error
    except OverflowError as error:
        told = beyond(error)
        if told is error:
            raise
        raise told from error
    except UnicodeDecodeError as error:  # Python reads what SQLite says of a damaged file, which may quote the file
        raise _damaged(home, str(error)) from error


def beyond(error: OverflowError) -> Exception:
    """The error to raise for a number that no row can have; another overflow stays what it is."""
    if "SQLite INTEGER" not in str(error):
        return error
    return BadInput("No number is as large as the one that is asked for.", then="Give one that is listed.")


def of_sqlite(error: sqlite3.Error, home: Path, holders: tuple[str, ...] = ()) -> Exception:
    """The error to raise in place of SQLite's own; one that is a fault of ours (a constraint, a typo) stays itself.

    `holders` names the processes that share the home, for the one that has to wait for them.
    """
    match getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF:
        case sqlite3.SQLITE_FULL:
            return full(home)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return read_only(home, str(error))
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED | sqlite3.SQLITE_PROTOCOL:
            return StoreBusy(
                f"Another process keeps the database in {home} locked.",
                why=f"These share it: {'; '.join(holders)}." if holders else "",
                then="Nothing was written; try again, or end that process.",
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return _damaged(home, str(error))
        case sqlite3.SQLITE_IOERR:
            if free_bytes(home) < _NEARLY_NOTHING:
                return full(home)
            if size_limit() < _largest(home) + 2 * _NEARLY_NOTHING:
                return limited(home)
            if (refused := _refused(home)) is not None:  # SQLite keeps to itself what the system said
                return of_os(refused, home)
            return StoreError(
                f"The disk that holds {home} reports an error: {error}.",
                then="What was being stored is not acknowledged, and may or may not be there. Look at the disk.",
            )
        case _:
            return error


def damaging(error: sqlite3.Error) -> bool:
    """Whether SQLite says that what it read is damaged."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def of_os(error: OSError, home: Path) -> StoreError:
    """The error to raise when a file in the home cannot be read or written."""
    if error.errno == errno.ENOSPC:
        return full(home)
    if error.errno == errno.EDQUOT:
        return over_quota(home)
    if error.errno == errno.EFBIG:
        return limited(home)
    if error.errno in _READ_ONLY:
        return read_only(home, error.strerror or str(error))
    what = error.filename if isinstance(error.filename, str) else f"A file in {home}"
    return StoreError(
        f"{what} cannot be used: {fault_words(error)}.", then="Mend that, or choose another home with ANGELIA_HOME."
    )


def _damaged(home: Path, said: str) -> StoreDamaged:
    return StoreDamaged(
        f"The database in {home} is damaged: {said}.",
        then="`angelia store verify` says what is wrong; `angelia store salvage FOLDER` saves what can be read;"
        " `copies/` in the home holds a copy of each day.",
    )


def full(home: Path) -> StoreFull:
    """The disk is full."""
    return StoreFull(
        f"The disk that holds {home} is full ({free_bytes(home) / 1e6:.1f} MB free).",
        then="What was being stored was not accepted; everything stored before is safe. Free some space and try again.",
    )


def require_space(home: Path) -> None:
    """Require room for what is paid for now and comes later. Others may take it before that comes.

    Raises:
        StoreFull: there are less than `SPACE_FOR_REPLIES` free, or files may not become as large.
    """
    try:
        disk, may_grow = os.statvfs(home), size_limit() - _largest(home)
    except OSError:  # whoever writes there next says why
        return
    if may_grow < SPACE_FOR_REPLIES:
        error = limited(home)
        raise StoreFull(error.what, f"{error.why} {_IN_VAIN}", error.then)
    free = disk.f_bavail * disk.f_frsize
    if free < SPACE_FOR_REPLIES:
        raise StoreFull(
            f"The disk that holds {home} is nearly full ({free / 1e6:.1f} MB free of the"
            f" {SPACE_FOR_REPLIES / 1e6:.0f} MB that an answer may need).",
            why=_IN_VAIN,
            then="Everything stored before is safe. Free some space and try again.",
        )


def over_quota(home: Path) -> StoreFull:
    """What we may store is used up; the disk may have room."""
    return StoreFull(
        f"Your share of the disk that holds {home} is used up ({free_bytes(home) / 1e6:.1f} MB of the disk are free).",
        why="There is a quota on what you may store there.",
        then="What was being stored was not accepted; everything stored before is safe. Free some space (`quota -s`"
        " tells how much) and try again.",
    )


def _refused(home: Path) -> OSError | None:
    """What the system says to a small file in the home; None if it takes it."""
    import tempfile  # where a disk fails alone

    try:
        with tempfile.TemporaryFile(dir=home) as file:
            file.write(bytes(_NEARLY_NOTHING))
    except OSError as error:
        return error
    return None


def limited(home: Path) -> StoreFull:
    """Files of this process may not become as large; the disk may have room."""
    return StoreFull(
        f"A file in {home} may not grow beyond {size_limit() / 1e6:.1f} MB.",
        why="This process has a limit on the size of files.",
        then="What was being stored was not accepted; everything stored before is safe. Raise the limit (`ulimit -f`) "
        "and try again.",
    )


def size_limit() -> float:
    """Bytes that a file of this process may have at most."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return float("inf") if most == resource.RLIM_INFINITY else float(most)


def _largest(home: Path) -> int:
    """Bytes of the largest file of the database."""
    return max((path.stat().st_size for path in home.glob("angelia.db*")), default=0)


def read_only(home: Path, said: str) -> StoreReadOnly:
    """The home may not be written."""
    return StoreReadOnly(
        f"{home} cannot be written: {said}.",
        then="Nothing was stored. Make it writable for you, or choose another home with ANGELIA_HOME.",
    )


def free_bytes(home: Path) -> int:
    """Bytes that this user may still write on the home's disk, 0 when nobody can say."""
    try:
        disk = os.statvfs(home)
    except OSError:
        return 0
    return disk.f_bavail * disk.f_frsize
