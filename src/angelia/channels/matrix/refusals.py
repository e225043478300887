"""What a homeserver's refusals mean for us ("Standard error response", "Rate limiting")."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from angelia.channels.failures import ChannelError, Later, LoginFailed, NotSent, Rejected, Unsure
from angelia.channels.lenient import within
from angelia.channels.matrix.payloads import Body

if TYPE_CHECKING:
    import httpx2


class MatrixNotFound(Rejected):
    """M_NOT_FOUND."""


class MatrixForbidden(Rejected):
    """M_FORBIDDEN: of a room, we are not in it any more."""


def refusal(response: "httpx2.Response", body: bytes) -> ChannelError:
    """A response that is not 200, by what can be done about it."""
    try:
        told = msgspec.json.decode(body, type=Body)
    except msgspec.MsgspecError:
        told = {}
    status, code = response.status_code, told.get("errcode", "")
    why = f"The homeserver says: {told.get('error') or 'nothing'} ({code or status})."
    if status == 429:
        after = response.headers.get("retry-after", "")
        return Later(float(after) if after.isdigit() else within(told, "retry_after_ms", default=5000) / 1000)
    if status == 401:
        then = "Make a new access token, and put it where the channel's setting `token` points to."
        return LoginFailed("The homeserver does not let us in.", why, then)
    if status >= 500:
        return NotSent(why) if code else Unsure(why)
    match code:
        case "M_NOT_FOUND":
            return MatrixNotFound(why)
        case "M_FORBIDDEN":
            return MatrixForbidden(why)
        case _:
            return Rejected(why)


@contextmanager
def repeatable() -> Iterator[None]:
    """Around a call that shows nothing to anybody: where nobody knows whether it was done, it may be done again."""
    try:
        yield
    except Unsure as error:
        raise NotSent(error.what) from error
