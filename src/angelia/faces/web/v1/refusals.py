"""Errors as OpenAI's API puts them, and which of them are worth another try."""

from angelia.core import ending as end
from angelia.core.errors import AngeliaError
from angelia.core.sentences import sentence_in_chat
from angelia.faces.web.asgi.request import RequestRefused, RouteResponse, json_response, status_of

NO_RETRY = {"x-should-retry": "false"}
"""The official SDKs send a request again by themselves after a 409, 429 or 5xx, unless they are told not to: of a turn
that ended, asking twice makes two.
"""

_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "insufficient_quota"}


class ApiRefused(RequestRefused):
    """A request that is refused, with the code that programs know and the parameter that it is about."""

    def __init__(self, status: int, what: str, why: str = "", then: str = "", code: str = "", param: str = "") -> None:
        self.code, self.param = code, param
        super().__init__(status, what, why, then)


def not_possible(param: str, what: str, why: str = "") -> ApiRefused:
    """Something was asked for that is not to be had here."""
    return ApiRefused(400, what, why, code="unsupported_parameter", param=param)


def unknown(own: str) -> ApiRefused:
    """There is nothing of this id, or nothing that they may see: which of the two, nobody is told."""
    return ApiRefused(404, f"There is nothing with the id {own[:80]!r}.", code="not_found")


def error_object(error: AngeliaError) -> dict[str, object]:
    """What stands under `error`."""
    status = status_of(error)
    kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    own = error if isinstance(error, ApiRefused) else None
    code = own.code if own and own.code else {401: "invalid_api_key"}.get(status)
    return {"message": str(error), "type": kind, "param": own.param or None if own else None, "code": code}


def openai_error(error: AngeliaError) -> RouteResponse:
    """An error as the answer to a request."""
    said = json_response({"error": error_object(error)}, status_of(error))
    return RouteResponse(said.body, said.status, said.mime, NO_RETRY if said.status >= 409 else {})


def ending_error(ending: end.Ending) -> ApiRefused | None:
    """What a turn's ending is to a program that waited for an answer; None where there is one, whole or cut."""
    match ending:
        case end.Answered() | end.StayedSilent() | end.Refused():
            return None
        case end.StepLimit() | end.BudgetSpent() | end.ReplyCutOff():
            return None
        case end.ContextFull():
            status, code = 400, "context_length_exceeded"
        case end.ModelRefusedMedia():
            status, code = 400, "unsupported_media"
        case end.Cancelled():
            status, code = 409, "cancelled"
        case end.ModelUnavailable() | end.OutOfCredit() | end.LoginNeeded() | end.ModelUnknown() | end.WrongAddress():
            status, code = 503, "model_unavailable"
        case _:
            status, code = 502, "no_answer"
    return ApiRefused(status, sentence_in_chat(ending), code=code)
