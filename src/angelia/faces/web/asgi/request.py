"""One HTTP request as its handler sees it, and what it may be answered with."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct, field

from angelia.channels.webhooks import WebResponse
from angelia.core.errors import AngeliaError, BadInput, NotFound, PolicyDenied, StoreBusy, StoreError
from angelia.core.principal import OWNER, Principal
from angelia.faces.listener.unfinished import Receive, UnfinishedBodies
from angelia.faces.web.api_keys import ApiKey

T = TypeVar("T")

MOST_JSON = 1_000_000
"""Bytes of a request's JSON."""

JSON = "application/json"


class RequestRefused(AngeliaError):
    """A request that is refused with this status; what is said to the person is as for any error."""

    def __init__(self, status: int, what: str, why: str = "", then: str = "") -> None:
        self.status = status
        super().__init__(what, why, then)


class TooManyAttempts(RequestRefused):
    """Somebody tries to log in too soon after failures; `wait_s` is in how many seconds they may."""

    def __init__(self, failed: int, whose: str, wait_ms: int) -> None:
        self.wait_s = -(-wait_ms // 1000)
        super().__init__(
            429,
            f"You can try again in {self.wait_s} s.",
            f"{failed} attempts {whose} failed.",
            "`angelia web` prints a link that logs in at once.",
        )


class RouteResponse(Struct, frozen=True):
    """An answer that is whole. `headers` are beside those that every answer has."""

    body: bytes = b""
    status: int = 200
    mime: str = JSON
    headers: Mapping[str, str] = {}


class StreamedResponse(Struct, frozen=True):
    """An answer that comes piece by piece; `size` is its bytes where that is known, -1 where it is not.

    It ends with `pieces`, and is given up when whoever asked for it has gone.
    """

    pieces: AsyncGenerator[bytes, None]
    mime: str
    size: int = -1
    headers: Mapping[str, str] = {}


def json_response(value: object, status: int = 200) -> RouteResponse:
    """A value as JSON."""
    return RouteResponse(msgspec.json.encode(value), status)


NOTHING = RouteResponse(status=204)


class RouteRequest(Struct):
    """Who asks for what. Header names are lower case; `found` are the variable parts of the path. `origin` is the one
    of ours under which it is asked, such as http://localhost:8780, and `client` the address and port that ask. `key` is
    the one by which a program asks, where it was asked for one. `message_key` is the one under which what it
    says counts once; empty where it says nothing yet. `let_in` is whether the route's guard has said yes.
    """

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    receive: Receive
    bodies: UnfinishedBodies
    origin: str = ""
    client: tuple[str, int] | None = None
    found: Mapping[str, str] = field(default_factory=dict)
    key: ApiKey | None = None
    message_key: str = ""
    let_in: bool = False

    @property
    def principal(self) -> Principal:
        """Who asks: the owner, logged in, or a program by its key."""
        return self.key.principal if self.key else OWNER

    async def json(self, kind: type[T], most: int = MOST_JSON) -> T:
        """The body, of at most so many bytes, read as JSON of this kind.

        Raises:
            RequestRefused: it does not come, or is too large.
            BadInput: it is not of that kind; says where.
        """
        came = await self.bodies.read(self.receive, most)
        if isinstance(came, WebResponse):
            why = f"It is larger than {most:,} bytes." if came.status == 413 else _WHY.get(came.status, "")
            raise RequestRefused(came.status, "The request did not arrive whole.", why)
        try:
            return msgspec.json.decode(came or b"{}", type=kind)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise BadInput("The request is not what is expected here.", str(error)) from error

    async def pieces(self, most: int) -> AsyncIterator[bytes]:
        """The body as it arrives, at most so many bytes.

        Raises:
            RequestRefused: it is larger, or whoever brought it has gone.
        """
        told = self.headers.get("content-length", "")
        size = int(told) if told.isdecimal() and len(told) < 16 else 0
        while True:
            if size > most:
                raise RequestRefused(
                    413, f"The file is larger than {most:,} bytes, which is the most.", "Nothing was kept."
                )
            message = await self.receive()
            if message["type"] != "http.request":
                raise RequestRefused(400, "The file did not arrive whole.", "The connection ended.", "Send it again.")
            if piece := message.get("body", b""):
                yield piece
            if not message.get("more_body"):
                return

    def number(self, name: str, usual: int, most: int) -> int:
        """A whole number of the query, at most `most`; the usual one where there is none.

        Raises:
            BadInput: it is no number.
        """
        given = self.query.get(name, "")
        if not given:
            return usual
        if not given.isdecimal() or len(given) > 15:
            raise BadInput(f"`{name}` is {given[:40]!r}, which is no number.")
        return min(int(given), most)


_WHY = {
    400: "The connection ended.",
    408: "It took too long.",
    503: "Too much was arriving at once.",
}


def status_of(error: AngeliaError) -> int:
    """The HTTP status that says what kind of error it is."""
    match error:
        case RequestRefused(status=status):
            return status
        case NotFound():
            return 404
        case BadInput():
            return 400
        case PolicyDenied():
            return 403
        case StoreBusy():
            return 409
        case StoreError():
            return 503
        case _:
            return 422


def error_response(error: AngeliaError) -> RouteResponse:
    """An error as the page tells it."""
    said = {"what": error.what, "why": error.why, "then": error.then}
    answer = json_response({"error": said}, status_of(error))
    if isinstance(error, TooManyAttempts):
        return msgspec.structs.replace(answer, headers={"retry-after": str(error.wait_s)})
    return answer
