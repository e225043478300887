"""Saving all that can be read of a damaged home into a new one, and saying what could not be."""

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from msgspec import Struct

from angelia.core import codec
from angelia.core.entry import AnyFact, ConversationOpened, KeptSums, SystemSaid
from angelia.core.errors import BadInput, CodecError, NotFound, StoreDamaged, fault_words
from angelia.core.ids import ConversationId
from angelia.store.log.chain import (
    COPIED,
    FIRST,
    StoredEntry,
    Unsigned,
    checksum,
    expected,
    fits,
    kept_sums,
    without_sums,
)
from angelia.store.log.projections import derive_stored
from angelia.store.log.references import blobs_in
from angelia.store.log.word_index import catch_up
from angelia.store.media.blobs import BlobStore
from angelia.store.sql.connections import connect_to_read
from angelia.store.sql.copy_folder import copies
from angelia.store.sql.database import FILE, Database
from angelia.store.sql.faults import explained
from angelia.store.sql.raw_pages import Pages
from angelia.store.sql.tips import TipsJournal
from angelia.store.sql.wholeness import ends

_BESIDE = ("spending_erased", "grants", "pairings", "remembered")
"""Tables that nothing can be derived from; a lease of the damaged home binds nobody."""


class Salvaged(Struct, frozen=True):
    """What was saved, and what was not, a sentence for each loss."""

    conversations: int
    entries: int
    lost: tuple[str, ...]


class _Saved(Struct, frozen=True):
    """A conversation as it goes on: every number has an entry, if only one that says what is missing there."""

    conversation: ConversationId
    rows: tuple[StoredEntry, ...]
    facts: tuple[AnyFact, ...]
    lost: tuple[str, ...]


async def salvage(home: Path, to: Path, there: BlobStore) -> Salvaged:
    """Save what can be read of `home`, which stays as it is, into the new home `to`; its blobs lie `there`.

    Entries are read from the bytes of the database, its write-ahead log and its daily copies. Those are taken that fit
    their checksums, or that nothing speaks against because the one before is gone. Where one was altered or is missing
    the conversation says so from now on, to model and person.

    Raises:
        BadInput: `to` exists and is not empty.
        StoreFull, StoreReadOnly: it cannot be written there.
    """
    with explained(to):
        if to.exists() and any(to.iterdir()):
            raise BadInput(f"{to} is not empty.", then="Name a new folder for what is saved.")
    saved = await asyncio.to_thread(_found, home)
    lost = [sentence for one in saved for sentence in one.lost]
    db = Database.open(to)
    try:
        for one in saved:
            await db.write(partial(_store, saved=one))
        while await db.write(partial(catch_up, words=db.words)):
            pass
        for table in _BESIDE:
            rows, why = await asyncio.to_thread(_rows_of, home / FILE, table)
            lost += [why] if why else []
            await db.write(partial(_put, table=table, rows=rows))
        await db.write(lambda connection: db.tips.rewrite(ends(connection)))
        lost += await _blobs(saved, there, BlobStore(to))
    finally:
        db.close()
    return Salvaged(len(saved), sum(len(one.rows) - len(one.lost) for one in saved), tuple(lost))


Candidates = Mapping[int, frozenset[StoredEntry]]
"""Whatever was found for each number of a conversation."""


def _found(home: Path) -> list[_Saved]:
    """Every conversation of which there is anything, or of which there ought to be something; oldest first."""
    tips = TipsJournal(home).read()
    wanted = {name: tip.seq for name, tip in tips.known.items()}
    candidates: defaultdict[str, defaultdict[int, set[StoredEntry]]] = defaultdict(lambda: defaultdict(set))
    for path in (home / FILE, *copies(home)):
        for row in Pages(path).entries():
            candidates[row.conversation][row.seq].add(row)
    saved = []
    for name in sorted({ConversationId(one) for one in (*candidates, *wanted)} - tips.erasing):
        found = {seq: frozenset(rows) for seq, rows in candidates[name].items() if seq > 0}
        saved.append(_mended(name, found, max(wanted.get(name, 0), *found, 0)))
    return saved


