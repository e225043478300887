"""What a person can set for one session, as the protocol offers it; pure."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from angelia.core.profile import Ability, Profile
from angelia.faces.acp import outgoing as o
from angelia.faces.acp import results as r
from angelia.policy.situation import MODES, Mode

Effort = Literal["", "low", "medium", "high"]

EFFORTS: dict[str, str] = {"default": "As the model likes", "low": "Low", "medium": "Medium", "high": "High"}
"""Values of the setting `thinking`; `default` names none."""

MODE_CHOICES = tuple(
    r.AcpMode(mode.value, mode.value.capitalize(), f"{words.capitalize()}.") for mode, words in MODES.items()
)


ANYWHERE = "local"
"""The sandbox that every machine has: the machine itself, as far as it confines commands."""

EDITOR, SANDBOX = "editor", "sandbox"
"""Values of the settings `files` and `commands`: who reads and writes, who runs."""


class Setting(Struct, frozen=True):
    """What holds for a session: its model, how much that thinks, its mode, where it works.

    `models` and `sandboxes` are those that can be chosen. `files` and `commands` are empty where the client offers
    neither its files nor a terminal, or where its paths are not the sandbox's.
    """

    model: str
    profile: Profile
    effort: Effort
    mode: Mode
    models: tuple[str, ...]
    sandbox: str
    sandboxes: tuple[str, ...]
    files: str = ""
    commands: str = ""


def modes(setting: Setting) -> r.Modes:
    """The modes, and the one that holds."""
    return r.Modes(setting.mode.value, MODE_CHOICES)


def options(setting: Setting) -> tuple[o.AcpOption, ...]:
    """Every setting; clients that know them look at these instead of at the modes."""
    mode = o.AcpOption(
        id="mode",
        name="Mode",
        category="mode",
        current_value=setting.mode.value,
        options=tuple(o.AcpChoice(one.id, one.name, one.description) for one in MODE_CHOICES),
        description="How freely it works.",
    )
    model = o.AcpOption(
        id="model",
        name="Model",
        category="model",
        current_value=setting.model,
        options=tuple(o.AcpChoice(spec, spec) for spec in setting.models),
        description="Any other is set by its name, vendor:model.",
    )
    thinking = o.AcpOption(
        id="thinking",
        name="Thinking",
        category="thought_level",
        current_value=setting.effort or "default",
        options=tuple(o.AcpChoice(value, name) for value, name in EFFORTS.items()),
        description="How much the model thinks before it answers.",
    )
    thinks = () if setting.profile.thinking is Ability.NO else (thinking,)
    return (mode, model, *thinks, _sandbox(setting), *_means(setting))


def _sandbox(setting: Setting) -> o.AcpOption:
    """A conversation's sandbox stands in its first entry, so it can be chosen until there is one."""
    fixed = len(setting.sandboxes) == 1
    return o.AcpOption(
        id="sandbox",
        name="Sandbox",
        category="_sandbox",
        current_value=setting.sandbox,
        options=tuple(o.AcpChoice(name, name) for name in setting.sandboxes),
        description="Where it works; chosen before the first message." if fixed else "Where it works from now on.",
    )


def _means(setting: Setting) -> tuple[o.AcpOption, ...]:
    """What the editor can do in place of the sandbox."""
    files = o.AcpOption(
        id="files",
        name="Files",
        category="_files",
        current_value=setting.files,
        options=(
            o.AcpChoice(EDITOR, "Through the editor", "Unsaved changes are seen; the editor writes."),
            o.AcpChoice(SANDBOX, "Directly", "As the disk has them."),
        ),
        description="How text files are read and written.",
    )
    commands = o.AcpOption(
        id="commands",
        name="Commands",
        category="_commands",
        current_value=setting.commands,
        options=(
            o.AcpChoice(SANDBOX, "In the sandbox", "Confined to the folder, without network."),
            o.AcpChoice(EDITOR, "In the editor's terminal", "Live, and not confined: with your own rights."),
        ),
        description="Where commands run.",
    )
    return tuple(option for option in (files, commands) if option.current_value)


def models_to_choose(current: str, known: Sequence[str]) -> tuple[str, ...]:
    """The models on offer, the current one first, each once."""
    return tuple(dict.fromkeys((current, *known)))
