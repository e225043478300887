"""A context of ours in a browser around which there is no wall of ours: its pages are held by rules of requests alone.

It knows no cookie of anybody's and ends with our connection, however that ends. It is the same whether the browser runs
elsewhere, is the person's own, or was started here for us because this machine offers no wall.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from angelia.browsers.chromium.cdp import CdpConnection, ProtocolError
from angelia.browsers.chromium.request_rules import RequestRules
from angelia.browsers.port import ActFailed, BrowserGone
from angelia.deadline import within
from angelia.sandboxes.egress.addresses import Addresses

_UNTIL_GONE_S = 5.0


class OwnContext:
    """A context of ours. Of files the browser shares none with us."""

    folders = None

    def __init__(
        self, cdp: CdpConnection, context: str, rules: RequestRules, ended: Callable[[], Awaitable[None]]
    ) -> None:
        """`ended` waits until nothing is left that was begun for it, once it was hung up."""
        self.cdp, self.context = cdp, context
        self.rules, self._ended = rules, ended

    @property
    def refusals(self) -> dict[str, str]:
        """Why hosts were not reached, by host; what is read may be taken out."""
        return self.rules.refusals

    async def close(self) -> None:
        """End the context and hang up. Idempotent."""
        with suppress(ProtocolError, ActFailed, BrowserGone, TimeoutError):
            disposing = self.cdp.call("Target.disposeBrowserContext", {"browserContextId": self.context})
            await within(_UNTIL_GONE_S, disposing)
        await self.rules.close()
        self.cdp.close()
        await self._ended()


async def begin_context(cdp: CdpConnection, addresses: Addresses, ended: Callable[[], Awaitable[None]]) -> OwnContext:
    """Begin one; `addresses` says what its pages may reach, and it saves nothing.

    Raises:
        ProtocolError, ActFailed, BrowserGone: the browser gives none.
    """
    context = str((await cdp.call("Target.createBrowserContext", {"disposeOnDetach": True}))["browserContextId"])
    refused = {"behavior": "deny", "eventsEnabled": True, "browserContextId": context}
    await cdp.call("Browser.setDownloadBehavior", refused)
    return OwnContext(cdp, context, RequestRules(cdp, addresses), ended)