def _mended(conversation: ConversationId, found: Candidates, upto: int) -> _Saved:
    facts: list[AnyFact] = []
    rows: list[StoredEntry] = []
    lost: list[str] = []
    before, tip, at = frozenset({FIRST}), FIRST, 0
    sums: KeptSums | None = None
    for seq in range(1, upto + 1):
        candidates = found.get(seq, frozenset())
        chosen = _chosen(candidates, before, found.get(seq + 1, frozenset()), sums)
        before = (
            frozenset({chosen.sum, *(expected(known, chosen[:7], sums) for known in before)})
            if chosen
            else frozenset(one.sum for one in candidates)
        )
        fact = _read(chosen, seq) if chosen else None
        if chosen is None or fact is None:
            why = "cannot be read, or is not what was stored there" if candidates else "cannot be found"
            lost.append(f"Entry {seq} of {conversation} {why}.")
            fact = SystemSaid(f"What stood here, entry {seq} of this conversation, was lost with the file it was in.")
            fact = fact if seq > 1 else ConversationOpened("terminal", "/")
            row: Unsigned = (conversation, seq, at, 0, codec.VERSION, codec.kind_of(fact), codec.encode(fact))
        else:
            if seq == 1 and (sums := kept_sums(chosen)):
                fact = without_sums(fact)
                chosen = chosen._replace(body=codec.encode(fact))
            row, at = chosen._replace(epoch=max(chosen.epoch, COPIED))[:7], chosen.at
        tip = checksum(tip, row)
        rows.append(StoredEntry(*row, tip))
        facts.append(fact)
    return _Saved(conversation, tuple(rows), tuple(facts), tuple(lost))


def _chosen(
    candidates: frozenset[StoredEntry],
    before: frozenset[bytes],
    following: frozenset[StoredEntry],
    sums: KeptSums | None,
) -> StoredEntry | None:
    """The candidate that fits what came before; or that the next entry says was there, if only its own checksum is
    wrong. Where nothing is known of what came before, or in which log its checksum was made, the only candidate is
    taken.
    """
    for one in candidates:
        for known in before:
            right = expected(known, one[:7], sums)
            if right == one.sum or any(fits(right, other, sums) for other in following):
                return one
    unknown = not before or (sums is None and all(one.epoch < COPIED for one in candidates))
    return next(iter(candidates)) if unknown and len(candidates) == 1 else None


def _read(row: StoredEntry, seq: int) -> AnyFact | None:
    """The fact; a conversation begins with its opening, and has no other."""
    try:
        fact = codec.decode(row.body, version=row.version)
    except CodecError:
        return None
    return fact if isinstance(fact, ConversationOpened) == (seq == 1) else None


def _store(connection: sqlite3.Connection, saved: _Saved) -> None:
    columns = ", ".join(StoredEntry._fields)
    for row in saved.rows:
        query = f"INSERT INTO entries ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - fixed names
        place = connection.execute(query, row).lastrowid or 0
        derive_stored(connection, place, row)


def _rows_of(path: Path, table: str) -> tuple[list[tuple[object, ...]], str]:
    """All rows of a table, or none and why."""
    try:
        with closing(connect_to_read(path)) as connection:
            return connection.execute(f"SELECT * FROM {table}").fetchall(), ""  # noqa: S608 - a fixed name
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:  # the last: names in the file are no text any more
        return [], f"The table {table} cannot be read: {fault_words(error)}."


def _put(connection: sqlite3.Connection, table: str, rows: Sequence[tuple[object, ...]]) -> None:
    for row in rows:
        connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608 - a fixed name


async def _blobs(saved: Sequence[_Saved], there: BlobStore, here: BlobStore) -> list[str]:
    """Copy what the saved entries refer to, out of the trash too; names what is not there any more."""
    lost = []
    names = {ref.sha256 for one in saved for fact in one.facts for ref in blobs_in(fact)}
    for sha256 in sorted(names):
        try:
            await here.put(await there.get(sha256))
        except (NotFound, StoreDamaged) as error:
            lost.append(error.what)
    return lost
