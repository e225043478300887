"""Which questions of a conversation wait for a person, as its log says."""

from collections.abc import Sequence

from angelia.core import entry as e
from angelia.core.ids import CallId
from angelia.engine.calls import Asked, Started
from angelia.engine.state import Turn


def open_questions(turn: Turn, entries: Sequence[e.Entry], children: Sequence[e.WorkStarted]) -> list[e.ApprovalAsked]:
    """Those that `turn`, the fold of `entries`, waits with, and those of its running children under their names;
    oldest first.
    """
    waiting = {call.id for call in turn.calls if isinstance(call.state, Asked)}
    waiting |= {call.state.asks.id for call in turn.calls if isinstance(call.state, Started) and call.state.asks}
    names = tuple(f"{one.call}." for one in children)
    if not waiting and not names:
        return []
    facts = [entry.fact for entry in entries]
    answered = {fact.call for fact in facts if isinstance(fact, e.ApprovalGiven | e.ApprovalRefused)}
    asked = [fact for fact in facts if isinstance(fact, e.ApprovalAsked)]
    of_children = {one.call for one in asked if one.call.startswith(names)} - answered if names else set[CallId]()
    return [one for one in asked if one.call in waiting or one.call in of_children]
