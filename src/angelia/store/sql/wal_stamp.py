"""Whether anybody has committed, as the write-ahead log's file tells: a look at it takes some microseconds."""

import time
from pathlib import Path

_YOUNG_NS = 50_000_000
"""A file system's clock ticks some hundred times a second: what was written so lately may be written again, over what
stood there before, and look the same."""


def wal_stamp(database: Path) -> tuple[int, int, int] | None:
    """What changes with each commit to this SQLite file; None where a commit of the next moment might not change it.

    Each commit is written into the write-ahead log (https://sqlite.org/wal.html), often over what an older one left
    there, so that its size may stay and its time alone tell.
    """
    try:
        found = database.with_name(f"{database.name}-wal").stat()
    except OSError:  # there is none, where nobody writes
        return None
    if found.st_mtime_ns > time.time_ns() - _YOUNG_NS:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
