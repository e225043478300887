"""The tool `browser_open`: go to a page, and see it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.origins import origin
from angelia.browsers.port import ActFailed, ActOutcome
from angelia.core.content import CallStatus, Text
from angelia.core.errors import BadInput
from angelia.policy.verdict import Effect, FetchUrl, OpenOrigin, SeePage, SendTo
from angelia.tools.browser.page_logins import PageLogins
from angelia.tools.browser.page_secrets import PageSecrets
from angelia.tools.browser.session import BrowserContext, judged_tab, remember_judged, told
from angelia.tools.port import SandboxAccess, ToolOutcome, Traits

if TYPE_CHECKING:
    from angelia.browsers.chromium.tab import Tab


class OpenPageArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Where to go: either `url` or `go`."""

    url: Annotated[str, Meta(description="http or https.")] = ""
    go: Literal["", "back", "forward", "reload"] = ""
    profile: Annotated[str, Meta(description="Kept logins to use, by name.")] = ""
    tab: Annotated[str, Meta(description="Of several, such as t2; `new` opens another.")] = ""


class OpenPage:
    """Opens an address in the conversation's browser, which it starts if there is none."""

    name = "browser_open"
    description = (
        "Open a web page in a browser and see what is in view; [e7] are references for browser_act. "
        "For pages that are drawn by scripts, or where something is to be clicked; else use fetch."
    )
    arguments: type[Struct] = OpenPageArguments
    traits = Traits()

    def __init__(self, browser: ChromiumBrowser, secrets: PageSecrets, logins: PageLogins) -> None:
        self._browser, self._secrets = browser, secrets
        self._logins = logins

    async def effects(self, arguments: OpenPageArguments, context: SandboxAccess) -> Sequence[Effect]:
        """Its server learns of it; going back or loading again may send what was sent before.

        Raises:
            BadInput: neither `url` nor `go`, or both; or there are no logins here.
            PolicyDenied: these logins are not kept for this site.
            ActFailed: as a sentence for the model, since there is no page to go back from.
        """
        if bool(arguments.url) == bool(arguments.go):
            raise BadInput("browser_open takes either `url` or `go`.")
        if arguments.url:
            seen = [SeePage(origin(arguments.url))] if self._browser.life else []  # a fresh one is logged in nowhere
            opening = await self._opening(arguments.url)
            return (*seen, opening, *self._logins.wanted(arguments.profile, arguments.url))
        try:
            (there,) = remember_judged(self._browser.tab(arguments.tab), [], context)
        except ActFailed as failed:
            raise BadInput(str(failed)) from failed
        return (SeePage(there), SendTo(there, arguments.go), *self._logins.used([there]))

    async def _opening(self, url: str) -> OpenOrigin | FetchUrl:
        if there := self._browser.elsewhere:
            return OpenOrigin(url, there)
        if found := await self._browser.no_wall():
            return OpenOrigin(url, "", f"{found.why}. To mend it, {found.mend}")
        return FetchUrl(url)

    async def run(self, arguments: OpenPageArguments, context: BrowserContext) -> ToolOutcome:
        """Go there.

        Raises:
            BrowserMissing, BrowserGone: there is no browser, or not any more.
        """
        try:
            async with self._browser.control.agent():
                if arguments.url:
                    tab = await self._browser.opened(arguments.tab)
                    self._browser.permit(origin(arguments.url))
                    await self._logins.lend(arguments.profile)
                    tab = await self._gone_to(arguments.url, tab)
                else:
                    tab = judged_tab(self._browser, arguments.tab, context)
                    await tab.move(arguments.go)
                look = await tab.look()
        except ActFailed as failed:
            return ToolOutcome((Text(f"{failed.outcome}: {failed}"),), CallStatus.ERROR)
        outcome = await told(self._browser, tab, f"{look.head()}\n{look.words()}", context)
        return await self._logins.told(self._secrets.told(outcome, tab), tab)

    async def _gone_to(self, url: str, tab: "Tab") -> "Tab":
        """The tab that shows it: another one, where the process of the page before has ended meanwhile."""
        try:
            await tab.go(url)
        except ActFailed as failed:
            if failed.outcome is not ActOutcome.CRASHED:
                raise
            tab = await self._browser.opened(tab.name)
            await tab.go(url)
        return tab
