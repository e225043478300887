"""Logins by name for the browser's tools: lent to the conversation, put into its browser, kept as they become."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.origins import origin
from angelia.browsers.port import ActFailed, ActOutcome
from angelia.core.content import Text
from angelia.core.errors import AngeliaError, BadInput, PolicyDenied
from angelia.policy.verdict import UseProfile
from angelia.tools.browser.session import origins_in
from angelia.tools.page_access import LentProfile, ProfilesAccess
from angelia.tools.port import ToolOutcome

if TYPE_CHECKING:
    from angelia.browsers.chromium.tab import Tab


class PageLogins:
    """Those of one conversation; `access` is None where it has none."""

    def __init__(self, browser: ChromiumBrowser, access: ProfilesAccess | None) -> None:
        self._browser, self._access = browser, access
        self._lent: dict[str, LentProfile] = {}
        self._within: dict[str, int] = {}
        self._told: set[str] = set()

    def wanted(self, name: str, url: str) -> list[UseProfile]:
        """What opening an address with these logins would be; without a name, with those that are lent.

        Raises:
            BadInput: there are none here.
            PolicyDenied: they are not kept for this site.
        """
        site = origin(url)
        if not name or name in self._lent:
            return self.used([site])
        if self._access is None:
            raise BadInput("There are no logins in this conversation: they are used in their owner's alone.")
        if name not in (there := self._access.kept_for(site)):
            raise PolicyDenied(f"No profile {name!r} is kept for {site}. Kept for it: {', '.join(there) or 'none'}.")
        return [UseProfile(name, site)]

    def used(self, origins: Iterable[str]) -> list[UseProfile]:
        """The lent logins that pages of these origins see."""
        lent = self._lent.items()
        return [UseProfile(name, one, lent=True) for one in origins for name, held in lent if one in held.origins]

    async def lend(self, name: str) -> None:
        """Put kept logins into the browser, which runs; those that were lent before too, where it is another one.

        Raises:
            ActFailed: another conversation has them, they cannot be read, or a script might read them out.
        """
        if name and name not in self._lent:
            assert self._access is not None  # `wanted` was asked before
            try:
                self._lent[name] = self._access.lend(name)
            except AngeliaError as error:
                raise ActFailed(ActOutcome.UNFIT, str(error)) from error
        for one, held in [*self._lent.items()]:
            if self._within.get(one) != self._browser.life:
                try:
                    await self._browser.log_in(held.origins, held.logins)
                except ActFailed:
                    self._lent.pop(one).give_back()
                    raise
                self._within[one] = self._browser.life

    async def keep(self) -> str:
        """Keep the logins as the browser has them now; what is to be said of it, mostly nothing.

        Those of a browser that has ended stay as they were kept last.
        """
        for one, held in self._lent.items():
            if self._within.get(one) == self._browser.life:
                try:
                    held.keep(await self._browser.logins(held.origins, held.logins))
                except AngeliaError as error:
                    return f"The logins of {one} were not kept: {error}"
        return ""

    async def told(self, outcome: ToolOutcome, tab: "Tab") -> ToolOutcome:
        """What a tool says, after the logins were kept, and which are kept for what the tab shows: once a site."""
        said = [fault] if (fault := await self.keep()) else []
        fresh = [one for one in origins_in(tab) if one not in self._told]
        self._told.update(fresh)
        for site, names in ((one, self._not_lent(one)) for one in fresh):
            said += [f"Logins of the person's for {site}: {names}. browser_open takes `profile`."] if names else []
        return replace(outcome, parts=(*outcome.parts, Text("\n".join(said)))) if said else outcome

    def _not_lent(self, site: str) -> str:
        names = self._access.kept_for(site) if self._access else ()
        return ", ".join(name for name in names if name not in self._lent)

    async def close(self) -> None:
        """Keep them, and give them back."""
        try:
            await self.keep()
        finally:
            for held in self._lent.values():
                held.give_back()
            self._lent.clear()
