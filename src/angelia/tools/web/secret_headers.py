"""Secrets by handle in the headers of a `fetch`: which a site may have, what the policy is asked, and the filling."""

import base64
import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from angelia.core.content import Text
from angelia.core.errors import BadInput, PolicyDenied
from angelia.policy.verdict import UseSecret
from angelia.tools.page_access import SecretsAccess
from angelia.tools.port import NO_HEADERS, OriginHeaders, ToolOutcome

_NAME = r"[A-Za-z][A-Za-z0-9-]{0,63}"
_VALUE = r"(?:([A-Za-z]+) +)?(?:([^\s:$]+):)?\$\{secret:([^}\s]+)\}"
"""A scheme, a user's name, a handle. No other words: they would be a way out that nobody is asked about."""
_OURS = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "te", "trailer", "upgrade"}
)
_SENDABLE = r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?"


class SecretHeaders:
    """Those of one conversation."""

    def __init__(self, access: SecretsAccess) -> None:
        self._access = access
        self._told: set[str] = set()

    def effects(self, url: str, headers: Mapping[str, str]) -> Sequence[UseSecret]:
        """What sending them with a request for `url` would be.

        Raises:
            BadInput: one is no header that may be sent, or does not hold a secret by its handle.
            PolicyDenied: one is not kept for that site.
        """
        if not headers:
            return ()
        origin, handles = _origin(url), [_parts(*header)[2] for header in headers.items()]
        kept = self._access.kept_for(origin)
        for handle in handles:
            if handle not in kept:
                there = ", ".join(kept) or "none"
                raise PolicyDenied(f"No secret {handle!r} is kept for {origin}. Kept for it: {there}.")
        return (UseSecret(tuple(dict.fromkeys(handles)), origin),)

    async def filled(self, url: str, headers: Mapping[str, str]) -> OriginHeaders:
        """The headers with their values, for that site alone.

        Raises:
            BadInput: a value holds what no header can.
            AngeliaError: one cannot be had now; says why.
        """
        if not headers:
            return NO_HEADERS
        origin = _origin(url)
        return OriginHeaders(origin, {name: await self._filled(origin, name, one) for name, one in headers.items()})

    async def _filled(self, origin: str, name: str, written: str) -> str:
        scheme, user, handle = _parts(name, written)
        value = await self._access.value(handle, origin)
        if not re.fullmatch(_SENDABLE, value):
            raise BadInput(f"The secret {handle} holds signs that cannot stand in a header.", then="Nothing was sent.")
        if user or scheme.lower() == "basic":
            value = base64.b64encode(f"{user}:{value}".encode() if user else value.encode()).decode()
        return f"{scheme} {value}" if scheme else value

    def told(self, outcome: ToolOutcome, url: str, fetched: str, sent: Mapping[str, str]) -> ToolOutcome:
        """What a fetch says, and whether secrets were left behind by a redirect, and which are kept for the site: once
        for each.
        """
        origin, lines = _origin(url), []
        if sent and _origin(fetched) != origin:
            lines.append(f"It led to {_origin(fetched)}, which was sent no secret.")
        kept = self._access.kept_for(origin)
        if kept and not sent and origin not in self._told:
            self._told.add(origin)
            lines.append(
                f"Secrets of the person's for {origin}: {', '.join(kept)}. `headers` may carry one, such as "
                f'{{"Authorization": "Bearer ${{secret:{kept[0]}}}"}}.'
            )
        return replace(outcome, parts=(*outcome.parts, Text("\n".join(lines)))) if lines else outcome


def _origin(url: str) -> str:
    import httpx2

    from angelia.tools.web.fetcher import origin_sent_to

    try:
        return origin_sent_to(httpx2.URL(url))
    except (httpx2.InvalidURL, UnicodeError) as fault:
        raise BadInput(f"{url!r} is not a URL.", str(fault)) from None


def _parts(name: str, written: str) -> tuple[str, str, str]:
    """The scheme, the user's name and the handle of a header; the first two may be empty."""
    if not re.fullmatch(_NAME, name) or name.lower() in _OURS:
        raise BadInput(f"{name!r} is no header that can be set here.", then="Such as Authorization, or X-Api-Key.")
    found = re.fullmatch(_VALUE, written)
    if found is None or (found[2] and (found[1] or "").lower() != "basic"):
        raise BadInput(
            f"The header {name} holds no secret by its handle, or more than that.",
            "Headers of a fetch are for secrets alone.",
            'Write "${secret:NAME}", "Bearer ${secret:NAME}" or "Basic USER:${secret:NAME}".',
        )
    return found[1] or "", found[2] or "", found[3]
