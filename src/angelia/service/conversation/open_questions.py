"""Which questions of a conversation wait for a person, as its log says, and what answers one."""

from collections.abc import Sequence

from angelia.core import entry as e
from angelia.core.ids import CallId
from angelia.core.principal import ANGELIA
from angelia.engine.background import BackgroundWork
from angelia.engine.calls import Asked, Started
from angelia.engine.state import Turn, advance


def open_questions(turn: Turn, entries: Sequence[e.Entry], children: Sequence[e.WorkStarted]) -> list[e.ApprovalAsked]:
    """Those that `turn`, the fold of `entries`, waits with, and those of its running children under their names;
    oldest first. A call that was asked about once more, since it would do something else by now, waits with its last
    question alone.
    """
    waiting = {call.id for call in turn.calls if isinstance(call.state, Asked)}
    waiting |= {call.state.asks.id for call in turn.calls if isinstance(call.state, Started) and call.state.asks}
    names = tuple(f"{one.call}." for one in children)
    if not waiting and not names:
        return []
    last: dict[CallId, e.ApprovalAsked] = {}
    answered: set[CallId] = set()
    for entry in entries:
        match entry.fact:
            case e.ApprovalAsked() as asked:
                last.pop(asked.call, None)
                last[asked.call] = asked
                answered.discard(asked.call)
            case e.ApprovalGiven(call=call) | e.ApprovalRefused(call=call):
                answered.add(call)
            case _:
                continue
    return [
        one for one in last.values() if one.call in waiting or (one.call.startswith(names) and one.call not in answered)
    ]


def answer_among(facts: Sequence[e.AnyFact]) -> e.ApprovalGiven | e.ApprovalRefused | None:
    """A person's answer to a question that was put before; None where there is none among `facts`."""
    put = {fact.call for fact in facts if isinstance(fact, e.ApprovalAsked)}
    answers = (fact for fact in facts if isinstance(fact, e.ApprovalGiven | e.ApprovalRefused))
    return next((one for one in answers if one.by != ANGELIA and one.call not in put), None)


def open_in(entries: Sequence[e.Entry]) -> list[e.ApprovalAsked]:
    """The same, of a whole log that nobody follows."""
    children = [one for one in BackgroundWork().now(entries) if one.child]
    return open_questions(advance(Turn(), entries), entries, children)
