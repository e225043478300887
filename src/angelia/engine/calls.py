"""Where a call stands that has no result yet."""

from collections.abc import Mapping

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import ToolCall
from angelia.core.ids import CallId
from angelia.core.principal import Principal
from angelia.tools.port import Traits


class Wanted(Struct, frozen=True):
    """The model wants it; nobody has looked at it yet."""


class Started(Struct, frozen=True):
    """It ran, or runs. Seen by a decision, it was started in a life that ended; `may_cost` as in `ToolStarted`."""

    replayable: bool
    may_cost: e.Payment = e.Payment()


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


CallState = Wanted | Started | Asked | Permitted | Declined


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


def runnable(calls: tuple[OpenCall, ...], traits: Mapping[str, Traits]) -> tuple[CallId, ...]:
    """The next calls in reply order: neighbours that only read go together; an open question holds back writers."""
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
