"""The log that tests begin with is the one that a first start makes."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from angelia.store.sql import database
from angelia.store.sql.database import FILE, Database
from angelia.store.sql.migrate import require_known
from angelia.store.sql.schema import VERSION
from tests.empty_logs import copied


def all_in(home: Path) -> list[object]:
    """Every table and row of a new log, but for when it was made."""
    Database.open(home).close()
    with closing(sqlite3.connect(home / FILE)) as log:
        told = [log.execute(f"PRAGMA {name}").fetchone() for name in ("user_version", "application_id", "journal_mode")]
        rows = [line for line in log.iterdump() if not line.startswith('INSERT INTO "born"')]
        return [(home / FILE).stat().st_mode, *told, *rows]


def test_a_log_that_is_copied_is_as_one_that_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, found = all_in(tmp_path / "made"), list[int]()
    monkeypatch.setattr(database, "_make_home", copied())
    monkeypatch.setattr(database, "migrate", lambda log, path: found.append(require_known(log, path)))
    assert all_in(tmp_path / "copied") == made
    assert found == [VERSION], "nothing was left to make"
