"""What a provider's refusals have taught about a model's limits, believed only where it is plausible."""

from collections.abc import Sequence

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.failure import FailureKind

LEAST_TOKENS = 1_024
LEAST_BYTES = 100_000
"""A limit below these is a misread number, not a limit."""


class Learnt(Struct, frozen=True):
    """What one model's provider has told in this conversation: the windows (tokens) and body limits (bytes) that it
    named, and the largest request that it accepted; the parameters that requests go `without`, and the tools that are
    left out. Of bodies that were refused without a number `refused` is the smallest, and `taken` the largest of those
    that were not, by our own measure. Nothing outlives the conversation.
    """

    windows: tuple[int, ...] = ()
    bodies: tuple[int, ...] = ()
    accepted: int = 0
    refused: int = 0
    taken: int = 0
    without: frozenset[str] = frozenset()
    tools_out: frozenset[str] = frozenset()

    @property
    def tokens(self) -> int:
        """The smallest plausible window; 0 if none was named. One smaller than an accepted request is not believed."""
        return min((limit for limit in self.windows if limit >= max(LEAST_TOKENS, self.accepted)), default=0)

    @property
    def bytes(self) -> int:
        """What a body may weigh; 0 if nothing is known. Under a limit that was named, a little is left for what we
        measure wrongly; one that was not lies between what was taken and what was refused, and is looked for halfway.
        """
        named = min((limit for limit in self.bodies if limit >= LEAST_BYTES), default=0)
        halfway = (self.refused + (self.taken if self.taken < self.refused else 0)) // 2
        return min((limit for limit in (int(named * 0.95), halfway) if limit), default=0)


_NOTHING = Learnt()


def learnt_limits(log: Sequence[e.Entry], model: str, known: Learnt = _NOTHING) -> Learnt:
    """What these entries tell of one model's limits, beside what was `known` before them."""
    windows, bodies, accepted = [*known.windows], [*known.bodies], known.accepted
    without, tools_out = known.without, known.tools_out
    refused, taken = known.refused, known.taken
    for entry in log:
        match entry.fact:
            case e.ModelSaid(model=by, usage=usage, body=body) if by == model:
                accepted, taken = max(accepted, usage.input), max(taken, body)
            case e.ModelFailed(model=by, failure=failure) if by == model and failure.names:
                parameter = failure.kind is FailureKind.PARAMETER_REFUSED
                without |= {failure.names} if parameter else frozenset()
                tools_out |= {failure.names} if failure.kind is FailureKind.TOOL_REFUSED else frozenset()
            case e.ModelFailed(model=by, failure=failure) as failed if by == model:
                windows += [failure.limit] if failure.kind is FailureKind.CONTEXT_TOO_LONG else []
                if failure.kind is FailureKind.BODY_TOO_LARGE:
                    bodies += [failure.limit] if failure.limit else []
                    refused = min((body for body in (refused, failed.body) if body), default=0)
            case _:
                pass
    return Learnt(tuple(windows), tuple(bodies), accepted, refused, taken, without, tools_out)
