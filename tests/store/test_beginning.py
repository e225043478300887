"""A home that several begin or open at once is made once, and stays whole for each of them."""

import sqlite3
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from angelia.core.entry import ConversationOpened
from angelia.core.ids import ConversationId
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import FILE, Database
from tests.store.processes import output
from tests.store.words import said

pytestmark = pytest.mark.anyio

NAME = ConversationId("c1")
COMES_AND_GOES = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(db.execute("SELECT count(*) FROM entries").fetchone()[0])
db.close()
"""


def test_a_database_that_another_process_is_just_making_is_waited_for(home: Path) -> None:
    """Neither has a write-ahead log yet: SQLite refuses that at once, whatever its patience is."""
    home.mkdir()
    other = sqlite3.connect(home / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    def refused(_: FrameType, event: str, called: Any) -> None:
        if event == "c_exception" and called.__name__ == "execute" and other.in_transaction:
            other.execute("ROLLBACK")

    sys.setprofile(refused)
    try:
        Database.open(home).close()
    finally:
        sys.setprofile(None)
    assert not other.in_transaction
    assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.close()


async def test_a_home_that_is_opened_twice_in_one_process_keeps_its_log_when_another_process_leaves(home: Path) -> None:
    """The last process that leaves takes the write-ahead log away; what is committed to a file without a name would be
    lost with this process.
    """
    one = Database.open(home)
    await Transcript(one).append(NAME, [ConversationOpened("terminal", "/")])
    two = Database.open(home)
    log = (home / f"{FILE}-wal").stat().st_ino
    assert output([sys.executable, "-c", COMES_AND_GOES, str(home / FILE)]) == ["1"]
    assert (home / f"{FILE}-wal").stat().st_ino == log
    await Transcript(one).append(NAME, [said("on")])
    assert [entry.seq for entry in await Transcript(two).entries(NAME)] == [1, 2]
    one.close()
    two.close()
