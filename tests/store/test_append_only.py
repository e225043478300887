"""SQL that would change the past is refused by the database itself."""

import sqlite3
from pathlib import Path

import pytest

from angelia.core.ids import ConversationId
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import FILE, Database
from tests.store.words import said

pytestmark = pytest.mark.anyio

COLUMNS = "conversation, seq, at, epoch, version, kind, body, sum"
REST = "0, 0, 1, 'X', x'', x''"
CHANGES = {
    "update": "UPDATE entries SET body = x'7b7d'",
    "move": "UPDATE entries SET seq = seq + 10",
    "delete one": "DELETE FROM entries WHERE seq = 2",
    "delete all": "DELETE FROM entries",
    "replace by number": f"INSERT OR REPLACE INTO entries ({COLUMNS}) VALUES (:conversation, 2, {REST})",
    "replace by row": f"INSERT OR REPLACE INTO entries (id, {COLUMNS}) VALUES (1, :conversation, 9, {REST})",
    "insert before the end": f"INSERT INTO entries ({COLUMNS}) VALUES (:conversation, 0, {REST})",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
async def test_the_log_refuses_to(
    change: str, home: Path, transcript: Transcript, conversation: ConversationId
) -> None:
    await transcript.append(conversation, [said("one"), said("two")])
    before = await transcript.entries(conversation)
    stranger = sqlite3.connect(home / FILE, isolation_level=None)  # without any of our settings
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        stranger.execute(change, {"conversation": conversation} if ":" in change else {})
    stranger.close()
    assert await transcript.entries(conversation) == before


async def test_a_mark_for_erasing_holds_within_its_transaction_only(
    db: Database, transcript: Transcript, conversation: ConversationId
) -> None:
    def mark(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE conversations SET erasing = 1")

    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        await db.write(mark)
    assert await transcript.append(conversation, [said("still here")])


async def test_a_mark_does_not_let_go_of_other_conversations(
    db: Database, transcript: Transcript, conversation: ConversationId
) -> None:
    def mark_one_and_delete_all(connection: sqlite3.Connection) -> None:
        columns = "id, opened_at, door, owner, workspace, sandbox, place, erasing"
        connection.execute(f"INSERT INTO conversations ({columns}) VALUES ('other', 0, '', '', '', '', '', 1)")
        connection.execute("DELETE FROM entries")

    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        await db.write(mark_one_and_delete_all)
    assert len(await transcript.entries(conversation)) == 1
