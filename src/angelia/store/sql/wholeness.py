"""Whether a log still ends where its tips say that it ended."""

from collections.abc import Iterator
from pathlib import Path

from angelia.core.counts import counted
from angelia.core.errors import StoreDamaged
from angelia.core.ids import ConversationId
from angelia.store.port import StoreConnection
from angelia.store.sql.tips import Tip, Tips, TipsJournal

_NAMED = 3
"""Conversations that an error names; `angelia store verify` names all."""


def require_whole(connection: StoreConnection, tips: TipsJournal, path: Path) -> None:
    """The newest entry that is known of is in the log, as it was stored. Costs one look, however long the log is.

    Raises:
        StoreDamaged: it is not: the log was cut off, emptied, or is another one.
    """
    newest = tips.read_end().newest
    if newest is not None and strays(connection, newest):
        raise not_whole(path, list(lost(connection, tips.read())))


def lost(connection: StoreConnection, tips: Tips) -> Iterator[str]:
    """What the log had once and has no more, a sentence for each conversation."""
    for tip in tips.known.values():
        if tip.conversation not in tips.erasing and (sentence := strays(connection, tip)):
            yield sentence


def not_whole(path: Path, sentences: list[str]) -> StoreDamaged:
    """The database is not the one that was written here last; `sentences` say what is missing."""
    more = f" And {len(sentences) - _NAMED} more like it." if len(sentences) > _NAMED else ""
    return StoreDamaged(
        f"The log in {path} is not whole. {' '.join(sentences[:_NAMED])}{more}",
        why="It was cut off, emptied, or replaced by another one since it was last written.",
        then="Nothing was changed. Put the right file back (`copies/` beside it holds one of each day), save what can "
        "be read with `angelia store salvage FOLDER`, or go on without with `angelia store accept`.",
    )


_OF_THE_INDEX = "FTS5 table"
"""In what SQLite says since 3.44 of the full-text index, as the connection remembers it: after another one has rebuilt
it that is no longer so. The index is looked at by itself, and is derived anew where it is damaged."""


def integrity(connection: StoreConnection) -> list[str]:
    """What SQLite finds wrong with the file, a sentence each; nothing of the full-text index.

    Raises:
        sqlite3.DatabaseError: it cannot be looked through.
    """
    said = [row[0] for row in connection.execute("PRAGMA integrity_check")]
    return [f"The database is damaged: {line}." for line in said if line != "ok" and _OF_THE_INDEX not in line]


def ends(connection: StoreConnection) -> Iterator[Tip]:
    """The last entry of each conversation, as the log has it."""
    rows = connection.execute(
        "SELECT conversation, seq, id, sum FROM entries WHERE (conversation, seq) IN"
        " (SELECT conversation, max(seq) FROM entries GROUP BY conversation)"
    )
    for conversation, seq, place, checksum in rows:
        yield Tip(ConversationId(conversation), seq, place, checksum)


def strays(connection: StoreConnection, tip: Tip) -> str:
    """What is wrong with the end of a conversation, by its tip; empty if it is there."""
    row = connection.execute(
        "SELECT sum FROM entries WHERE conversation = ? AND seq = ?", (tip.conversation, tip.seq)
    ).fetchone()
    if row is not None:
        return "" if row[0] == tip.sum else f"Entry {tip.seq} of {tip.conversation} is not what was stored there."
    (last,) = connection.execute(
        "SELECT coalesce(max(seq), 0) FROM entries WHERE conversation = ?", (tip.conversation,)
    ).fetchone()
    if not last:
        return f"The conversation {tip.conversation} with {counted(tip.seq, 'entry')} is not there."
    return f"The conversation {tip.conversation} had {counted(tip.seq, 'entry')}, and has {last}."
