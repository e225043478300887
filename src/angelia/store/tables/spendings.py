"""What was paid, by day, model and conversation."""

from collections.abc import Sequence

from msgspec import Struct

from angelia.core.days import DAY_MS, day_of
from angelia.core.ids import ConversationId
from angelia.core.principal import Principal
from angelia.store.port import LogStore, StoreConnection
from angelia.store.sql.visibility import visible_to

__all__ = ["DAY_MS", "PaidFor", "PaidIn", "Spendings"]

_SUMS = "sum(cost), sum(input), sum(output), sum(unpriced)"
_AT_ONCE = 500
"""Conversations that are asked for in one statement."""


class PaidFor(Struct, frozen=True):
    """What went to one model on one day: `day` is its beginning (UTC), Unix milliseconds; `cost` is millionths of a US
    dollar, and `unpriced` counts the replies without a known price, which add nothing to it.
    """

    day: int
    model: str
    cost: int
    input: int
    output: int
    unpriced: int


class PaidIn(Struct, frozen=True):
    """What one conversation cost, as in `PaidFor`; its title, and the door at which it began."""

    conversation: ConversationId
    title: str
    door: str
    cost: int
    input: int
    output: int
    unpriced: int


class Spendings:
    """A view of the sums that are kept of each day (`store.sql.day_sums`)."""

    def __init__(self, db: LogStore) -> None:
        self._db = db

    async def by_day(self, viewer: Principal, since: int) -> list[PaidFor]:
        """By day and model since the day of a moment (UTC, Unix milliseconds), oldest day first; of conversations that
        are theirs, erased ones too.
        """
        since = day_of(since)
        theirs, values = visible_to(viewer, "principal")
        query = (
            f"SELECT day, model, {_SUMS} FROM spending_days WHERE day >= ? AND {theirs}"  # noqa: S608 - fixed text
            " GROUP BY day, model ORDER BY day, model"
        )
        rows = await self._db.read(lambda connection: connection.execute(query, (since, *values)).fetchall(), viewer)
        return [PaidFor(*row) for row in rows]

    async def by_conversation(self, viewer: Principal, since: int, limit: int) -> list[PaidIn]:
        """Of the conversations that were among the `limit` dearest of a day since that of a moment, those that cost
        most since then; of those that are theirs and not erased.
        """
        since = day_of(since)
        found = await self._db.read(lambda connection: _dearest(connection, viewer, since, limit), viewer)
        return sorted(found, key=lambda one: (-one.cost, -one.input, one.conversation))[:limit]


def _dearest(connection: StoreConnection, viewer: Principal, since: int, limit: int) -> list[PaidIn]:
    """Looked for day by day: to add up what each conversation has cost would read all that there are."""
    theirs, values = visible_to(viewer, "principal")
    days = "SELECT DISTINCT day FROM spending_days WHERE day >= ?"
    query = (
        f"SELECT conversation FROM spending_in_days WHERE day = ? AND {theirs}"  # noqa: S608 - fixed text
        " ORDER BY cost DESC, input DESC LIMIT ?"
    )
    found: dict[str, None] = {}
    for (day,) in connection.execute(days, (since,)).fetchall():
        found.update(dict.fromkeys(name for (name,) in connection.execute(query, (day, *values, limit))))
    names = list(found)
    slices = (names[start : start + _AT_ONCE] for start in range(0, len(names), _AT_ONCE))
    return [one for some in slices for one in _sums(connection, some, since)]


def _sums(connection: StoreConnection, some: Sequence[str], since: int) -> list[PaidIn]:
    marks = ", ".join("?" * len(some))
    query = (
        f"SELECT c.id, c.title, c.door, {_SUMS} FROM spending_in_days AS s"  # noqa: S608 - fixed text and marks
        " CROSS JOIN conversations AS c WHERE c.id = s.conversation"
        f" AND s.conversation IN ({marks}) AND s.day >= ? GROUP BY c.id, c.title, c.door"
    )
    return [PaidIn(ConversationId(row[0]), *row[1:]) for row in connection.execute(query, (*some, since))]
