"""Whether a turn was long enough that its way of working may be worth keeping."""

from collections.abc import Sequence

from angelia.core import entry as e
from angelia.core.content import CallStatus, Text
from angelia.core.ending import Answered
from angelia.core.text import one_line

LONG_TURN = 8
"""Calls that succeeded."""


def after_long_turn(entries: Sequence[e.Entry]) -> bool:
    """Whether the last turn that is over was answered, and took `LONG_TURN` calls that succeeded."""
    return last_turn(entries)[1] >= LONG_TURN


def last_turn(entries: Sequence[e.Entry]) -> tuple[str, int]:
    """What began the last turn that was closed, and how many of its calls succeeded; none of one without an answer."""
    words, calls, closed = "", 0, False
    for entry in reversed(entries):
        match entry.fact:
            case e.TurnClosed(ending=ending):
                if closed:
                    break
                if not isinstance(ending, Answered):
                    return "", 0
                closed = True
            case e.ToolFinished(status=CallStatus.OK) if closed:
                calls += 1
            case e.Opening(parts=parts) if closed:
                words = " ".join(part.text for part in parts if isinstance(part, Text)) or words
            case _:
                pass
    return one_line(words, 200), calls
