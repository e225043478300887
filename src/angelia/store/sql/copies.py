"""The store's copies of its own log: one of each day, each looked through before it counts, the last seven kept.

Which are the last is told by what is in them: a day's name may be of a clock that was ahead, or behind.
"""

import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from angelia.core.crash import crash_point
from angelia.core.errors import StoreFull
from angelia.core.ids import sortable_id
from angelia.store.media.durable import sync_folder
from angelia.store.sql.connections import connect_to_unchanging
from angelia.store.sql.copy_folder import FOLDER, STAGED, copies
from angelia.store.sql.database import FILE, Database
from angelia.store.sql.faults import explained, full
from angelia.store.sql.upkeep import DAY_S, copy_log

KEPT = 7
_UNFINISHED = ".part-"


async def copy_daily(db: Database, now_ms: int) -> Path | None:
    """Put a copy of the log aside, unless the newest is of today already; returns it. `now_ms` is Unix milliseconds.

    A log that is not whole is not copied, and none of the copies before is given up for it: the oldest go only when a
    sound one has come. Blobs are not copied: they never change, and what is swept lies in the trash.

    Raises:
        StoreDamaged: the log is not whole; says where.
        StoreFull, StoreReadOnly: there is no room for it.
    """
    today = _of_day(db.home, now_ms)
    others = sorted((copy for copy in copies(db.home) if copy != today), key=_upto, reverse=True)
    if today.exists() and _upto(today) >= max(map(_upto, others), default=0):
        return None
    await _copy(db, today)
    with explained(db.home):
        for old in others[KEPT - 1 :]:
            old.unlink(missing_ok=True)
    return today


async def copy_anew(db: Database, now_ms: int) -> None:
    """Put one copy in place of all that there are, which hold what was erased from the log since; none where there is
    none. `now_ms` and errors as for `copy_daily`; all are there still if it fails.
    """
    shutil.rmtree(db.home / STAGED, ignore_errors=True)
    if earlier := copies(db.home):
        today = _of_day(db.home, now_ms)
        await _copy(db, today)
        with explained(db.home):
            for old in earlier:
                if old != today:
                    old.unlink(missing_ok=True)


def _of_day(home: Path, now_ms: int) -> Path:
    return home / FOLDER / f"{time.strftime('%Y-%m-%d', time.localtime(now_ms / 1000))}.db"


def _upto(copy: Path) -> int:
    """The place of the last entry that a copy holds, -1 where it cannot be read."""
    try:
        with closing(connect_to_unchanging(copy)) as connection:
            return int(connection.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()[0])
    except (sqlite3.Error, OSError):
        return -1


async def _copy(db: Database, to: Path) -> None:
    folder = to.parent
    with explained(db.home):
        folder.mkdir(mode=0o700, exist_ok=True)
        for left in folder.glob(f"{_UNFINISHED}*"):
            if left.stat().st_mtime < time.time() - DAY_S:  # else another process may be writing it
                left.unlink(missing_ok=True)
    _require_space(db.home)
    unfinished = folder / f"{_UNFINISHED}{sortable_id()}"
    await copy_log(db, unfinished)
    with explained(db.home):
        crash_point("copy.before_rename")
        unfinished.replace(to)
        sync_folder(folder)


def _require_space(home: Path) -> None:
    """Raises StoreFull: less than the size of another copy would be left free for what is said."""
    size = (home / FILE).stat().st_size
    if shutil.disk_usage(home).free < 2 * size:
        error = full(home)
        raise StoreFull(f"There is no room for today's copy of the log ({size / 1e6:.0f} MB).", error.what, error.then)
