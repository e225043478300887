"""How work is given to helpers, and the helpers that a person has set up."""

from typing import Literal

from msgspec import Struct, field

from angelia.core.amounts import Amount, Count, PositiveAmount


class DelegationSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`at_once` helpers of one conversation work side by side, the others wait; a turn opens `most` of them at most.

    `depth` is how deep they nest: 1, helpers have none of their own; 0, nobody has any. One makes at most `max_steps`
    model calls and costs at most `max_cost` US dollars; 0 means no cap of its own. Of one that nothing was heard of for
    `silent_minutes`, and that waits for nobody, it is told, and it is ended. A folder of at most `copy_bytes` is copied
    for one; what `.gitignore` names does not count, and is not in the copy.
    """

    at_once: Count = 3
    most: Count = 30
    depth: Count = 1
    max_steps: Count = 50
    max_cost: Amount = 1.0
    silent_minutes: PositiveAmount = 15.0
    copy_bytes: Count = 2_000_000_000


class ChildPreset(Struct, frozen=True, forbid_unknown_fields=True):
    """`description` says what it is for, `instructions` are put before its task.

    `model` is empty for the conversation's own. `tools` are the only ones that it has, empty for all. `max_cost` is
    US dollars, `max_steps` model calls; 0 for those of `[delegation]`.

    `worker` names another agent that does the work in place of a model, such as `acp:codex`; `command` starts one that
    is not known by a name. It runs in the conversation's sandbox, as far as `reach` says; `hosts` are the only ones
    that it may reach, empty for all. It gets the variables of `env`, whose values may hold `${NAME}`, `${file:PATH}`
    and `${command:LINE}` as those of `[mcp.servers.NAME]` do, and no other secret.
    """

    description: str = ""
    instructions: str = ""
    model: str = ""
    tools: tuple[str, ...] = ()
    max_cost: Amount = 0.0
    max_steps: Count = 0
    worker: str = ""
    command: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    reach: Literal["confined", "network"] = "network"
    hosts: tuple[str, ...] = ()
