"""What a loss of power leaves of a home is what was committed, and half of what was not."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from angelia.store.sql.database import FILE
from angelia.testing.certificates.power_loss import lose_power


def test_what_was_committed_stays_and_what_was_being_written_is_half_there(tmp_path: Path) -> None:
    home, left = tmp_path / "home", tmp_path / "left"
    home.mkdir()
    with closing(sqlite3.connect(home / FILE, isolation_level=None)) as open_still:
        for line in ("PRAGMA journal_mode = WAL", "PRAGMA cache_size = 5", "CREATE TABLE t (x)"):
            open_still.execute(line)
        for number in range(3):
            open_still.execute("INSERT INTO t VALUES (?)", (number,))
        flushed = (home / f"{FILE}-wal").stat().st_size
        open_still.execute("BEGIN")
        open_still.executemany("INSERT INTO t VALUES (?)", [("x" * 3_000,)] * 100)
        shutil.copytree(home, left)  # as a kill leaves it
        open_still.execute("ROLLBACK")
    before = (left / f"{FILE}-wal").stat().st_size
    lose_power(left)
    assert flushed < (left / f"{FILE}-wal").stat().st_size < before
    assert not (left / f"{FILE}-shm").exists()
    with closing(sqlite3.connect(left / FILE)) as opened:
        assert opened.execute("SELECT x FROM t").fetchall() == [(0,), (1,), (2,)]
        assert opened.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
