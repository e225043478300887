"""The rules of the turn, from the settings."""

from collections.abc import Sequence

from msgspec.structs import replace

from angelia.core.entry import ChildTerms
from angelia.core.errors import ConfigError
from angelia.core.failure import FailureKind
from angelia.engine.caps import UNWATCHED_PATIENCE, TurnCaps
from angelia.engine.driver import BoundModel
from angelia.engine.machine import Rules
from angelia.engine.remedies import DEFAULT, Remedy, Table
from angelia.engine.transcription import Wording
from angelia.service.settings.config import Caps, Config
from angelia.tools.registry import Registry

SCHEDULE = "schedule"
"""The door of a schedule's own log, and of the conversations that its turns begin."""


def rules_for(config: Config, registry: Registry, bound_models: Sequence[BoundModel], wording: Wording) -> Rules:
    """What the machine may assume in this process.

    Raises:
        ConfigError: [remedies] names a failure or remedy that does not exist.
    """
    return Rules(
        limits=turn_caps(config.limits),
        table=remedies_table(config.remedies),
        traits={name: tool.traits for name in registry.names if (tool := registry.get(name))},
        model=bound_models[0].profile.name,
        credentials=tuple(len(bound.credentials) for bound in bound_models),
        can_refresh=bound_models[0].refresh is not None,
        can_describe=wording.describe is not None,
        can_speak=wording.speaker is not None,
        can_place=True,
    )


def turn_caps(caps: Caps) -> TurnCaps:
    """The caps as the machine reads them."""
    return TurnCaps(
        max_steps=caps.max_steps,
        max_tokens=caps.max_tokens,
        max_cost=round(caps.max_cost * 1e6),
        max_seconds=caps.max_seconds,
        day_tokens=caps.day_tokens,
        day_cost=round(caps.day_cost * 1e6),
        patience=caps.patience,
        longest_wait=caps.longest_wait,
        cut_pause=caps.cut_pause,
        max_crashes=caps.max_crashes,
    )


def limits_in(config: Config, door: str, terms: ChildTerms | None = None) -> Caps:
    """The caps of the turns in a conversation that began at this door: of one that a clock began, or that works for
    another one on these `terms`, the tighter ones.

    Nobody looks at those, so that an outage is outlived as in a chat.
    """
    caps, own = config.limits, config.schedule
    if terms:
        return _capped(caps, terms.max_steps, terms.max_cost / 1e6)
    return _capped(caps, own.run_steps, own.run_cost) if door == SCHEDULE else caps


def _capped(caps: Caps, most_steps: int, most_cost: float) -> Caps:
    patience = UNWATCHED_PATIENCE if caps.patience < 0 else caps.patience
    steps, cost = tighter(caps.max_steps, most_steps), tighter(caps.max_cost, most_cost)
    return replace(caps, max_steps=int(steps), max_cost=cost, patience=patience)


def tighter(one: float, other: float) -> float:
    """The lower of two caps, of which 0 is none."""
    return min(filter(None, (one, other)), default=0)


def remedies_table(counts: dict[str, dict[str, int]]) -> Table:
    """The remedies table with counts of one's own: `{"busy": {"wait": 5}}`.

    Raises:
        ConfigError: no such failure, or no such remedy for it.
    """
    table = dict(DEFAULT)
    for failure, remedies in counts.items():
        if failure not in {kind.value for kind in FailureKind}:
            known = ", ".join(kind.value for kind in FailureKind)
            raise ConfigError(f"[remedies] names {failure!r}, which is no failure.", then=f"Failures are: {known}.")
        kind = FailureKind(failure)
        row = dict(table[kind].remedies)
        for name, times in remedies.items():
            if name not in {remedy.value for remedy in row}:
                known = ", ".join(remedy.value for remedy in row) or "none"
                raise ConfigError(f"remedies.{failure} has no {name!r}.", then=f"Its remedies are: {known}.")
            row[Remedy(name)] = times
        table[kind] = replace(table[kind], remedies=tuple(row.items()))
    return table
