"""What is left of the days that a conversation counts against, looked at before each thing that costs."""

from msgspec import Struct

from angelia.core import ending as end
from angelia.core.days import day_of
from angelia.core.ids import Clock
from angelia.store.log.lease import Lease
from angelia.store.tables.day_budgets import CapInReach, CapReached, DayBudget, DayBudgets

LOOK_AGAIN_MS = 500
"""After how long a cap is looked at again that others' requests may reach."""


class DayMoney(Struct, frozen=True):
    """The caps of one conversation, and who adds up what counts against them."""

    sums: DayBudgets
    budgets: tuple[DayBudget, ...]
    clock: Clock

    async def put_aside(self, lease: Lease, most: int) -> end.BudgetSpent | CapInReach | None:
        """Put aside `most` millionths of a US dollar for the next request, 0 where only the caps are looked at; None
        where there is room.

        Raises:
            Fenced: the lease was taken over.
        """
        found = await self.sums.put_aside(lease, self.budgets, most, day_of(self.clock()))
        if isinstance(found, CapReached):
            cap = f"${found.budget.most / 1e6:.4f}"
            return end.BudgetSpent(found.budget.name, f"${found.spent / 1e6:.4f}", cap)
        return found


def in_reach(found: CapInReach) -> str:
    """Why a request waits, as whoever watches is told."""
    budget, aside = found.budget, f"${found.aside / 1e6:.4f}"
    return (
        f"{budget.name} is ${found.spent / 1e6:.4f} of ${budget.most / 1e6:.4f}, and requests of other conversations "
        f"that are under way may cost up to {aside}: this one goes on when they have ended"
    )
