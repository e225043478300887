"""The toolset of the browser: one browser for a conversation, begun with its first page, ended with it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from angelia.browsers.address import RemoteAddress
from angelia.browsers.chromium.program import find_chromium
from angelia.tools.page_access import SecretsAccess
from angelia.tools.port import ConversationContext, Tool

if TYPE_CHECKING:
    from angelia.browsers.chromium.browser import ChromiumBrowser
    from angelia.tools.browser.page_logins import PageLogins


class BrowserTools:
    """See `tools.port.Toolset`. Where no browser is installed there are no tools, and nothing of it is loaded.

    With `remote` it is a part of the browser that runs there.
    """

    name = "browser"

    def __init__(self, remote: RemoteAddress | None = None) -> None:
        self._remote = remote
        self._browser: ChromiumBrowser | None = None
        self._logins: PageLogins | None = None
        self._tools: tuple[Tool, ...] = ()

    @property
    def browser(self) -> "ChromiumBrowser | None":
        """The conversation's, for whoever watches it; None where none is installed."""
        return self._browser

    async def open(self, conversation: ConversationContext) -> None:
        """Make its tools; the browser itself waits for the first page."""
        if not self._remote and find_chromium() is None:
            return
        from angelia.browsers.chromium.browser import ChromiumBrowser

        self._browser = ChromiumBrowser(conversation.addresses, remote=self._remote)
        from angelia.tools.browser.page_logins import PageLogins

        self._logins = PageLogins(self._browser, conversation.profiles)
        self._tools = browser_tools(self._browser, conversation.secrets, self._logins)

    async def ready(self) -> None:
        """It always is."""

    def tools(self) -> Sequence[Tool]:
        """Those of the conversation."""
        return self._tools

    def instructions(self) -> str:
        """Nothing that every conversation needs to read: the tools say it."""
        return ""

    async def close(self) -> None:
        """End the browser, if one was begun."""
        if self._logins is not None:
            await self._logins.close()
        if self._browser is not None:
            await self._browser.close()


def browser_tools(browser: "ChromiumBrowser", access: SecretsAccess | None, logins: "PageLogins") -> tuple[Tool, ...]:
    """The tools of a browser, in the order in which the model reads them; `access` is to what it may type by handle."""
    from angelia.tools.browser.act_on_page import ActOnPage
    from angelia.tools.browser.hand_over_page import HandPageOver
    from angelia.tools.browser.look_at_page import LookAtPage
    from angelia.tools.browser.open_page import OpenPage
    from angelia.tools.browser.page_secrets import PageSecrets
    from angelia.tools.browser.run_script import RunScriptInPage

    secrets = PageSecrets(access)
    opening, acting = OpenPage(browser, secrets, logins), ActOnPage(browser, secrets, logins)
    looking, handing = LookAtPage(browser, logins), HandPageOver(browser, logins)
    return opening, looking, acting, RunScriptInPage(browser), handing
