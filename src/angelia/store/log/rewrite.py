"""Entries that come to say something else: what somebody had said is erased from a log that others go on with.

An entry keeps its place, number, time and kind, and the checksums from there on are made anew; all in one commit, with
an entry at the end that tells it, so whoever has read the log before knows that it has to be read anew. Bytes that
nothing refers to any more go. The daily copies have what was before, until they are made anew.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from angelia.core import codec
from angelia.core.entry import AnyFact, ConversationOpened, Entry, NoteDropped, NoteKept, NoteProposed
from angelia.core.errors import NotFound
from angelia.core.ids import ConversationId
from angelia.store.log import lease, projections, word_index
from angelia.store.log.chain import COLUMNS, COPIED, FIRST, StoredEntry, checksum, fits, kept_sums, without_sums
from angelia.store.log.erase import remove_unreferenced
from angelia.store.log.examined import damaged
from angelia.store.media.blobs import BlobStore
from angelia.store.port import LogStore, StoreConnection
from angelia.store.sql.tips import Tip

_OWNED = (
    ("conversations", "owner", "id"),
    ("spending", "principal", "conversation"),
    ("notes", "owner", "conversation"),
    ("schedules", "owner", "conversation"),
)
"""The tables and columns that say whose a conversation is."""


class Rewriting(Struct, frozen=True):
    """What becomes of the entries with these numbers, which are all there, and what is told at the end of the log."""

    conversation: ConversationId
    facts: Mapping[int, AnyFact]
    told: tuple[AnyFact, ...]


async def rewrite(db: LogStore, rewriting: Rewriting, blobs: BlobStore) -> list[str]:
    """Let entries say something else for good; returns the blobs that nothing refers to any more, which are gone.

    A crash before the commit changes nothing; after it, bytes may lie there that a sweep finds a day later.

    Raises:
        HeldElsewhere: somebody is working on the conversation.
        NotFound: there is none of this name.
        StoreDamaged: it is not whole.
    """
    freed = await db.write(lambda connection: _rewrite(connection, db, rewriting))
    removed = await remove_unreferenced(db, freed, blobs.remove)
    while await db.write(db.words.tidy):
        pass
    await db.checkpoint()
    await blobs.erased(removed)
    return removed


def _rewrite(connection: StoreConnection, db: LogStore, rewriting: Rewriting) -> list[str]:
    conversation = rewriting.conversation
    epoch = lease.take(connection, db, conversation, "`angelia people erase`", db.presence.ttl_ms)
    connection.execute("UPDATE leases SET presence = '', expires = 0 WHERE conversation = ?", (conversation,))
    (last,) = connection.execute("SELECT last_seq FROM conversations WHERE id = ?", (conversation,)).fetchone()
    db.tips.rewriting(conversation, last)
    before = _blobs(connection, conversation)
    tip = _rewritten(connection, db, rewriting)
    now = db.clock()
    for seq, fact in enumerate(rewriting.told, last + 1):
        row = (conversation, seq, now, epoch, codec.VERSION, codec.kind_of(fact), codec.encode(fact))
        tip = checksum(tip, row)
        (place,) = connection.execute(
            f"INSERT INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",  # noqa: S608 - fixed names
            (*row, tip),
        ).fetchone()
        projections.derive(connection, conversation, place, Entry(seq, now, fact), tip)
        db.tips.follow(Tip(conversation, seq, place, tip))
    return sorted(before - _blobs(connection, conversation))


def _rewritten(connection: StoreConnection, db: LogStore, rewriting: Rewriting) -> bytes:
    """Write the entries anew from the first that changes on; returns the last one's checksum."""
    conversation, words = rewriting.conversation, db.words
    query = f"SELECT id, {COLUMNS} FROM entries WHERE conversation = ? ORDER BY seq"  # noqa: S608 - fixed names
    found = [(place, StoredEntry(*row)) for place, *row in connection.execute(query, (conversation,)).fetchall()]
    if not found:
        raise NotFound(f"There is no conversation {conversation}.", then="`angelia sessions` lists them.")
    word_index.forget(connection, words, conversation)
    sums = kept_sums(found[0][1])
    facts = dict(rewriting.facts)
    if sums:
        facts[1] = without_sums(facts.get(1) or _fact(found[0][1]))
    first, before, tip = min(facts), FIRST, FIRST
    anew: list[tuple[object, ...]] = []
    for seq, (place, row) in enumerate(found, 1):
        if row.seq != seq or not fits(before, row, sums):
            raise damaged(connection, conversation)
        before = row.sum
        fact = facts.get(seq)
        own = row._replace(epoch=max(row.epoch, COPIED))
        unsigned = own[:7] if fact is None else (*own[:4], codec.VERSION, codec.kind_of(fact), codec.encode(fact))
        tip = row.sum if seq < first else checksum(tip, unsigned)
        if seq >= first:
            anew.append((place, *unsigned, tip))
    connection.execute("UPDATE conversations SET erasing = 1 WHERE id = ?", (conversation,))
    connection.execute("DELETE FROM entries WHERE conversation = ? AND seq >= ?", (conversation, first))
    connection.execute("UPDATE conversations SET erasing = NULL, tip = ? WHERE id = ?", (tip, conversation))
    connection.executemany(
        f"INSERT INTO entries (id, {COLUMNS}) {db.numbers.brought} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        anew,
    )
    word_index.put_again(connection, words, conversation)
    _derive_again(connection, conversation, [facts.get(row.seq) or _fact(row) for _, row in found])
    return tip


def _fact(row: StoredEntry) -> AnyFact:
    return codec.decode(row.body, version=row.version, where=f"Entry {row.seq} of {row.conversation}")


def _derive_again(connection: StoreConnection, conversation: ConversationId, facts: Sequence[AnyFact]) -> None:
    """Bring up to date what is derived from words and names: the title, whose it is, its notes, the bytes it refers to.
    Where its turns, deliveries and schedules stand does not change.
    """
    connection.execute("DELETE FROM blob_refs WHERE conversation = ?", (conversation,))
    connection.execute("UPDATE conversations SET title = '' WHERE id = ?", (conversation,))
    for fact in facts:
        projections.refer(connection, conversation, fact)
        projections.give_title(connection, conversation, fact)
        match fact:
            case ConversationOpened(owner=owner):
                for table, column, own in _OWNED:
                    query = f"UPDATE {table} SET {column} = ? WHERE {own} = ?"  # noqa: S608 - names from the table
                    connection.execute(query, (str(owner), conversation))
            case NoteProposed(number=number, text=text):
                query = "UPDATE notes SET text = ? WHERE number = ? AND conversation = ?"
                connection.execute(query, (text, number, conversation))
            case NoteKept(number=number, by=by) | NoteDropped(number=number, by=by):
                query = "UPDATE notes SET settled_by = ? WHERE number = ? AND conversation = ?"
                connection.execute(query, (str(by), number, conversation))
            case _:
                pass


def _blobs(connection: StoreConnection, conversation: ConversationId) -> set[str]:
    rows = connection.execute("SELECT sha256 FROM blob_refs WHERE conversation = ?", (conversation,)).fetchall()
    return {sha256 for (sha256,) in rows}
