"""A search of the past as it is set up: by words, and in a model's order where the person named one."""

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from angelia.core.entry import NO_PAYMENT, Payment
from angelia.store.port import LogStore

if TYPE_CHECKING:
    from angelia.store.log.ranked_search import RankedFound, Within


class FoundPast(Struct, frozen=True):
    """What was found, a sentence about who ordered it (empty for by words alone), and what that cost."""

    found: "RankedFound"
    told: str = ""
    paid: Payment = NO_PAYMENT


class OrdersAnew(Protocol):
    """Who orders the best `candidates` of a search anew."""

    @property
    def candidates(self) -> int: ...

    @property
    def may_cost(self) -> Payment:
        """Who is paid for it and how much at most, as in `UsePainter`; nothing where nobody is."""
        ...

    async def best(self, question: str, found: "RankedFound", limit: int) -> FoundPast:
        """The first `limit` hits in an order of its own; in that of the words where it cannot say, which is told."""
        ...


async def find_past(db: LogStore, within: "Within", query: str, limit: int, orders: OrdersAnew | None) -> FoundPast:
    """The best `limit` hits.

    Raises:
        BadInput: as `ranked_search`.
    """
    from angelia.store.log.ranked_search import ranked_search  # a conversation that does not search needs none

    if orders is None:
        return FoundPast(await ranked_search(db, within, query, limit))
    return await orders.best(query, await ranked_search(db, within, query, orders.candidates), limit)
