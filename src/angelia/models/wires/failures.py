"""What a provider's refusal means: status, codes and words to a `Failure`."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from angelia.core.errors import UNREADABLE
from angelia.core.failure import Failure, FailureKind
from angelia.core.text import clean, one_line, shorten
from angelia.models.wires.retry_after import wait_of

_RETRIED = r"retrydelay|please retry in|try again in"

PHRASES: tuple[tuple[FailureKind, tuple[str, ...]], ...] = (
    (
        FailureKind.REFUSAL,
        (
            r"content[_ ]filter",
            r"content management policy",
            r"content[_ ]policy[_ ]violation",
            r"content filtering policy",
            r"policy_violation",
            r"\binvalid_prompt\b",
            r"\b(?:bio|cyber)_policy\b",
            r"flagged as potentially violating",
            r"input was flagged",
            r"prohibited_content",
            r"usage policies",
            r"safety system",
        ),
    ),
    (
        FailureKind.BUSY,  # a quota by the minute, told in the words of an empty account: it names when to come back
        (rf"exceeded your current quota.*(?:{_RETRIED})", rf"(?:{_RETRIED}).*exceeded your current quota"),
    ),
    (
        FailureKind.OUT_OF_CREDIT,
        (
            r"insufficient_quota",
            r"exceeded_current_quota",
            r"exceeded your current quota",
            r"credit balance is too low",
            r"insufficient[_ ](?:balance|credits?|funds)",
            r"(?:requires?|required) more credits|more credits are required",
            r"used all available credits",
            r"spending limit",
            r"billing_(?:hard_limit|error|not_active)",
            r"\bkey limit exceeded",
            r"payment required",
            "余额不足",
        ),
    ),
    (
        FailureKind.CONTEXT_TOO_LONG,
        (
            r"prompt is too long(?:: \d+ tokens > (?P<limit>\d+))?",
            r"exceed context limit: [\d+ ]+> (?P<limit>\d+)",
            r"maximum context length (?:is|of) (?P<limit>\d+)",
            r"with (?P<limit>\d+) maximum context length",
            r"current length is \d+ while limit is (?P<limit>\d+)",
            r"exceeds? the (?:available )?context (?:window|size)(?:.*\"n_ctx\": ?(?P<limit>\d+))?",
            r"exceed_context_size_error(?:.*\"n_ctx\": ?(?P<limit>\d+))?",
            r"input token count.{0,30}exceeds the maximum number of tokens allowed \(?(?P<limit>\d+)",
            r"maximum prompt length is (?P<limit>\d+)",
            r"context length of only (?P<limit>\d+)",
            r"greater than the context length(?:.*n_ctx: (?P<limit>\d+))?",
            r"`inputs` tokens \+ `max_new_tokens` must be <= (?P<limit>\d+)",
            r"too long to fit into the model \(context length (?P<limit>\d+)\)",
            r"longer than the maximum model length of (?P<limit>\d+)",
            r"exceeded model token limit: (?P<limit>\d+)",
            r"token count of \d+ exceeds the limit of (?P<limit>\d+)",
            r"request too large for .*limit (?P<limit>\d+), requested",
            r"body too large for .*max size: (?P<limit>\d+) tokens",
            r"context[_ ]length[_ ]exceeded",
            r"context window exceeds limit",
            r"prompt exceeds max length",
            r"input is too long",
            r"reduce the length of the (?:messages|input|prompt)",
        ),
    ),
    (
        FailureKind.HISTORY_REFUSED,  # what the status alone would call something else, or other words would hide
        (
            r"item with id .{0,80} not found",
            r"thought[_ ]signature|`signature` in `thinking`",
            r"encrypted content .{0,80}could not be verified",
            r"invalid[_ ]request[_ ]message[_ ]order",
        ),
    ),
    (
        FailureKind.BODY_TOO_LARGE,
        (
            r"payload size exceeds the limit: (?P<limit>\d+) bytes",
            r"request_too_large",
            r"(?:request entity|payload|request body) too large",
            r"exceeds the maximum (?:allowed )?(?:request )?size",
        ),
    ),
    (
        FailureKind.MEDIA_REFUSED,
        (
            r"image exceeds .{0,20}maximum: \d+ bytes > (?P<limit>\d+) bytes",
            r"image dimensions exceed",
            r"too many images",
            r"at most \d+ (?:image|audio|video|document)",
            r"maximum of \d+ pdf pages",
            r"could not process (?:image|pdf|document)",
            r"pdf specified (?:was not valid|is password)",
            r"unsupported[_ ]image|invalid[_ ](?:base64_)?image|empty_image|image_(?:too|parse|file)",
            r"does not represent a valid image|image is valid|cannot identify image|failed to (?:load|decode) image",
            r"no endpoints found that support (?:image|file|audio|video)",
            r"(?:does not|doesn't|do not) support (?:image|vision|file|audio|video|pdf|document|multimodal)",
            r"(?:image|vision|audio|video|file|pdf)(?: input| content)? (?:is|are) not (?:supported|enabled)",
            r"image_url is only supported by",
            r"unknown variant `(?:image_url|file|input_audio)`",
            r"content part type: \\*\"?(?:image_url|file|input_audio)",
            r"not a multimodal model",
            r"(?:vision add-on|data required for image)",
            r"media_type: input should be",
            r"has no form on the",
        ),
    ),
    (
        FailureKind.UNKNOWN_MODEL,
        (
            r"model_not_found|modelnotfound|model_not_available|model_decommissioned|model_not_active",
            r"dedicated_endpoint_not_running|deploymentnotfound|unsupported_model",
            r"model\b.{0,120}(?:does not exist|not found|not exist|has been decommissioned)",
            r"not_found_error.{0,20}model:",
            r"is not a valid model",
            r"invalid model",
            r"is not found for api version",
            r"no models? (?:is |are )?loaded",
            r"no endpoints found",
            r"does not support tools",
        ),
    ),
    (
        FailureKind.LOGIN_REJECTED,
        (
            r"invalid (?:x-)?api[-_ ]?key|invalid_api_key|incorrect api key|api key not valid|api key (?:has )?expired",
            r"authentication[_ ](?:error|fails|failed)",
            r"missing authentication|no auth credentials|no cookie auth",
            r"you didn't provide an api key|user not found",
        ),
    ),
    (
        FailureKind.BUSY,
        (
            r"overloaded",
            r"rate[_ ]?limit",
            r"too many (?:requests|tokens for team)",
            r"resource[_ ](?:has been )?exhausted",
            r"per (?:minute|second|day) limit exceeded",
            r"server (?:is )?busy",
            r"capacity exceeded|at capacity|insufficient_system_resource",
            r"slow_down",
        ),
    ),
)
"""Words of real refusals (tests/models/vendor_errors.toml), in lower case; the first that matches decides."""

_BY_STATUS: Mapping[int, FailureKind] = {
    401: FailureKind.LOGIN_REJECTED,
    402: FailureKind.OUT_OF_CREDIT,
    403: FailureKind.LOGIN_REJECTED,
    404: FailureKind.WRONG_ADDRESS,
    405: FailureKind.WRONG_ADDRESS,
    408: FailureKind.UNREACHABLE,
    409: FailureKind.UNREACHABLE,
    413: FailureKind.BODY_TOO_LARGE,
    425: FailureKind.UNREACHABLE,
    429: FailureKind.BUSY,
    529: FailureKind.BUSY,
}


def of_response(status: int, headers: Mapping[str, str], body: bytes, now: float) -> Failure:
    """The failure that an HTTP error response tells of. `now` is Unix seconds, to read moments as waits."""
    text = body.decode(errors="replace")
    said = _message(_parsed(body)) or _title(text) or text
    kind, limit = _kind(status, f"{said}\n{text}")
    wait = wait_of(headers, text, now) if kind in {FailureKind.BUSY, FailureKind.UNREACHABLE} else 0
    return Failure(kind, _readable(said) or f"HTTP {status}", status, wait, limit)


def of_stream(error: bytes, now: float) -> Failure:
    """The failure that an error inside a stream tells of: the JSON of the event, or of the field that holds it."""
    value, text = _parsed(error), error.decode(errors="replace")
    status, said = _status(value), _message(value) or text
    kind, limit = _kind(status, f"{said}\n{text}")
    return Failure(kind, _readable(said), status, wait_of({}, text, now), limit)


def redacted(failure: Failure, secret: str) -> Failure:
    """The failure with the secret that it may quote struck out."""
    if not secret or secret not in failure.said:
        return failure
    return msgspec.structs.replace(failure, said=failure.said.replace(secret, "[redacted]"))


def _kind(status: int, text: str) -> tuple[FailureKind, int]:
    for kind, pattern in _table():
        if found := pattern.search(text[:4000]):
            return kind, int(found.groupdict().get("limit") or 0)
    if status in _BY_STATUS:
        return _BY_STATUS[status], 0
    return (FailureKind.HISTORY_REFUSED if 400 <= status < 500 else FailureKind.UNREACHABLE), 0


@cache
def _table() -> list[tuple[FailureKind, re.Pattern[str]]]:
    """Compiled on the first failure: it costs more than a start should."""
    flags = re.IGNORECASE | re.DOTALL
    return [(kind, re.compile(phrase, flags)) for kind, phrases in PHRASES for phrase in phrases]


def _parsed(body: bytes) -> Any:
    try:
        value = msgspec.json.decode(body)
    except UNREADABLE:
        return None
    return value[0] if isinstance(value, list) and value else value  # Google wraps its errors in a list


def _message(value: Any) -> str:
    """The words meant for people, wherever this vendor puts them; an upstream's own words are appended."""
    match value:
        case str():
            return value
        case {"error": {"message": str(message), "metadata": {"raw": str(raw)}}}:
            return f"{message}: {raw}"
        case {"error": inner} if inner:
            return _message(inner)
        case {"message": str(message)} | {"detail": str(message)} | {"error_message": str(message)}:
            return message
        case {"detail": [{"msg": str(message)}, *_]} | {"message": {"detail": [{"msg": str(message)}, *_]}}:
            return message
        case _:
            return ""


def _status(value: Any) -> int:
    """An HTTP status that an error in a stream carries as its code, or 0."""
    match value:
        case {"error": dict() as inner}:
            return _status(inner)
        case {"code": int(code)} | {"status": int(code)} | {"status_code": int(code)} if 400 <= code < 600:
            return code
        case {"type": "invalid_request_error"}:
            return 400
        case _:
            return 0


def _title(text: str) -> str:
    """The title of a page that a proxy put in the provider's place."""
    found = re.search(r"<title>(.*?)</title>", text[:2000], re.IGNORECASE | re.DOTALL)
    return found[1] if found else ""


def _readable(said: str) -> str:
    return one_line(shorten(clean(said), 500), 500)
