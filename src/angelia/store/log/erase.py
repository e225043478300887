"""The one way in which anything is erased: a whole conversation, with the bytes that nothing else refers to."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from angelia.core.crash import crash_point
from angelia.core.ids import ConversationId
from angelia.store.log import lease, word_index
from angelia.store.log.references import referred_among
from angelia.store.media.blobs import BlobStore
from angelia.store.port import UNSTORED, Job, LogStore, StoreConnection, WordIndex, under
from angelia.store.sql.connections import connect
from angelia.store.sql.copy_folder import STAGED, copies
from angelia.store.sql.full_text import FullText
from angelia.store.tables.schedules import note_key

_COPY_PATIENCE_S = 5.0
_COPIED = "erased-yet-copied:"
"""Before the id of a conversation that is erased, and may still be in the daily copies."""
_AT_ONCE = 64
"""Files removed within one transaction: others wait for it."""


async def erase(
    db: LogStore, conversation: ConversationId, blobs: BlobStore, condition: Job[None] | None = None
) -> None:
    """Erase the log, all that is derived from it, its words in the index, and its bytes; from the daily copies too.

    With a `condition` it begins with that, in the same transaction: what it raises is raised, and nothing is erased.

    A crash after the commit leaves orphan blobs, which `remove_unreferenced` finds a day later, and what the copies
    hold, which `erase_from_copies` ends then.

    Raises:
        HeldElsewhere: somebody is working on the conversation.
        NotFound: there is none of this name.
        StoreUnreachable: all is erased but its bytes where `blobs` says that they lie; a sweep puts them aside there.
    """
    freed = await db.write(under(condition, lambda connection: _erase(connection, db, conversation)))
    removed = await remove_unreferenced(db, freed, blobs.remove)
    while await db.write(db.words.tidy):
        pass
    await db.checkpoint()
    await _erase_from_copies(db, conversation)
    await blobs.erased(removed)


async def erase_from_copies(db: LogStore) -> None:
    """Erase from the daily copies what is erased from the log, and whose erasing did not come so far."""
    for conversation in await db.read(_copied):
        await _erase_from_copies(db, conversation)


async def _erase_from_copies(db: LogStore, conversation: ConversationId) -> None:
    crash_point("erase.before_copies")
    await asyncio.to_thread(_erase_in_copies, db.home, conversation)
    done = f"{_COPIED}{conversation}"
    await db.write(lambda connection: connection.execute("DELETE FROM remembered WHERE key = ?", (done,)))


def _copied(connection: StoreConnection) -> list[ConversationId]:
    query = "SELECT key FROM remembered WHERE substr(key, 1, ?) = ?"
    found = connection.execute(query, (len(_COPIED), _COPIED)).fetchall()
    return [ConversationId(key.removeprefix(_COPIED)) for (key,) in found]


async def remove_unreferenced(db: LogStore, candidates: list[str], remove: Callable[[str], None]) -> list[str]:
    """Let `remove` take those of `candidates` away that no conversation refers to; returns them.

    The look and the removal are one write transaction, and an append refuses references to bytes that are gone:
    so nobody, in any process, can come to refer to a blob that is being removed.
    """
    removed = []
    for start in range(0, len(candidates), _AT_ONCE):
        some = candidates[start : start + _AT_ONCE]
        removed += await db.write(partial(_remove, candidates=some, remove=remove))
    return removed


def _remove(connection: StoreConnection, candidates: list[str], remove: Callable[[str], None]) -> list[str]:
    referred = referred_among(connection, candidates)
    orphans = [sha256 for sha256 in candidates if sha256 not in referred]
    for sha256 in orphans:
        remove(sha256)
    return orphans


def _erase(connection: StoreConnection, db: LogStore, conversation: ConversationId) -> list[str]:
    lease.take(connection, db, conversation, "`angelia delete`", db.presence.ttl_ms)
    rows = connection.execute(
        "SELECT sha256 FROM blob_refs AS mine WHERE conversation = ? AND NOT EXISTS"
        " (SELECT 1 FROM blob_refs WHERE sha256 = mine.sha256 AND conversation <> mine.conversation)",
        (conversation,),
    ).fetchall()
    _erase_rows(connection, db.words, conversation)
    connection.execute("INSERT INTO remembered VALUES (?, '') ON CONFLICT DO NOTHING", (f"{_COPIED}{conversation}",))
    db.tips.erasing(conversation)
    return [sha256 for (sha256,) in rows]


def _erase_rows(connection: StoreConnection, words: WordIndex, conversation: ConversationId) -> None:
    word_index.forget(connection, words, conversation)
    connection.execute(
        "INSERT INTO spending_erased SELECT at, principal, model, cost, input, output, cache_read, cache_write"
        " FROM spending WHERE conversation = ?",
        (conversation,),
    )
    connection.execute("UPDATE conversations SET erasing = 1 WHERE id = ?", (conversation,))
    derived = (
        "inbox",
        "outbox",
        "pieces",
        "reached",
        "doors",
        "spending",
        "blob_refs",
        "notes",
        "schedules",
        "occurrences",
        "questions",
    )
    for table in ("entries", *derived, "grants", "leases"):
        connection.execute(f"DELETE FROM {table} WHERE conversation = ?", (conversation,))  # noqa: S608 - fixed names
    connection.execute("DELETE FROM remembered WHERE key = ?", (note_key(conversation),))
    connection.execute("DELETE FROM conversations WHERE id = ?", (conversation,))


def _erase_in_copies(home: Path, conversation: ConversationId) -> None:
    """What is erased is erased for good, a reply that waits to be stored, too: a copy that cannot be opened any more
    goes as a whole, and one that was not finished, which begins anew.
    """
    shutil.rmtree(home / STAGED, ignore_errors=True)
    (home / UNSTORED / conversation).unlink(missing_ok=True)
    words = FullText()
    for path in copies(home):
        try:
            with closing(connect(path, _COPY_PATIENCE_S)) as copy:
                copy.execute("BEGIN IMMEDIATE")
                _erase_rows(copy, words, conversation)
                copy.execute("COMMIT")
                while words.tidy(copy):
                    pass
        except sqlite3.DatabaseError:
            path.unlink(missing_ok=True)
