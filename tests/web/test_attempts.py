"""Who tried to log in: a row keeps its name while it grows and moves."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from angelia.faces.web.access.attempts import LoginAttempts
from angelia.faces.web.access.logins import Visitor
from angelia.store.sql.database import Database
from angelia.store.tables.key_value import KeyValue

pytestmark = pytest.mark.anyio

PERSON = Visitor("203.0.113.9", "A browser")


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[KeyValue]:
    db = Database.open(tmp_path / "home", clock=lambda: 1_000)
    yield KeyValue(db)
    db.close()


async def test_a_row_keeps_its_name_while_others_come_before_it_and_while_it_grows(rows: KeyValue) -> None:
    """All in one millisecond: a page that shows one row goes on showing that row."""
    attempts = LoginAttempts(rows, lambda: 1_000)
    await attempts.add("password", PERSON, "It is another one.")
    (failed,) = await attempts.all()
    await attempts.add("password", PERSON)
    await attempts.add("password", PERSON, "It is another one.")
    grown, let_in = await attempts.all()
    assert (grown.first, grown.times) == (failed.first, 2)
    assert let_in.first != failed.first


async def test_a_row_of_an_older_version_has_a_name_too(rows: KeyValue) -> None:
    await rows.put("web-attempts", '[{"at": 7, "by": "link", "address": "::1", "browser": "B"}]')
    (old,) = await LoginAttempts(rows, lambda: 1_000).all()
    assert (old.at, old.first) == (7, 7)
