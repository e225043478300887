"""Every way a request to a model can fail."""

from enum import StrEnum

from msgspec import Struct


class FailureKind(StrEnum):
    """A closed set; each kind has its row in the remedies table."""

    BUSY = "busy"
    """429, overloaded: the provider asks for patience."""
    UNREACHABLE = "unreachable"
    """No connection, a time-out before the first byte, or a server error (5xx)."""
    STREAM_CUT = "stream_cut"
    """The reply began and did not finish: reset, clean end without the finish event, or silence."""
    CONTEXT_TOO_LONG = "context_too_long"
    BODY_TOO_LARGE = "body_too_large"
    MEDIA_REFUSED = "media_refused"
    """A picture or document the model does not take: unsupported, too large, corrupt, too many."""
    LOGIN_REJECTED = "login_rejected"
    OUT_OF_CREDIT = "out_of_credit"
    EMPTY_REPLY = "empty_reply"
    THINKING_ONLY = "thinking_only"
    CUT_OFF = "cut_off"
    """The reply stopped at the length limit."""
    BAD_CALL = "bad_call"
    """A tool that does not exist, or arguments that are not valid for it."""
    REFUSAL = "refusal"
    """The model or the provider's filter declines."""
    HISTORY_REFUSED = "history_refused"
    """A request whose shape the provider rejects: a signature, a pair, a role, or a 400 without a better name."""
    UNKNOWN_MODEL = "unknown_model"
    PARAMETER_REFUSED = "parameter_refused"
    """A parameter of the request, which can be left out, is unknown to the provider or not for this model."""
    TOOL_REFUSED = "tool_refused"
    """The schema or the name of one tool."""
    WRONG_ADDRESS = "wrong_address"
    """What answers at the vendor's address is no model server: a wrong URL or proxy, a redirect, a page. Certain."""
    FILE_REFUSED = "file_refused"
    """A file that the answer names cannot be sent."""
    CIRCLES = "circles"
    """The same calls bring the same results, again and again."""
    WORKER = "worker"
    """Another agent that works in the model's place gave no answer; `Failure.names` is its `WorkerFate`."""


PASSING = frozenset(
    {FailureKind.BUSY, FailureKind.UNREACHABLE, FailureKind.STREAM_CUT, FailureKind.EMPTY_REPLY, FailureKind.CUT_OFF}
)
"""Failures after which the same request may succeed."""


AS_IT_WAS = frozenset(
    {
        FailureKind.HISTORY_REFUSED,
        FailureKind.PARAMETER_REFUSED,
        FailureKind.TOOL_REFUSED,
        FailureKind.CONTEXT_TOO_LONG,
        FailureKind.BODY_TOO_LARGE,
        FailureKind.MEDIA_REFUSED,
    }
)
"""Failures that lie in the request itself: the same bytes would meet them again."""


class Failure(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One failure, with what the provider said about it.

    `said` is the provider's text, redacted and at most 500 characters. `status` is the HTTP status or 0.
    `retry_after` is milliseconds, 0 when the provider named none. `limit` is the limit that the provider
    named (tokens for CONTEXT_TOO_LONG, bytes for BODY_TOO_LARGE and MEDIA_REFUSED), 0 when it named none.
    `names` is the parameter or the tool that it names, as the request has it, or how a worker failed, or that it was
    stopped by us; empty for none.
    """

    kind: FailureKind
    said: str = ""
    status: int = 0
    retry_after: int = 0
    limit: int = 0
    names: str = ""


STOPPED = Failure(FailureKind.STREAM_CUT, said="stopped before it was finished", names="stopped")
"""A request that we gave up ourselves, since a person or our process stopped: nothing is wrong with who was asked. No
provider's failure is equal to it, since none names anything in a reply that is cut.
"""
