"""What an error that the library raises says of the server: it refused, its answer broke off, or it went away."""

import mcp_types as types
from mcp.shared.exceptions import MCPError

from angelia.tools.mcp.failures import AnswerLost, ServerLost, ServerRefused

BROKEN_OFF = "No whole answer: it "
"""How an error begins that stands in an answer's place which did not come whole."""

_CLOSED = "Connection closed"
_STREAM = "SSE stream "
_FORGOTTEN = "Session terminated"
"""The library's own words. Its code for the first two, -32000, is the one that JSON-RPC leaves to servers, and many
have it for all of their errors: the code alone says nothing.
"""


def in_our_terms(error: MCPError) -> ServerLost | ServerRefused:
    """The same, as one of ours."""
    if error.code == types.CONNECTION_CLOSED and error.message == _CLOSED:
        return ServerLost("went away")
    if error.code == types.CONNECTION_CLOSED and error.message.startswith(BROKEN_OFF):
        return AnswerLost(f"gave no whole answer: it {error.message.removeprefix(BROKEN_OFF)}")
    if error.code == types.CONNECTION_CLOSED and error.message.startswith(_STREAM):
        return AnswerLost(f"broke off its answer ({error.message})")
    return ServerRefused(error.message, gone=error.message == _FORGOTTEN, code=error.code)
