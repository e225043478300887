"""How work is given to helpers, and the helpers that a person has set up."""

from msgspec import Struct


class DelegationSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`at_once` helpers of one conversation work side by side, the others wait; a turn opens `most` of them at most.

    `depth` is how deep they nest: 1, helpers have none of their own; 0, nobody has any. One makes at most `max_steps`
    model calls and costs at most `max_cost` US dollars; 0 means no cap of its own. Of one that nothing was heard of for
    `silent_minutes`, and that waits for nobody, it is told, and it is ended.
    """

    at_once: int = 3
    most: int = 30
    depth: int = 1
    max_steps: int = 50
    max_cost: float = 1.0
    silent_minutes: float = 15.0


class ChildPreset(Struct, frozen=True, forbid_unknown_fields=True):
    """`description` says what it is for, `instructions` are put before its task.

    `model` is empty for the conversation's own. `tools` are the only ones that it has, empty for all. `max_cost` is
    US dollars, `max_steps` model calls; 0 for those of `[delegation]`.
    """

    description: str = ""
    instructions: str = ""
    model: str = ""
    tools: tuple[str, ...] = ()
    max_cost: float = 0.0
    max_steps: int = 0
