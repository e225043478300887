"""What a person can set for one session, as the protocol offers it; pure."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from angelia.core.profile import Ability, Profile
from angelia.faces.acp import outgoing as o
from angelia.faces.acp import results as r
from angelia.policy.situation import Mode

Effort = Literal["", "low", "medium", "high"]

EFFORTS: dict[str, str] = {"default": "As the model likes", "low": "Low", "medium": "Medium", "high": "High"}
"""Values of the setting `thinking`; `default` names none."""

MODES = (
    r.Mode(Mode.PLAN.value, "Plan", "Only looks; nothing is changed."),
    r.Mode(Mode.ASK.value, "Ask", "Every write and every command asks."),
    r.Mode(Mode.EDIT.value, "Edit", "Works freely in the folder; what is risky asks."),
    r.Mode(Mode.AUTONOMOUS.value, "Autonomous", "Works freely in the folder and reads the web; what is risky asks."),
)


class Setting(Struct, frozen=True):
    """What holds for a session: its model, how much that thinks, its mode; `models` are those that can be chosen."""

    model: str
    profile: Profile
    effort: Effort
    mode: Mode
    models: tuple[str, ...]


def modes(setting: Setting) -> r.Modes:
    """The modes, and the one that holds."""
    return r.Modes(setting.mode.value, MODES)


def options(setting: Setting) -> tuple[o.Option, ...]:
    """Every setting; clients that know them look at these instead of at the modes."""
    mode = o.Option(
        id="mode",
        name="Mode",
        category="mode",
        current_value=setting.mode.value,
        options=tuple(o.Choice(one.id, one.name, one.description) for one in MODES),
        description="How freely it works.",
    )
    model = o.Option(
        id="model",
        name="Model",
        category="model",
        current_value=setting.model,
        options=tuple(o.Choice(spec, spec) for spec in setting.models),
        description="Any other is set by its name, vendor:model.",
    )
    thinking = o.Option(
        id="thinking",
        name="Thinking",
        category="thought_level",
        current_value=setting.effort or "default",
        options=tuple(o.Choice(value, name) for value, name in EFFORTS.items()),
        description="How much the model thinks before it answers.",
    )
    return (mode, model) if setting.profile.thinking is Ability.NO else (mode, model, thinking)


def models_to_choose(current: str, known: Sequence[str]) -> tuple[str, ...]:
    """The models on offer, the current one first, each once."""
    return tuple(dict.fromkeys((current, *known)))
