"""Entries as another version, or somebody else, would put them into a log."""

import sqlite3

from angelia.core.ids import ConversationId
from angelia.store.log.chain import checksum


def insert(
    connection: sqlite3.Connection, conversation: ConversationId, seq: int, body: bytes, *, version: int = 1
) -> None:
    """An entry of a kind that nobody knows, with the checksum that it ought to have."""
    (before,) = connection.execute("SELECT tip FROM conversations WHERE id = ?", (conversation,)).fetchone()
    row = (conversation, seq, 0, 0, version, "Dreamt", body)
    columns = "conversation, seq, at, epoch, version, kind, body, sum"
    connection.execute(
        f"INSERT INTO entries ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (*row, checksum(before, row)),
    )
    connection.execute("UPDATE conversations SET last_seq = ? WHERE id = ?", (seq, conversation))
