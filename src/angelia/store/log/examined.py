"""Reading entries and looking whether they are what was stored: each in its place, unaltered, after the one before."""

import sqlite3
from collections.abc import Iterator, Sequence

from msgspec import Struct

from angelia.core import codec
from angelia.core.entry import Entry, KeptSums
from angelia.core.errors import CodecError, StoreDamaged
from angelia.core.ids import ConversationId
from angelia.store.log.chain import COLUMNS, COPIED, FIRST, StoredEntry, expected, fits, kept_sums
from angelia.store.port import ALL_ROWS, StoreConnection

_IN_ORDER = f"SELECT {COLUMNS} FROM entries WHERE conversation = ? AND seq >= ? ORDER BY seq"  # noqa: S608 - fixed names


_UNKNOWN = KeptSums(b"", ())
"""Nobody knows where the entries of a fork have their checksums from."""
_PAGE = 1_000
"""Entries that are asked for at once: PostgreSQL sends all that a statement finds before the first can be read."""

SALVAGED = "`angelia store verify` says what is damaged; `angelia store salvage FOLDER` saves what can be read."
"""What to do about what is damaged."""
Placed = tuple[int, StoredEntry | None]
"""A number, and the entry there; None for one that cannot be read."""


class Damage(Struct, frozen=True):
    """What is wrong at one place of a log, or from there to `upto`."""

    conversation: ConversationId
    seq: int
    why: str
    upto: int = 0

    def __str__(self) -> str:
        if self.upto > self.seq:
            return f"Entries {self.seq} to {self.upto} of {self.conversation} {self.why}."
        return f"Entry {self.seq} of {self.conversation} {self.why}."


class UnreadableEntry(Struct, frozen=True):
    """Stands where an entry is not what was stored, or nobody can read it: `why`, with what to do. `at` is when it was
    written (Unix milliseconds), 0 where nobody knows.
    """

    why: str
    at: int = 0


class Examined(Struct, frozen=True):
    """An entry that was found, what is wrong there, or both: one that was altered can still be read."""

    entry: Entry | None = None
    damage: Damage | None = None


def examined(connection: StoreConnection, conversation: ConversationId, after: int = 0) -> Iterator[Examined]:
    """The entries of a conversation after `after`, in order, with whatever is wrong where it is wrong.

    It goes past what cannot be read. Entries that are missing at the end are not seen here: see `missing_at_end`.

    Raises:
        sqlite3.DatabaseError: the index of the log is damaged too, so nobody knows what there ought to be.
    """
    before, last = (None if after else FIRST), after
    sums = _sums(connection, conversation)
    for seq, row in _rows(connection, conversation, after):
        if seq > last + 1:
            yield Examined(damage=Damage(conversation, last + 1, "cannot be found", seq - 1))
            before = None
        if row is None:
            yield Examined(damage=Damage(conversation, seq, "lies where the file is damaged"))
        elif seq > after:  # else it was looked at when it was read
            yield _looked_at(before, row, sums)
        before, last = row.sum if row else None, seq


def read_whole(connection: StoreConnection, conversation: ConversationId, after: int = 0) -> list[Entry]:
    """The entries of a conversation after `after`, in order, each as it was stored.

    Raises:
        StoreDamaged: one is not; names it.
        CodecError: a newer version wrote one.
    """
    rows = connection.execute(_IN_ORDER, (conversation, after)).fetchall()
    before, last = FIRST, 0
    if after and rows and rows[0][1] == after:
        before, last = rows[0][7], after
        del rows[0]
    sums = _sums(connection, conversation) if any(row[3] < COPIED for row in rows) else None
    if sums is _UNKNOWN:
        raise damaged(connection, conversation)
    entries = []
    for row in rows:
        if row[1] != last + 1 or expected(before, row[:7], sums) != row[7]:
            raise damaged(connection, conversation, after)
        last, before = row[1], row[7]
        fact = codec.decode(row[6], version=row[4], where=f"Entry {last} of {conversation}")
        entries.append(Entry(last, row[2], fact))
    return entries


