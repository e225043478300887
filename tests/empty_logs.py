"""A home's first database, copied from one that has nothing in it yet: to make its tables takes 10 ms of a processor.

How they are made is seen in `tests/store`, where every log is.
"""

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

from angelia.store.sql import database
from angelia.store.sql.database import FILE, Database

MADE = database._make_home
"""As a home is made where nobody has a log that is empty."""


def copied() -> Callable[[Path], None]:
    """As a home is made, with a log in it."""
    _empty_log()  # before anybody counts on it
    return _with_empty_log


def copy_empty_logs() -> None:
    """From here on this process does so."""
    vars(database)["_make_home"] = copied()


@cache
def _empty_log() -> tuple[bytes, int]:
    """What its file holds, and where in it stands since when there is this log."""
    with tempfile.TemporaryDirectory() as folder:
        with closing(Database.open(Path(folder))) as log:
            assert log._writer is not None
            (born,) = log._writer.execute("SELECT at FROM born").fetchone()
        made = (Path(folder) / FILE).read_bytes()
    assert made.count(_stamp(born)) == 1
    return made, made.index(_stamp(born))


def _stamp(seconds: int) -> bytes:
    """As SQLite writes it."""
    return seconds.to_bytes(4, "big")


def _with_empty_log(home: Path) -> None:
    """Whole, or not at all: of two processes that make a home at once the second finds it done."""
    log, born = _empty_log()
    if not home.exists():
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(OSError):
        if not (home / FILE).exists():
            handle = os.open(home, os.O_TMPFILE | os.O_RDWR, 0o600)
            try:
                os.write(handle, log[:born] + _stamp(int(time.time())) + log[born + 4 :])
                # With a descriptor Python asks for links to be followed; without one Linux follows none.
                os.link(f"/proc/self/fd/{handle}", home / FILE, src_dir_fd=handle, follow_symlinks=True)
            finally:
                os.close(handle)
    MADE(home)
