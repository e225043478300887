"""What Anthropic says when a request fails (https://docs.anthropic.com/en/api/errors)."""

import msgspec
from msgspec import Struct

from angelia.core.failure import FailureKind
from angelia.testing.model.steps import Fail
from angelia.testing.model.wire import ErrorBody, StreamEvent, sse


class _Row(Struct, frozen=True):
    status: int
    type: str
    said: str


ERRORS: dict[FailureKind, _Row] = {
    FailureKind.BUSY: _Row(
        429, "rate_limit_error", "This request would exceed your organization's rate limit of 50 requests per minute."
    ),
    FailureKind.UNREACHABLE: _Row(500, "api_error", "Internal server error"),
    FailureKind.CONTEXT_TOO_LONG: _Row(
        400, "invalid_request_error", "prompt is too long: {more} tokens > {limit} maximum"
    ),
    FailureKind.BODY_TOO_LARGE: _Row(413, "request_too_large", "Request exceeds the maximum size"),
    FailureKind.MEDIA_REFUSED: _Row(
        400, "invalid_request_error", "messages.0.content.0.image: Could not process image"
    ),
    FailureKind.LOGIN_REJECTED: _Row(401, "authentication_error", "invalid x-api-key"),
    FailureKind.OUT_OF_CREDIT: _Row(
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. "
        "Please go to Plans & Billing to upgrade or purchase credits.",
    ),
    FailureKind.REFUSAL: _Row(400, "invalid_request_error", "Output blocked by content filtering policy"),
    FailureKind.HISTORY_REFUSED: _Row(400, "invalid_request_error", "{about}"),
    FailureKind.UNKNOWN_MODEL: _Row(404, "not_found_error", "model: {model}"),
}

_ABOUT = {
    "pair": "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
    "role": "messages.1.role: Input should be 'user' or 'assistant'",
    "signature": "messages.1.content.0: Invalid `signature` in `thinking` block",
}


def refuse(fail: Fail, model: str) -> ErrorBody:
    """An error response in Anthropic's words; status 529 is `overloaded_error`."""
    row = ERRORS.get(fail.kind, ERRORS[FailureKind.UNREACHABLE])
    if fail.status == 529:
        row = _Row(529, "overloaded_error", "Overloaded")
    about = _ABOUT.get(fail.about, fail.about)
    said = fail.said or row.said.format(model=model, limit=fail.limit, more=fail.limit + 1000, about=about)
    return ErrorBody(fail.status or row.status, msgspec.json.encode(_error(row.type, said)))


def error_event() -> StreamEvent:
    """A server error within a stream."""
    return sse(_error("overloaded_error", "Overloaded"), event="error")


def _error(kind: str, said: str) -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": said}, "request_id": "req_1"}