def readable(connection: StoreConnection, conversation: ConversationId) -> tuple[list[Entry], list[Damage]]:
    """The entries of a conversation that can be read, and what is wrong with the others; as a rule nothing is, and then
    this takes half as long as a look at each.

    Raises:
        sqlite3.DatabaseError: as `examined`.
    """
    try:
        return read_whole(connection, conversation), []
    except (StoreDamaged, CodecError, sqlite3.DatabaseError):
        found = list(examined(connection, conversation))
        return [one.entry for one in found if one.entry], [one.damage for one in found if one.damage]


def damaged(connection: StoreConnection, conversation: ConversationId, after: int = 0) -> StoreDamaged:
    """What is wrong with a conversation that cannot be gone on with."""
    found = [str(one.damage) for one in examined(connection, conversation, after) if one.damage]
    more = f" And {len(found) - 3} more like it." if len(found) > 3 else ""
    return StoreDamaged(
        " ".join(found[:3]) + more,
        why="The file was changed by something else than Angelia, or the disk is failing.",
        then=f"`angelia show {conversation}` shows what can be read; `angelia store salvage FOLDER` saves it. "
        "Nothing was changed.",
    )


def missing_at_end(connection: StoreConnection, conversation: ConversationId) -> Damage | None:
    """What a conversation is known to have had after its last entry."""
    last, there = connection.execute(
        "SELECT last_seq, (SELECT max(seq) FROM entries WHERE conversation = ?) FROM conversations WHERE id = ?",
        (conversation, conversation),
    ).fetchone() or (0, 0)
    return Damage(conversation, (there or 0) + 1, "cannot be found", last) if last > (there or 0) else None


