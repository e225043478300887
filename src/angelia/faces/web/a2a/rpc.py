"""JSON-RPC 2.0 as Agent2Agent speaks it: the call, its result, and errors with their codes.

What is wrong with a call is told in a whole answer (HTTP 200), as the binding has it; only who may not call at all gets
another status.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from angelia.core.errors import AngeliaError
from angelia.faces.web.asgi.request import RouteResponse, json_response, status_of

VERSION = "1.0"
"""Of the protocol. Newer ones of this major version are asked for in the same way."""

CallId = str | int | float | None


class RpcCall(Struct):
    """A call: a method with its parameters."""

    jsonrpc: str = ""
    method: str = ""
    id: CallId = None
    params: msgspec.Raw = field(default_factory=lambda: msgspec.Raw(b"{}"))


PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
REFUSED = -32000
"""Ours, for what no code of the protocol says: a cap is spent, the store is busy."""
TASK_NOT_FOUND, NOT_CANCELABLE, UNSUPPORTED, CONTENT_TYPE, NO_VERSION = -32001, -32002, -32004, -32005, -32009

_REASONS: Mapping[int, str] = {
    TASK_NOT_FOUND: "TASK_NOT_FOUND",
    NOT_CANCELABLE: "TASK_NOT_CANCELABLE",
    UNSUPPORTED: "UNSUPPORTED_OPERATION",
    CONTENT_TYPE: "CONTENT_TYPE_NOT_SUPPORTED",
    NO_VERSION: "VERSION_NOT_SUPPORTED",
}


class CallRefused(AngeliaError):
    """A call that is refused with a code of the protocol's."""

    def __init__(self, code: int, what: str, why: str = "", then: str = "") -> None:
        self.code = code
        super().__init__(what, why, then)


def code_of(error: AngeliaError) -> int:
    """The code that says what kind of error it is.

    >>> code_of(AngeliaError("x")), code_of(CallRefused(TASK_NOT_FOUND, "x"))
    (-32602, -32001)
    """
    if isinstance(error, CallRefused):
        return error.code
    match status_of(error):
        case 404:
            return TASK_NOT_FOUND
        case 400 | 413 | 415 | 422:
            return INVALID_PARAMS
        case 500:
            return INTERNAL
        case _:
            return REFUSED


def rpc_result(call: CallId, result: Any) -> dict[str, Any]:
    """What a call came to."""
    return {"jsonrpc": "2.0", "id": call, "result": result}


def rpc_error(call: CallId, error: AngeliaError) -> dict[str, Any]:
    """Why a call came to nothing."""
    code = code_of(error)
    said: dict[str, Any] = {"code": code, "message": str(error)}
    if reason := _REASONS.get(code):
        kind = "type.googleapis.com/google.rpc.ErrorInfo"
        said["data"] = [{"@type": kind, "reason": reason, "domain": "a2a-protocol.org"}]
    return {"jsonrpc": "2.0", "id": call, "error": said}


def refused_call(error: AngeliaError) -> RouteResponse:
    """The answer to whoever may not call."""
    status = status_of(error)
    answer = json_response(rpc_error(None, error), status)
    return replace(answer, headers={"www-authenticate": "Bearer"}) if status == 401 else answer
