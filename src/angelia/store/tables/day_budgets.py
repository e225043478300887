"""What people may cost in a day, held against what they have cost and what is under way: before each request.

What a request may cost at most is put aside in the lease of its conversation, in the transaction in which the sums are
looked at. So of all requests that count against a cap only the last one may end above it, whichever processes send
them. It is put aside no more in the commit that holds what came of the request, and what a dead process had put aside
ends with its lease.
"""

from msgspec import Struct

from angelia.core.days import day_of, last_day
from angelia.core.principal import Principal
from angelia.store.log import lease as leases
from angelia.store.log.lease import Lease
from angelia.store.port import LogStore, StoreConnection


class DayBudget(Struct, frozen=True):
    """What all of `of` together may cost in a day (UTC's), millionths of a US dollar; nobody named stands for
    everybody. `name` is how it is told, as in `the cost of telegram:4711 today`.
    """

    name: str
    of: tuple[Principal, ...]
    most: int


class CapReached(Struct, frozen=True):
    """A day's cap is reached, by what was paid."""

    budget: DayBudget
    spent: int


class CapInReach(Struct, frozen=True):
    """What other conversations have put aside may reach a day's cap: it is known when their requests have ended."""

    budget: DayBudget
    spent: int
    aside: int


class DayBudgets:
    """Sums and what is put aside, of the whole log."""

    def __init__(self, db: LogStore) -> None:
        self._db = db

    async def put_aside(
        self, lease: Lease, budgets: tuple[DayBudget, ...], most: int, since: int
    ) -> CapReached | CapInReach | None:
        """Put aside what a request of this conversation may cost at most, in place of what was put aside before; None
        where that was done. `since` is when the day began, Unix milliseconds.

        Raises:
            Fenced: the lease was taken over.
        """

        def job(connection: StoreConnection) -> CapReached | CapInReach | None:
            leases.check(connection, lease)
            put = "UPDATE leases SET may_cost = ? WHERE conversation = ? AND epoch = ?"
            connection.execute(put, (0, lease.conversation, lease.epoch))
            in_reach: CapInReach | None = None
            for budget in budgets:
                spent = cost_since(connection, budget.of, since, self._db.clock())
                aside = self._aside(connection, budget.of)
                if spent >= budget.most:
                    return CapReached(budget, spent)
                if in_reach is None and spent + aside >= budget.most:
                    in_reach = CapInReach(budget, spent, aside)
            if in_reach is None:
                connection.execute(put, (most, lease.conversation, lease.epoch))
            return in_reach

        return await self._db.write(job)

    async def cost(self, budget: DayBudget, since: int) -> int:
        """What they have cost since the day of a moment, millionths of a US dollar."""
        return await self._db.read(lambda connection: cost_since(connection, budget.of, since, self._db.clock()))

    def _aside(self, connection: StoreConnection, of: tuple[Principal, ...]) -> int:
        theirs, values = _of(of, "c.owner")
        rows = connection.execute(
            "SELECT l.may_cost, l.presence, l.boot, l.expires FROM leases AS l"  # noqa: S608 - fixed text and marks
            f" CROSS JOIN conversations AS c WHERE c.id = l.conversation AND l.may_cost > 0 AND {theirs}",
            values,
        ).fetchall()
        held = self._db.presence.held(connection, [(presence, clock, expires) for _, presence, clock, expires in rows])
        return sum(most for (most, *_), is_held in zip(rows, held, strict=True) if is_held)


def cost_since(connection: StoreConnection, of: tuple[Principal, ...], since: int, now: int) -> int:
    """What they have cost together since the day of a moment, in erased conversations too, within a job."""
    theirs, values = _of(of, "principal")
    days = f"day >= ? AND day <= ? AND {theirs}"
    query = f"SELECT coalesce(sum(cost), 0) FROM spending_days WHERE {days}"  # noqa: S608 - fixed text
    return int(connection.execute(query, (day_of(since), last_day(now), *values)).fetchone()[0])


def _of(some: tuple[Principal, ...], column: str) -> tuple[str, tuple[str, ...]]:
    if not some:
        return "true", ()
    return f"{column} IN ({', '.join('?' * len(some))})", tuple(map(str, some))
