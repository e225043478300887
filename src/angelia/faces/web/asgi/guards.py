"""Who may ask for what: which names we answer to, what a page of ours alone can send, and who is logged in."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from ipaddress import ip_address

from angelia.faces.web.asgi.request import JSON, RequestRefused


class RouteGuard(StrEnum):
    """What a request has to bring. Every one has to ask us under an origin of ours (`require_origin`)."""

    NONE = "none"
    """Nothing: the page itself, in which nothing of anybody is."""
    LOGGING_IN = "logging_in"
    """A page of ours sends it; it brings what logs in."""
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


def require_origin(origin: str, client: tuple[str, int] | None, origins: Collection[str]) -> None:
    """Whoever asks knows us by an origin of ours: a page elsewhere whose name was made to lead here does not (DNS
    rebinding). Without TLS only this machine asks; who comes from elsewhere by a proxy does not.

    Raises:
        RequestRefused: it is none of ours.
    """
    if origin in origins and (origin.startswith("https://") or _is_here(client)):
        return
    scheme, _, name = origin.partition("://")
    plain = scheme == "http" and f"https://{name}" in origins
    raise RequestRefused(
        421,
        f"This address is not answered under the name {name[:80]!r}{' without TLS' * plain}.",
        "A proxy before it has to send `X-Forwarded-Proto: https`, and its address to be in web.proxies." * plain,
        "Open the link that `angelia web` prints.",
    )


def require_own_page(headers: Mapping[str, str], origin: str) -> None:
    """What changes something comes from the page that was loaded from the very origin that is asked, in a form that no
    page elsewhere can send unasked.

    `Origin` is sent with every such request by browsers; where it is missing, `Sec-Fetch-Site` has to say so (Fetch
    Metadata). JSON and bytes cannot be sent by a form, and a script elsewhere would have to ask first (CORS), which is
    answered with no.

    Raises:
        RequestRefused: it does not.
    """
    came = headers.get("origin", "")
    same = came == origin if came else headers.get("sec-fetch-site", "") == "same-origin"
    if not same or headers.get("sec-fetch-site", "same-origin") not in _OURS:
        raise RequestRefused(403, "Only the page itself can do this.", f"This came from {came[:80] or 'elsewhere'!r}.")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (JSON, BYTES):
        raise RequestRefused(415, f"This has to be sent as {JSON}.", f"It came as {kind[:80]!r}.")


def _is_here(client: tuple[str, int] | None) -> bool:
    try:
        return ip_address(client[0] if client else "").is_loopback
    except ValueError:
        return False
