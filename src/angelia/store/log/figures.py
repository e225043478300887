"""Numbers about a home, without anything that was said: what there is, and what has come since one began to count."""

from collections import Counter

from msgspec import Struct

from angelia.core.entry import Entry, TurnClosed
from angelia.store.log.closed_turns import log_end
from angelia.store.log.examined import at_places
from angelia.store.port import LogStore, StoreConnection

_CLOSED = "TurnClosed"
_UNREADABLE = "unreadable"
"""Counted as the ending of a turn whose end is damaged."""


class Paid(Struct):
    """What one model was paid, in millionths of a US dollar, and its tokens."""

    cost: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class Figures(Struct, frozen=True):
    """How many conversations there are, deliveries that wait (by channel), schedules (by state); since the counting
    began: facts (by kind), turns (by ending), what models were paid (by model).
    """

    conversations: int
    waiting: dict[str, int]
    schedules: dict[str, int]
    facts: Counter[str]
    turns: Counter[str]
    paid: dict[str, Paid]


class LogFigures:
    """Counts what anybody, this process or another, has appended since `begin`. What is new is looked at once."""

    def __init__(self, db: LogStore) -> None:
        self._db = db
        self._place = 0
        self._facts: Counter[str] = Counter()
        self._turns: Counter[str] = Counter()
        self._paid: dict[str, Paid] = {}

    async def begin(self) -> None:
        """Count from here."""
        self._place = await self._db.read(log_end)

    async def read(self) -> Figures:
        """The figures of this moment."""
        return await self._db.read(self._read)

    def _read(self, connection: StoreConnection) -> Figures:
        end = log_end(connection)
        new = (min(self._place, end), end)  # what was last may have been erased
        query = "SELECT kind, count(*) FROM entries WHERE id > ? AND id <= ? GROUP BY kind"
        self._facts.update(dict(connection.execute(query, new)))
        query = "SELECT id FROM entries WHERE id > ? AND id <= ? AND kind = ?"
        ends = [place for (place,) in connection.execute(query, (*new, _CLOSED))]
        for stored in at_places(connection, ends):
            fact = stored.fact if isinstance(stored, Entry) else None
            self._turns[type(fact.ending).__name__ if isinstance(fact, TurnClosed) else _UNREADABLE] += 1
        query = (
            "SELECT model, cost, input, output, cache_read, cache_write FROM entries CROSS JOIN spending AS s"
            " WHERE s.conversation = entries.conversation AND s.seq = entries.seq"
            " AND entries.id > ? AND entries.id <= ?"
        )
        for model, *numbers in connection.execute(query, new):
            paid = self._paid.setdefault(model, Paid())
            for name, number in zip(Paid.__struct_fields__, numbers, strict=True):
                setattr(paid, name, getattr(paid, name) + max(0, number))
        self._place = end
        (conversations,) = connection.execute("SELECT count(*) FROM conversations").fetchone()
        waiting = "SELECT door, count(*) FROM outbox WHERE status IN ('queued', 'sending') GROUP BY door"
        schedules = "SELECT state, count(*) FROM schedules GROUP BY state"
        return Figures(
            conversations,
            dict(connection.execute(waiting)),
            dict(connection.execute(schedules)),
            Counter(self._facts),
            Counter(self._turns),
            {
                model: Paid(*(getattr(paid, name) for name in Paid.__struct_fields__))
                for model, paid in self._paid.items()
            },
        )