def by_place(connection: StoreConnection, after: int = 0, most: int = ALL_ROWS) -> Iterator[Placed]:
    """Every entry of every conversation by its place, oldest first; None for one that cannot be read. `most` places at
    most; what cannot be read counts.

    Raises:
        sqlite3.DatabaseError: not even the last place can be found.
    """
    place, left = after, most
    try:
        query = f"SELECT id, {COLUMNS} FROM entries WHERE id > ? ORDER BY id LIMIT ?"  # noqa: S608 - fixed names
        while left > 0:
            count = 0
            page = connection.execute(query, (place, min(left, _PAGE)))
            for place, *found in page:
                yield place, StoredEntry(*found)
                count += 1
            if count < _PAGE:
                return
            left -= count
    except sqlite3.DatabaseError:
        (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()
        upto = min(last, after + most)
        for one in range(place + 1, upto + 1):
            yield one, _fetched(connection, one)


def at_place(connection: StoreConnection, place: int) -> tuple[StoredEntry | None, str]:
    """One entry by its place, if it can be read, and what is wrong with it; nothing with one that is not there: it was
    erased since its place was looked up, or is not shown to whoever asks.
    """
    row = _fetched(connection, place)
    if row is None:
        return None, unreadable_at(place) if _is_there(connection, place) else ""
    known = FIRST if row.seq == 1 else _sum_of(connection, row.conversation, row.seq - 1)
    damage = _looked_at(known, row, _sums(connection, row.conversation) if row.epoch < COPIED else None).damage
    return row, str(damage) if damage else ""


def at_places(connection: StoreConnection, places: Sequence[int]) -> list[Entry | UnreadableEntry]:
    """The entries that tables name by their places, in that order; one that is damaged keeps no other from being read.
    Those that a fork has from another log are not held to their checksums: what they say adds to no table.
    """
    try:
        found = dict(_together(connection, places))
    except sqlite3.DatabaseError:
        found = {}
    return [found.get(place) or _alone(connection, place) for place in places]


def _together(connection: StoreConnection, places: Sequence[int]) -> Iterator[tuple[int, Entry | None]]:
    """What is as it was stored; None for what has to be looked at."""
    columns = ", ".join(f"e.{name}" for name in StoredEntry._fields)
    for start in range(0, len(places), _PAGE):
        some = places[start : start + _PAGE]
        rows = connection.execute(
            f"SELECT b.sum, e.id, {columns} FROM entries AS e LEFT JOIN entries AS b"  # noqa: S608 - names and marks
            " ON b.conversation = e.conversation AND b.seq = e.seq - 1"
            f" WHERE e.id IN ({', '.join('?' * len(some))})",
            tuple(some),
        )
        for before, place, *stored in rows:
            row = StoredEntry(*stored)
            looked = _looked_at(FIRST if row.seq == 1 else before, row, _UNKNOWN)
            yield place, None if looked.damage else looked.entry


def _alone(connection: StoreConnection, place: int) -> Entry | UnreadableEntry:
    row, damage = at_place(connection, place)
    if row and not damage:
        return Entry(row.seq, row.at, codec.decode(row.body, version=row.version))
    why = damage or f"The entry at place {place} cannot be found."
    return UnreadableEntry(f"{why} {SALVAGED}", row.at if row else 0)


def unreadable_at(place: int) -> str:
    """Nobody can say which entry it is."""
    return f"The entry at place {place} lies where the file is damaged."


def _sums(connection: StoreConnection, conversation: str) -> KeptSums | None:
    """Where its entries have their checksums from; `_UNKNOWN` if its first one cannot be read, which is told there."""
    try:
        found = connection.execute(f"{_IN_ORDER} LIMIT 1", (conversation, 1)).fetchone()
        return kept_sums(StoredEntry(*found)) if found and found[1] == 1 else _UNKNOWN
    except (sqlite3.DatabaseError, CodecError):
        return _UNKNOWN


def _looked_at(before: bytes | None, row: StoredEntry, sums: KeptSums | None) -> Examined:
    """`before` is None where the entry before cannot be read."""
    where = f"Entry {row.seq} of {row.conversation}"
    try:
        entry = Entry(row.seq, row.at, codec.decode(row.body, version=row.version, where=where))
    except CodecError as error:
        why = error.what.removeprefix(where).strip().rstrip(".")
        return Examined(damage=Damage(ConversationId(row.conversation), row.seq, why))
    if before is None or (row.epoch < COPIED and sums is _UNKNOWN) or fits(before, row, sums):
        return Examined(entry)
    return Examined(entry, Damage(ConversationId(row.conversation), row.seq, "is not what was stored there"))


def _rows(connection: StoreConnection, conversation: ConversationId, after: int) -> Iterator[Placed]:
    """Each entry by its number; None for one that cannot be read."""
    seq = after
    try:
        for found in connection.execute(_IN_ORDER, (conversation, after)):
            row = StoredEntry(*found)
            yield row.seq, row
            seq = row.seq + 1
    except sqlite3.DatabaseError:
        # One by one, by the index, which has pages of its own.
        places = connection.execute(
            "SELECT seq, id FROM entries WHERE conversation = ? AND seq >= ? ORDER BY seq", (conversation, seq)
        ).fetchall()
        for one, place in places:
            yield one, _fetched(connection, place)


def _sum_of(connection: StoreConnection, conversation: str, seq: int) -> bytes | None:
    """The checksum of an entry, None where it cannot be read."""
    query = "SELECT sum FROM entries WHERE conversation = ? AND seq = ?"
    try:
        found = connection.execute(query, (conversation, seq)).fetchone()
    except sqlite3.DatabaseError:
        return None
    return found[0] if found else None


def _is_there(connection: StoreConnection, place: int) -> bool:
    try:
        return connection.execute("SELECT 1 FROM entries WHERE id = ?", (place,)).fetchone() is not None
    except sqlite3.DatabaseError:
        return True


def _fetched(connection: StoreConnection, place: int) -> StoredEntry | None:
    try:
        found = connection.execute(f"SELECT {COLUMNS} FROM entries WHERE id = ?", (place,)).fetchone()  # noqa: S608
        return StoredEntry(*found) if found else None
    except sqlite3.DatabaseError:
        return None
