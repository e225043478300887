"""What OpenAI says when a request fails, on both of its wires."""

import msgspec

from angelia.core.failure import FailureKind
from angelia.testing.model.steps import Fail
from angelia.testing.model.wire import ErrorBody, StreamEvent, sse


class _Row(msgspec.Struct, frozen=True):
    status: int
    type: str
    code: str | None
    said: str


ERRORS: dict[FailureKind, _Row] = {
    FailureKind.BUSY: _Row(
        429, "requests", "rate_limit_exceeded", "Rate limit reached for {model} on requests per min."
    ),
    FailureKind.UNREACHABLE: _Row(
        503, "server_error", None, "The server had an error while processing your request. Sorry about that!"
    ),
    FailureKind.CONTEXT_TOO_LONG: _Row(
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "This model's maximum context length is {limit} tokens. However, your messages resulted in {more} tokens. "
        "Please reduce the length of the messages.",
    ),
    FailureKind.BODY_TOO_LARGE: _Row(413, "server_error", None, "Maximum content size limit ({limit}) exceeded"),
    FailureKind.MEDIA_REFUSED: _Row(
        400,
        "invalid_request_error",
        "invalid_image_format",
        "You uploaded an unsupported image. Please make sure your image has of one the following formats: "
        "['png', 'jpeg', 'gif', 'webp'].",
    ),
    FailureKind.LOGIN_REJECTED: _Row(401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    FailureKind.OUT_OF_CREDIT: _Row(
        429,
        "insufficient_quota",
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    FailureKind.REFUSAL: _Row(400, "invalid_request_error", "content_filter", "The response was filtered."),
    FailureKind.HISTORY_REFUSED: _Row(400, "invalid_request_error", None, "{about}"),
    FailureKind.UNKNOWN_MODEL: _Row(
        404,
        "invalid_request_error",
        "model_not_found",
        "The model `{model}` does not exist or you do not have access to it.",
    ),
}

_ABOUT = {
    "pair": "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
    "role": "Invalid value: 'tool'. Messages with role 'tool' must be a response to a preceding message "
    "with 'tool_calls'.",
    "signature": "Invalid signature in a thinking block of messages[1].",
}


def refuse(fail: Fail, model: str) -> ErrorBody:
    """An error response in OpenAI's words."""
    row = ERRORS.get(fail.kind, ERRORS[FailureKind.UNREACHABLE])
    about = _ABOUT.get(fail.about, fail.about)
    said = fail.said or row.said.format(model=model, limit=fail.limit, more=fail.limit + 1000, about=about)
    error = {"message": said, "type": row.type, "param": None, "code": row.code}
    return ErrorBody(fail.status or row.status, msgspec.json.encode({"error": error}))


def error_event() -> StreamEvent:
    """A server error within a stream."""
    error = {"message": "The server had an error while processing your request.", "type": "server_error", "code": None}
    return sse({"error": error})
