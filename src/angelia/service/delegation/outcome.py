"""What a child's log comes to: its ending, its words, the files that it handed over, and what it cost."""

from collections.abc import Sequence

from msgspec import Struct

from angelia.context.usage_meter import UsageMeter
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import CallStatus, Content, Media, Text

ENDINGS = ("answer", "ending")
"""The origins of what closes a turn."""


class ChildOutcome(Struct, frozen=True):
    """What the parent is told of a child."""

    end: e.ChildEnd
    status: CallStatus
    parts: tuple[Content, ...]


def outcome_of(log: Sequence[e.Entry], trouble: str = "") -> ChildOutcome:
    """What has come of a child so far; `trouble` is why it could not be driven any further, empty if it was.

    The files stand by name, size and hash beneath its words, whatever ended it.
    """
    facts = [entry.fact for entry in log]
    closed = next((fact.ending for fact in reversed(facts) if isinstance(fact, e.TurnClosed)), None)
    ending = None if trouble else closed
    sent = [fact for fact in facts if isinstance(fact, e.DeliveryQueued)]
    said = next((fact.parts for fact in reversed(sent) if fact.origin in ENDINGS), ()) if ending else (Text(trouble),)
    files = tuple(part for fact in sent for part in fact.parts if isinstance(part, Media))
    words = "".join(part.text for part in said if isinstance(part, Text))
    lines = [f"[{file_line(file)}]" for file in files]
    answered = isinstance(ending, end.Answered)
    return ChildOutcome(
        e.ChildEnd(ending, cost_of(log), steps_of(log), unpriced_in(log)),
        CallStatus.OK if answered else CallStatus.ERROR,
        (Text("\n".join([words, *lines])), *files),
    )


def file_line(file: Media) -> str:
    """A file that a child hands over, by name, size and hash."""
    name = file.name or "a file"
    return f"file {name}, {file.blob.size:,} bytes, blob:{file.blob.sha256[:12]}, sha256 {file.blob.sha256}"


def cost_of(log: Sequence[e.Entry]) -> int:
    """What a conversation and its ended children were paid, millionths of a US dollar; unknown prices add nothing."""
    return sum(_paid(entry.fact) for entry in log)


def _paid(fact: e.AnyFact) -> int:
    match fact:
        case e.ModelSaid(cost=cost) | e.ModelFailed(cost=cost) | e.ViewMoved(cost=cost) | e.Transcribed(cost=cost):
            return max(cost, 0)
        case e.ToolFinished(paid=paid):
            return max(paid.cost, 0)
        case e.WorkEnded(child=e.ChildEnd(cost=cost)):
            return cost
        case _:
            return 0


def unpriced_in(log: Sequence[e.Entry]) -> int:
    """How many payments of a conversation and its ended children have no known price."""
    ended = (entry.fact.child for entry in log if isinstance(entry.fact, e.WorkEnded))
    return UsageMeter(log).unpriced + sum(child.unpriced for child in ended if child)


def steps_of(log: Sequence[e.Entry]) -> int:
    """How often a model was asked."""
    return sum(isinstance(entry.fact, e.ModelAsked) for entry in log)
