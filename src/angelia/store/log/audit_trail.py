"""What people decided and changed, out of the whole log as it grows: who said yes or no to what, who changed what."""

from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.ids import ConversationId
from angelia.core.principal import ANGELIA, Principal
from angelia.store.log.examined import UnreadableEntry, at_places
from angelia.store.port import ALL_ROWS, LogStore, StoreConnection
from angelia.store.sql.schema import DECIDED

Decision = (
    e.Administered
    | e.ApprovalGiven
    | e.ApprovalRefused
    | e.NoteKept
    | e.NoteDropped
    | e.ScheduleChanged
    | e.FilesTakenBack
    | e.DeliveryLetBe
    | e.CancelAsked
    | e.WordsErased
)
"""Facts that say who decided something."""

_AT_ONCE = 500
_LONGEST_S = 1.0


class Decided(Struct, frozen=True):
    """One of them, where it stands and when (Unix milliseconds). `question` is what was asked, for an answer. One that
    is damaged stands in its place, with why it cannot be read.
    """

    place: int
    conversation: ConversationId
    seq: int
    at: int
    fact: Decision | UnreadableEntry
    question: str = ""


class AuditQuery(Struct, frozen=True):
    """Which are wanted: since a moment (Unix milliseconds), and by or about somebody."""

    since: int = 0
    person: Principal | None = None

    def holds(self, fact: Decision | UnreadableEntry) -> bool:
        """Whether it is of the person. What we did of our own accord is nobody's, unless that is asked for; what cannot
        be read may be anybody's.
        """
        if isinstance(fact, UnreadableEntry):
            return True
        if self.person is None:
            return fact.by != ANGELIA or isinstance(fact, e.Administered)
        return self.person == fact.by or (isinstance(fact, e.Administered) and self.person == fact.person)


async def audit_trail(db: LogStore, wanted: AuditQuery) -> AsyncIterator[list[Decided]]:
    """What was decided, oldest first, then an empty list, then what is decided from now on, by whichever process."""
    place = 0
    while True:
        version = await db.data_version()
        place, found, more = await db.read(partial(_page, after=place, wanted=wanted))
        if found:
            yield found
        if not more:
            yield []
            await db.next_commit(version, _LONGEST_S)


async def newest_decisions(db: LogStore, wanted: AuditQuery, before: int, most: int) -> list[Decided]:
    """At most so many of them, newest first: those before a place in the log, or the last ones for a place of 0."""
    return await db.read(partial(_newest, wanted=wanted, before=before or ALL_ROWS, most=most))


def _newest(connection: StoreConnection, wanted: AuditQuery, before: int, most: int) -> list[Decided]:
    found: list[Decided] = []
    while len(found) < most:
        rows = connection.execute(_rows_of("id < ?", "id DESC"), (before, wanted.since, _AT_ONCE)).fetchall()
        found += _decided(connection, rows, wanted)
        if len(rows) < _AT_ONCE:
            break
        before = rows[-1][0]
    return found[:most]


def _page(connection: StoreConnection, after: int, wanted: AuditQuery) -> tuple[int, list[Decided], bool]:
    """The last place that was looked at, what is wanted up to there, and whether there may be more now."""
    rows = connection.execute(_rows_of("id > ?", "id"), (after, wanted.since, _AT_ONCE)).fetchall()
    return (rows[-1][0] if rows else after), _decided(connection, rows, wanted), len(rows) == _AT_ONCE


def _rows_of(where: str, order: str) -> str:
    return (
        f"SELECT id, conversation, seq, at FROM entries WHERE {where} AND at >= ?"  # noqa: S608 - fixed
        f" AND {DECIDED} ORDER BY {order} LIMIT ?"
    )


def _decided(connection: StoreConnection, rows: Sequence[tuple[Any, ...]], wanted: AuditQuery) -> list[Decided]:
    found = []
    for row, stored in zip(rows, at_places(connection, [row[0] for row in rows]), strict=True):
        place, conversation, seq, at = row
        fact = stored.fact if isinstance(stored, e.Entry) else stored
        assert isinstance(fact, Decision | UnreadableEntry)
        if wanted.holds(fact):
            question = _question(connection, conversation, seq, fact)
            found.append(Decided(place, ConversationId(conversation), seq, at, fact, question))
    return found


def _question(connection: StoreConnection, conversation: str, before: int, fact: Decision | UnreadableEntry) -> str:
    """What an answer was to: the last question of its call before it that can be read."""
    if not isinstance(fact, e.ApprovalGiven | e.ApprovalRefused):
        return ""
    rows = connection.execute(
        "SELECT id FROM entries WHERE conversation = ? AND seq < ? AND kind = 'ApprovalAsked' ORDER BY seq DESC",
        (conversation, before),
    )
    for (place,) in rows.fetchall():
        (stored,) = at_places(connection, [place])
        asked = stored.fact if isinstance(stored, e.Entry) else None
        if isinstance(asked, e.ApprovalAsked) and asked.call == fact.call:
            return asked.question
    return ""
