"""Turns that have ended, with all that was written of each: what is told about them is read from here."""

from msgspec import Struct

from angelia.core.entry import AnyFact, Entry, TurnClosed
from angelia.core.ids import ConversationId
from angelia.store.log.examined import UnreadableEntry, at_places
from angelia.store.port import StoreConnection

_CLOSED = TurnClosed.__name__


class WrittenFact(Struct, frozen=True):
    """A fact, its number in the conversation, and when it was written, Unix milliseconds."""

    seq: int
    at: int
    fact: AnyFact


class ClosedTurn(Struct, frozen=True):
    """What was written since the turn before ended; the last of it is the `TurnClosed`, at this `place` of the log.

    `damaged` says what of it cannot be read, if anything; then `written` has the rest.
    """

    conversation: ConversationId
    place: int
    written: tuple[WrittenFact, ...]
    damaged: str = ""


def log_end(connection: StoreConnection) -> int:
    """The place of the newest entry, 0 in an empty log."""
    return int(connection.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()[0])


def closed_turns(connection: StoreConnection, after: int, most: int) -> list[ClosedTurn]:
    """At most so many turns that ended beyond the place `after`, in the order of the log."""
    query = "SELECT id, conversation, seq FROM entries WHERE id > ? AND kind = ? ORDER BY id LIMIT ?"
    ended = connection.execute(query, (after, _CLOSED, most)).fetchall()
    return [_turn(connection, place, ConversationId(conversation), seq) for place, conversation, seq in ended]


def _turn(connection: StoreConnection, place: int, conversation: ConversationId, end: int) -> ClosedTurn:
    query = "SELECT coalesce(max(seq), 0) FROM entries WHERE conversation = ? AND seq < ? AND kind = ?"
    (begin,) = connection.execute(query, (conversation, end, _CLOSED)).fetchone()
    query = "SELECT id FROM entries WHERE conversation = ? AND seq > ? AND seq <= ? ORDER BY seq"
    places = [one for (one,) in connection.execute(query, (conversation, begin, end))]
    stored = at_places(connection, places)
    written = tuple(WrittenFact(one.seq, one.at, one.fact) for one in stored if isinstance(one, Entry))
    damaged = next((one.why for one in stored if isinstance(one, UnreadableEntry)), "")
    return ClosedTurn(conversation, place, written, damaged)
