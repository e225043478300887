"""Who may ask for what: which names we answer to, what a page of ours alone can send, and who is logged in."""

from collections.abc import Collection, Mapping
from enum import StrEnum

from angelia.faces.web.request import JSON, RequestRefused


class RouteGuard(StrEnum):
    """What a request has to bring. Every one has to name us by a name of ours (`require_host`)."""

    NONE = "none"
    """Nothing: the page itself, in which nothing of anybody is."""
    LOGGING_IN = "logging_in"
    """A page of ours sends it; it brings the code."""
    LOGIN = "login"
    """Somebody who is logged in reads."""
    WRITE = "write"
    """Somebody who is logged in changes something, from a page of ours."""
    READ_KEY = "read_key"
    """A program reads, by a key of the API; no cookie counts."""
    CHAT_KEY = "chat_key"
    """A program speaks, by a key whose scope allows that; no cookie counts."""


BYTES = "application/octet-stream"
_OURS = frozenset({"same-origin", "none"})


def require_host(headers: Mapping[str, str], names: Collection[str]) -> None:
    """Whoever asks knows us by a name of ours: a page elsewhere whose name was made to lead here does not (DNS
    rebinding).

    Raises:
        RequestRefused: it is none of ours.
    """
    if headers.get("host", "").lower() not in names:
        raise RequestRefused(
            421,
            f"This address is not answered under the name {headers.get('host', '')[:80]!r}.",
            then="Open the link that `angelia web` prints.",
        )


def require_own_page(headers: Mapping[str, str], names: Collection[str], scheme: str) -> None:
    """What changes something comes from a page of ours, in a form that no page elsewhere can send unasked.

    `Origin` is sent with every such request by browsers; where it is missing, `Sec-Fetch-Site` has to say so (Fetch
    Metadata). JSON and bytes cannot be sent by a form, and a script elsewhere would have to ask first (CORS), which is
    answered with no.

    Raises:
        RequestRefused: it does not.
    """
    origin = headers.get("origin", "")
    ours = {f"{scheme}://{name}" for name in names}
    same = origin in ours if origin else headers.get("sec-fetch-site", "") == "same-origin"
    if not same or headers.get("sec-fetch-site", "same-origin") not in _OURS:
        raise RequestRefused(
            403, "Only the page itself can do this.", f"This came from {origin[:80] or 'elsewhere'!r}."
        )
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (JSON, BYTES):
        raise RequestRefused(415, f"This has to be sent as {JSON}.", f"It came as {kind[:80]!r}.")
