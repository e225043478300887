"""What somebody may cost and choose from: their own terms, and those of their group.

What is paid counts for whose a conversation is. Nothing is begun for them once a day's sum is reached, and each request
of a turn that is under way is held against it, too (`store.tables.day_budgets`).
"""

from functools import reduce

from msgspec.structs import replace

from angelia.core.days import day_of
from angelia.core.ids import Clock
from angelia.core.principal import Principal
from angelia.engine.day_money import DayMoney
from angelia.service.settings.config import Caps, Config, PersonTerms
from angelia.service.settings.rules import tighter
from angelia.store.port import LogStore
from angelia.store.tables.day_budgets import DayBudget, DayBudgets


def terms_of(config: Config, who: Principal) -> tuple[PersonTerms, ...]:
    """The terms of somebody, theirs before their group's; none for whoever is not named."""
    person = config.people.get(str(who))
    if person is None:
        return ()
    return (person, config.groups[person.group]) if person.group else (person,)


def limits_for(config: Config, who: Principal, caps: Caps) -> Caps:
    """The caps of the turns in a conversation of theirs."""
    own = [cost for terms in terms_of(config, who) for cost in (terms.max_cost, terms.day_cost)]
    return replace(caps, max_cost=reduce(tighter, own, caps.max_cost))


def budgets_of(config: Config, who: Principal) -> tuple[DayBudget, ...]:
    """What is counted against a cap of the day when a conversation of theirs costs something, the home's aside."""
    person = config.people.get(str(who))
    found = [budget_of(who, person.day_cost)] if person else []
    if person and person.group:
        members = tuple(Principal.parse(name) for name, one in config.people.items() if one.group == person.group)
        most = round(config.groups[person.group].day_cost * 1e6)
        found.append(DayBudget(f"the cost of the group {person.group} today", members, most))
    return tuple(one for one in found if one.most)


def budget_of(who: Principal, day_cost: float) -> DayBudget:
    """What they alone may cost in a day; `day_cost` is US dollars."""
    return DayBudget(f"the cost of {who} today", (who,), round(day_cost * 1e6))


def offered(config: Config, who: Principal, otherwise: tuple[str, ...], what: str) -> tuple[str, ...]:
    """The presets (`model` or `sandbox`) that somebody may choose from, the first one is the default: their own, else
    their group's, else what is offered `otherwise`.
    """
    own = (getattr(terms, what) for terms in terms_of(config, who))
    return next((presets for presets in own if presets), otherwise)


class Budgets:
    """Those of a home, and what is left of them."""

    def __init__(self, config: Config, db: LogStore, clock: Clock) -> None:
        self.config = config
        self._sums, self._clock = DayBudgets(db), clock

    def day_money(self, who: Principal, more: tuple[DayBudget, ...] = ()) -> DayMoney | None:
        """What each request in a conversation of theirs is held against, with `more` budgets beside those of the
        settings; None where no day has a cap.
        """
        day = round(self.config.limits.day_cost * 1e6)
        home = (DayBudget("cost today", (), day),) if day else ()
        budgets = (*budgets_of(self.config, who), *(one for one in more if one.most), *home)
        return DayMoney(self._sums, budgets, self._clock) if budgets else None

    async def today(self, budget: DayBudget) -> int:
        """What they have cost today, millionths of a US dollar."""
        return await self._sums.cost(budget, day_of(self._clock()))

    async def left(self, who: Principal) -> int | None:
        """Millionths of a US dollar that their conversations may still cost today; None without a cap of theirs."""
        budgets = budgets_of(self.config, who)
        return min([max(one.most - await self.today(one), 0) for one in budgets], default=None)

    async def spent(self, who: Principal) -> str:
        """Why nothing more is begun today in a conversation of theirs; empty while there is room."""
        for budget in budgets_of(self.config, who):
            if (cost := await self.today(budget)) >= budget.most:
                told = budget.name[0].upper() + budget.name[1:]
                return (
                    f"{told} is ${cost / 1e6:.4f}, and the cap is ${budget.most / 1e6:g}. "
                    "It is counted anew from midnight (UTC); whoever runs me can raise it."
                )
        return ""
