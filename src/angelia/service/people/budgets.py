"""What somebody may cost and choose from: their own terms, and those of their group.

What is paid is counted for whose a conversation is. A message that would begin a turn of theirs is turned away once the
day's sum is reached; a turn that is under way goes on to its own cap, which is never above the day's.
"""

from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from angelia.core.principal import Principal
from angelia.service.settings.config import Caps, Config, PersonTerms
from angelia.service.settings.rules import tighter
from angelia.store.log.transcript import Transcript

_DAY_MS = 86_400_000


class Budget(Struct, frozen=True):
    """What all of `of` together may cost in a day (UTC's), in US dollars; `name` is how it is told."""

    name: str
    of: tuple[Principal, ...]
    day_cost: float


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


def budgets_of(config: Config, who: Principal) -> list[Budget]:
    """What is counted against a cap of the day when a conversation of theirs costs something."""
    person = config.people.get(str(who))
    found = [Budget(str(who), (who,), person.day_cost)] if person else []
    if person and person.group:
        members = [Principal.parse(name) for name, one in config.people.items() if one.group == person.group]
        found.append(Budget(f"the group {person.group}", tuple(members), config.groups[person.group].day_cost))
    return [one for one in found if one.day_cost]


async def cost_today(transcript: Transcript, budget: Budget, now: int) -> float:
    """What they have cost today, in US dollars; `now` is Unix milliseconds."""
    spent = [await transcript.spent(one, now // _DAY_MS * _DAY_MS) for one in budget.of]
    return sum(one.cost for one in spent) / 1e6


async def spent_budget(transcript: Transcript, config: Config, who: Principal, now: int) -> str:
    """Why nothing more is begun today in a conversation of theirs; empty while there is room."""
    for budget in budgets_of(config, who):
        if (cost := await cost_today(transcript, budget, now)) >= budget.day_cost:
            return (
                f"{budget.name} has cost ${cost:.4f} today, and the cap is ${budget.day_cost:g}. "
                "It is counted anew from midnight (UTC); whoever runs me can raise it."
            )
    return ""


def offered(config: Config, who: Principal, of_channel: tuple[str, ...], what: str) -> tuple[str, ...]:
    """The presets (`model` or `sandbox`) that somebody may choose from, the first one is the default: their own, else
    their group's, else the channel's.
    """
    own = (getattr(terms, what) for terms in terms_of(config, who))
    return next((presets for presets in own if presets), of_channel)
