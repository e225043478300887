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
    left out. Nothing outlives the conversation.
    """

    windows: tuple[int, ...] = ()
    bodies: tuple[int, ...] = ()
    accepted: int = 0
    without: frozenset[str] = frozenset()
    tools_out: frozenset[str] = frozenset()

    @property
    def tokens(self) -> int:
        """The smallest plausible window; 0 if none was named. One smaller than an accepted request is not believed."""
        return min((limit for limit in self.windows if limit >= max(LEAST_TOKENS, self.accepted)), default=0)

    @property
    def bytes(self) -> int:
        """The smallest plausible limit of a body; 0 if none was named."""
        return min((limit for limit in self.bodies if limit >= LEAST_BYTES), default=0)


_NOTHING = Learnt()


def learnt_limits(log: Sequence[e.Entry], model: str, known: Learnt = _NOTHING) -> Learnt:
    """What these entries tell of one model's limits, beside what was `known` before them."""
    windows, bodies, accepted = [*known.windows], [*known.bodies], known.accepted
    without, tools_out = known.without, known.tools_out
    for entry in log:
        match entry.fact:
            case e.ModelSaid(model=by, usage=usage) if by == model:
                accepted = max(accepted, usage.input)
            case e.ModelFailed(model=by, failure=failure) if by == model and failure.names:
                parameter = failure.kind is FailureKind.PARAMETER_REFUSED
                without |= {failure.names} if parameter else frozenset()
                tools_out |= {failure.names} if failure.kind is FailureKind.TOOL_REFUSED else frozenset()
            case e.ModelFailed(model=by, failure=failure) if by == model:
                windows += [failure.limit] if failure.kind is FailureKind.CONTEXT_TOO_LONG else []
                bodies += [failure.limit] if failure.kind is FailureKind.BODY_TOO_LARGE else []
            case _:
                pass
    return Learnt(tuple(windows), tuple(bodies), accepted, without, tools_out)
