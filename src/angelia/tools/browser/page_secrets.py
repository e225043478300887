"""Secrets by handle for the browser's tools: which a site may have, what is asked of the policy, and the typing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from angelia.browsers.port import ActFailed, ActOutcome
from angelia.core.content import Text
from angelia.core.errors import AngeliaError, BadInput, PolicyDenied
from angelia.policy.verdict import UseSecret
from angelia.tools.browser.session import origins_in
from angelia.tools.page_access import SecretsAccess
from angelia.tools.port import ToolOutcome

if TYPE_CHECKING:
    from angelia.browsers.chromium.tab import Tab


class PageSecrets:
    """Those of one conversation; `access` is None where it has none."""

    def __init__(self, access: SecretsAccess | None) -> None:
        self._access = access
        self._told: set[str] = set()

    def effects(self, wanted: Sequence[tuple[str, str]]) -> list[UseSecret]:
        """What typing these would be, pairs of a handle and the origin of its field; one effect for each origin.

        Raises:
            BadInput: there are no secrets here.
            PolicyDenied: one is not kept for the site at which it is wanted.
        """
        sites: dict[str, list[str]] = {}
        for handle, site in wanted:
            if self._access is None:
                raise BadInput("There are no secrets in this conversation: they are used in their owner's alone.")
            if handle not in (there := self._access.kept_for(site)):
                kept = ", ".join(there) or "none"
                raise PolicyDenied(f"No secret {handle!r} is kept for {site or 'this page'}. Kept for it: {kept}.")
            sites.setdefault(site, []).append(handle)
        return [UseSecret(tuple(dict.fromkeys(handles)), site) for site, handles in sites.items()]

    async def fill(self, tab: "Tab", ref: str, handle: str, origin: str) -> str:
        """Type one into a field of this origin; what is said of it.

        Raises:
            ActFailed: it cannot be had now, or cannot be typed there; says why.
        """
        assert self._access is not None  # `effects` was asked before
        try:
            value = await self._access.value(handle, origin)
        except AngeliaError as error:
            raise ActFailed(ActOutcome.UNFIT, str(error)) from error
        await tab.secrets.fill(ref, value, origin)
        return f", with the secret {handle}"

    def told(self, outcome: ToolOutcome, tab: "Tab") -> ToolOutcome:
        """What a tool says, and which secrets are kept for what the tab shows: once for each site."""
        if self._access is None:
            return outcome
        fresh = [one for one in origins_in(tab) if one not in self._told]
        self._told.update(fresh)
        lines = [f"{one}: {', '.join(kept)}" for one in fresh if (kept := self._access.kept_for(one))]
        if not lines:
            return outcome
        hint = f"Secrets of the person's for {'; '.join(lines)}. A fill step types one that it names as `secret`."
        return replace(outcome, parts=(*outcome.parts, Text(hint)))
