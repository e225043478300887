"""A call that a server has taken on as a task, and how that stands."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    import mcp_types as types


USUAL_PAUSE_S = 1.0
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 60.0
"""Seconds between two looks, whatever a server says."""


def pause_of(asked_ms: int | None) -> float:
    """Seconds until the next look, when a server asks for so many milliseconds.

    >>> pause_of(None), pause_of(250), pause_of(1)
    (1.0, 0.25, 0.1)
    """
    pause = asked_ms / 1000 if asked_ms else USUAL_PAUSE_S
    return min(max(pause, SHORTEST_PAUSE_S), LONGEST_PAUSE_S)


class TaskTaken(Exception):
    """The server has taken a call on, and knows it as `task` from now on."""

    def __init__(self, task: str) -> None:
        self.task = task
        super().__init__(task)


class TaskLook(Struct, frozen=True):
    """How a task stands: `result` when it is done, `fault` when it came to none, and else what it says and asks.
    `pause_s` is when to look again.
    """

    pause_s: float
    said: str = ""
    result: "types.CallToolResult | None" = None
    fault: str = ""
    asked: "Mapping[str, types.ElicitRequestParams]" = {}
