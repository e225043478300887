"""The tool `browser_open`: go to a page, and see it."""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.chromium.tab import origin
from angelia.browsers.port import ActFailed
from angelia.core.content import CallStatus, Text
from angelia.core.errors import BadInput
from angelia.policy.verdict import Effect, FetchUrl, SendTo
from angelia.tools.browser.session import JUDGED, BrowserContext, judged_tab, told
from angelia.tools.port import SandboxAccess, ToolOutcome, Traits


class OpenPageArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Where to go: either `url` or `go`."""

    url: Annotated[str, Meta(description="http or https.")] = ""
    go: Literal["", "back", "forward", "reload"] = ""
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

    def __init__(self, browser: ChromiumBrowser) -> None:
        self._browser = browser

    async def effects(self, arguments: OpenPageArguments, context: SandboxAccess) -> Sequence[Effect]:
        """Its server learns of it; going back or loading again may send what was sent before.

        Raises:
            BadInput: neither `url` nor `go`, or both.
            ActFailed: as a sentence for the model, since there is no page to go back from.
        """
        if bool(arguments.url) == bool(arguments.go):
            raise BadInput("browser_open takes either `url` or `go`.")
        if arguments.url:
            return (FetchUrl(arguments.url),)
        try:
            context.led[JUDGED] = origin(self._browser.tab(arguments.tab).url)
        except ActFailed as failed:
            raise BadInput(str(failed)) from failed
        return (SendTo(context.led[JUDGED], arguments.go),)

    async def run(self, arguments: OpenPageArguments, context: BrowserContext) -> ToolOutcome:
        """Go there.

        Raises:
            BrowserMissing, BrowserGone: there is no browser, or not any more.
        """
        try:
            if arguments.url:
                tab = await self._browser.opened(arguments.tab)
                await tab.go(arguments.url)
            else:
                tab = judged_tab(self._browser, arguments.tab, context)
                await tab.move(arguments.go)
            look = await tab.look()
        except ActFailed as failed:
            return ToolOutcome((Text(f"{failed.outcome}: {failed}"),), CallStatus.ERROR)
        return await told(self._browser, tab, f"{look.head()}\n{look.words()}", context)
