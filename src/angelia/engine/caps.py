"""Hard caps of a turn and of a day, and whether one is reached; pure."""

from msgspec import Struct

from angelia.core import ending as end
from angelia.engine.state import Turn


class TurnCaps(Struct, frozen=True):
    """Caps of a turn and of a day; 0 means none. Money is millionths of a US dollar, time is seconds.

    `patience` is how long an outage of the model is outlived, -1 for `patience_of`'s choice. A wait longer than
    `longest_wait` is put off for as long as there is a fallback. `cut_pause` comes before a cut reply is asked again,
    and doubles. A request, or a recording, within which our process ended `max_crashes` times in a row is given up.
    """

    max_steps: int = 90
    max_tokens: int = 0
    max_cost: int = 0
    max_seconds: int = 0
    day_tokens: int = 0
    day_cost: int = 0
    stale_calls: int = 8
    patience: int = -1
    longest_wait: int = 120
    cut_pause: float = 0.5
    max_crashes: int = 3


WATCHED_DOORS = frozenset({"terminal", "acp"})
"""Where a person looks while a turn runs, and stops it or asks again."""
UNWATCHED_PATIENCE, WATCHED_PATIENCE = 300, 8
"""Seconds: an outage of a provider is mostly over within minutes; who looks at a screen wants to know sooner."""


def patience_of(turn: Turn, limits: TurnCaps) -> int:
    """Seconds for which the open turn outlives an outage of its model: minutes where nobody looks."""
    if limits.patience >= 0:
        return limits.patience
    watched = turn.opener is None or turn.opener.address.door in WATCHED_DOORS
    return WATCHED_PATIENCE if watched else UNWATCHED_PATIENCE


def spent(turn: Turn, limits: TurnCaps, day_tokens: int, day_cost: int) -> end.Ending | None:
    """The first cap that is reached. Tokens and money are counted after each reply, so one call may exceed them."""
    if limits.max_steps and turn.steps >= limits.max_steps:
        return end.StepLimit(steps=turn.steps)
    for what, used, cap in (
        ("tokens this turn", turn.tokens, limits.max_tokens),
        ("tokens today", day_tokens + turn.tokens, limits.day_tokens),
    ):
        if cap and used >= cap:
            return end.BudgetSpent(what, f"{used:,}", f"{cap:,}")
    return money_spent(turn, limits, day_cost)


def money_spent(turn: Turn, limits: TurnCaps, day_cost: int) -> end.BudgetSpent | None:
    """The first cap on money that is reached; what is put aside for children that run counts as spent."""
    aside = sum(turn.reserved.values())
    for what, used, cap in (
        ("cost this turn", turn.cost + aside, limits.max_cost),
        ("cost today", day_cost + turn.cost + aside, limits.day_cost),
    ):
        if cap and used >= cap:
            put_aside = f", of which ${aside / 1e6:.4f} are put aside for helpers" if aside else ""
            return end.BudgetSpent(what, f"${used / 1e6:.4f}{put_aside}", f"${cap / 1e6:.4f}")
    return None


def money_left(turn: Turn, limits: TurnCaps, day_cost: int) -> int | None:
    """Millionths of a US dollar that the turn may still spend or put aside; None without a cap."""
    used = turn.cost + sum(turn.reserved.values())
    caps = ((limits.max_cost, used), (limits.day_cost, day_cost + used))
    return min((max(cap - spent, 0) for cap, spent in caps if cap), default=None)


def out_of_time(limits: TurnCaps, left: int) -> end.Ending:
    """The ending of a turn whose time is up, by `left` milliseconds (0 or less)."""
    return end.BudgetSpent("time this turn", f"{limits.max_seconds - left / 1000:.0f} s", f"{limits.max_seconds} s")


def time_left(turn: Turn, limits: TurnCaps, now: int) -> int | None:
    """Milliseconds left for this turn, waiting for people aside; None without a cap."""
    if not limits.max_seconds:
        return None
    waiting = now - turn.waiting_since if turn.waiting_since else 0
    return limits.max_seconds * 1000 - (now - turn.started_at - turn.waited - waiting)
