"""What was paid, by day, model and conversation."""

from typing import Any

from msgspec import Struct

from angelia.core.ids import ConversationId
from angelia.core.principal import Principal
from angelia.store.port import LogStore, StoreConnection
from angelia.store.sql.visibility import visible_to

DAY_MS = 86_400_000

_SUMS = (
    "coalesce(sum(cost) FILTER (WHERE cost > 0), 0), coalesce(sum(input), 0), coalesce(sum(output), 0),"
    " count(*) FILTER (WHERE cost < 0)"
)


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
    """What one conversation cost; as in `PaidFor`."""

    conversation: ConversationId
    cost: int
    input: int
    output: int
    unpriced: int


class Spendings:
    """A view of the log, and of what was paid in conversations that are erased."""

    def __init__(self, db: LogStore) -> None:
        self._db = db

    async def by_day(self, viewer: Principal, since: int) -> list[PaidFor]:
        """By day and model since a moment (Unix milliseconds), oldest day first; of conversations that are theirs."""
        theirs, values = visible_to(viewer, "principal")
        query = (
            f"SELECT at / {DAY_MS} * {DAY_MS} AS day, model, {_SUMS} FROM"  # noqa: S608 - fixed text
            f" (SELECT at, model, cost, input, output FROM spending WHERE at >= ? AND {theirs} UNION ALL"
            f" SELECT at, model, cost, input, output FROM spending_erased WHERE at >= ? AND {theirs}) AS paid"
            " GROUP BY day, model ORDER BY day, model"
        )
        rows = await self._db.read(lambda connection: _all(connection, query, (since, *values, since, *values)), viewer)
        return [PaidFor(*row) for row in rows]

    async def by_conversation(self, viewer: Principal, since: int, limit: int) -> list[PaidIn]:
        """The conversations that cost most since a moment, of those that are theirs and not erased."""
        theirs, values = visible_to(viewer, "principal")
        query = (  # by the moment first: to group by an index of conversations would read what was ever paid
            "WITH paid AS MATERIALIZED"  # noqa: S608 - fixed text
            f" (SELECT conversation, cost, input, output FROM spending WHERE at >= ? AND {theirs})"
            f" SELECT conversation, {_SUMS} FROM paid GROUP BY conversation ORDER BY 2 DESC, 3 DESC LIMIT ?"
        )
        rows = await self._db.read(lambda connection: _all(connection, query, (since, *values, limit)), viewer)
        return [PaidIn(ConversationId(row[0]), *row[1:]) for row in rows]


def _all(connection: StoreConnection, query: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
    return connection.execute(query, values).fetchall()
