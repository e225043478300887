"""Where a call stands that has no result yet."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import ToolCall
from angelia.core.ids import CallId
from angelia.core.principal import Principal
from angelia.tools.port import Traits
from angelia.tools.submitted_jobs import SubmittedJob


class Wanted(Struct, frozen=True):
    """The model wants it; nobody has looked at it yet."""


class AsksMeanwhile(Struct, frozen=True):
    """A person is asked by a call that runs; `id` is the question's own, and `approvers` may answer."""

    id: CallId
    approvers: tuple[Principal, ...]


class Started(Struct, frozen=True):
    """It ran, or runs. Seen by a decision, it was started in a life that ended; `may_cost` as in `ToolStarted`.

    `submitted` says that somebody else's server goes on with it, where its end can be fetched. `asks` is the question
    that it waits with, None for none.
    """

    replayable: bool
    may_cost: e.Payment = e.NO_PAYMENT
    submitted: bool = False
    asks: AsksMeanwhile | None = None


class Asked(Struct, frozen=True):
    """A person is asked. `at` is the entry that asked, `expires` Unix milliseconds or 0; `approvers` may say yes."""

    at: int
    expires: int
    approvers: tuple[Principal, ...]


class Permitted(Struct, frozen=True):
    """A person said yes, or answered."""


class Declined(Struct, frozen=True):
    """A person said no."""

    why: str


class HandedOver(Struct, frozen=True):
    """The program whose tool it is has it. `at` is the entry that says so."""

    at: int


class CameBack(Struct, frozen=True):
    """The program has said what it came to."""


CallState = Wanted | Started | Asked | Permitted | Declined | HandedOver | CameBack


def calls_of(fact: e.AnyFact) -> tuple[ToolCall, ...]:
    """The calls that a fact brings: those that the model made, or those that send the files which it named."""
    match fact:
        case e.ModelSaid(parts=parts):
            return tuple(part for part in parts if isinstance(part, ToolCall))
        case e.FilesNamed(files=files):
            return tuple(file.call for file in files)
        case _:
            return ()


class OpenCall(Struct, frozen=True):
    """A call without a result."""

    id: CallId
    name: str
    state: CallState


def submitted_job(log: Sequence[e.Entry], call: CallId) -> SubmittedJob:
    """What a server has taken on for a call of the last reply; the last of several."""
    for entry in reversed(log):
        match entry.fact:
            case e.JobSubmitted(call=by, to=to, job=job) if by == call:
                return SubmittedJob(to, job)
            case e.ModelSaid() | e.FilesNamed():
                break
            case _:
                pass
    return SubmittedJob()


def started_fact(log: Sequence[e.Entry], call: CallId) -> e.ToolStarted:
    """How a call that goes on was started."""
    found = (one.fact for one in reversed(log) if isinstance(one.fact, e.ToolStarted) and one.fact.call == call)
    return next(found, e.ToolStarted(call))


def runnable(calls: tuple[OpenCall, ...], traits: Mapping[str, Traits]) -> tuple[CallId, ...]:
    """The next calls in reply order: neighbours that only read go together; an open question holds back writers.

    Those of a program's tools are the last, and go together; until their results are there nothing else begins.
    """
    if brought := tuple(call.id for call in calls if isinstance(call.state, CameBack)):
        return brought
    if any(isinstance(call.state, HandedOver) for call in calls):
        return ()
    theirs = tuple(call for call in calls if traits.get(call.name, Traits()).handed_over)
    own = [call for call in calls if call not in theirs]
    if own:
        return _next_own(own, traits)
    return tuple(call.id for call in theirs if not isinstance(call.state, Asked))


def _next_own(calls: Sequence[OpenCall], traits: Mapping[str, Traits]) -> tuple[CallId, ...]:
    group: list[CallId] = []
    held = False
    for call in calls:
        if isinstance(call.state, Asked):
            held = True
        elif traits.get(call.name, Traits()).reads_only:
            group.append(call.id)
        elif group:
            break
        elif not held:
            return (call.id,)
    return tuple(group)
