"""The whole log as it grows: every entry of every conversation once, in the order in which they were committed.

Where one has got to is a mark: the place of an entry, with the entry's own name, since a place alone says nothing in
another home. No place is given twice; so whoever goes back to the last entry that they know and that is still there
goes on without a gap or a repeat.
"""

import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Iterable
from functools import partial
from typing import NamedTuple

from msgspec import Struct

from angelia.core import codec
from angelia.core.entry import Entry
from angelia.core.errors import BadInput, CodecError, NotFound
from angelia.core.ids import ConversationId
from angelia.store.log.chain import StoredEntry
from angelia.store.log.examined import SALVAGED, UnreadableEntry, by_place, unreadable_at
from angelia.store.port import LogStore, StoreConnection

KEPT = 10_000
"""Marks that are remembered, to go back to when those after them were erased."""
_AT_ONCE = 500
_LONGEST_S = 1.0


class LogMark(NamedTuple):
    """An entry by its place in the log and by its own name."""

    place: int
    conversation: ConversationId
    seq: int

    def __str__(self) -> str:
        return f"{self.place}.{self.conversation}.{self.seq}"


BEGINNING = LogMark(0, ConversationId(""), 0)
"""Before the first entry; it is always there."""
UNKNOWN = ConversationId("unknown")
"""In the mark of an entry that lies where the file is damaged."""


class FollowedEntry(Struct, frozen=True):
    """An entry with its mark, which names the conversation. One that cannot be read has its mark and says why; where
    the file is damaged, nobody knows whose it was, and the mark names `UNKNOWN`.
    """

    mark: LogMark
    entry: Entry | UnreadableEntry


def read_mark(text: str) -> LogMark:
    """A mark as it was written.

    Raises:
        BadInput: it is none.
    """
    place, _, rest = text.partition(".")
    conversation, _, seq = rest.rpartition(".")
    if not (place.isdecimal() and seq.isdecimal() and conversation):
        raise BadInput(f"“{text[:80]}” is no mark.", then="Give the mark of a line that was written.")
    return LogMark(int(place), ConversationId(conversation), int(seq))


async def follow(db: LogStore, known: Iterable[LogMark] = (BEGINNING,)) -> AsyncIterator[list[FollowedEntry]]:
    """The entries after those that are `known` (in their order; the last ones are enough), then what is appended, by
    whichever process, for ever.

    Raises:
        NotFound: all that is known has been erased, and what came before it is not known.
    """
    marks = deque(known, KEPT)
    seen = -1
    while True:
        version = await db.data_version()
        new = await db.read(partial(_after, marks=marks)) if version != seen else []
        if new:
            marks.extend(one.mark for one in new)
            yield new
        else:
            seen = version
            await db.next_commit(version, _LONGEST_S)


def _after(connection: StoreConnection, marks: deque[LogMark]) -> list[FollowedEntry]:
    while marks and not _is_there(connection, marks[-1]):
        marks.pop()
    if not marks:
        raise NotFound(
            "The entry at the mark is not in the log any more: its conversation was deleted.",
            then="Give the mark of an earlier line; lines after it that you have already come again.",
        )
    found: list[FollowedEntry] = []
    for place, row in by_place(connection, marks[-1].place, _AT_ONCE):
        if row is None:
            lost = UnreadableEntry(f"{unreadable_at(place)} {SALVAGED}")
            found.append(FollowedEntry(LogMark(place, UNKNOWN, 0), lost))
        else:
            found.append(FollowedEntry(LogMark(place, ConversationId(row.conversation), row.seq), _read(row)))
    return found


def _read(row: StoredEntry) -> Entry | UnreadableEntry:
    where = f"Entry {row.seq} of {row.conversation}"
    try:
        return Entry(row.seq, row.at, codec.decode(row.body, version=row.version, where=where))
    except CodecError as error:
        return UnreadableEntry(str(error), row.at)


def _is_there(connection: StoreConnection, mark: LogMark) -> bool:
    query = "SELECT conversation, seq FROM entries WHERE id = ?"
    try:
        row = connection.execute(query, (mark.place,)).fetchone()
    except sqlite3.DatabaseError:
        return mark.conversation == UNKNOWN
    return mark == BEGINNING or row == (mark.conversation, mark.seq)
