"""A browser that runs elsewhere, or the person's own, by the address of its debugger: a part of it that is ours alone.

We work in a browser context of our own, which knows no cookie of the person's and ends with our connection, however
that ends. Of targets outside of it the browser is asked for no list, and tells none.
"""

import asyncio
from contextlib import suppress
from urllib.parse import urlsplit

from angelia.browsers.chromium.cdp import CdpConnection, ProtocolError
from angelia.browsers.chromium.request_rules import RequestRules
from angelia.browsers.port import ActFailed, BrowserGone, BrowserMissing
from angelia.core.errors import MissingPart
from angelia.deadline import within
from angelia.sandboxes.egress.addresses import Addresses

_UNTIL_GONE_S = 5.0
_ANSWER_S = 15.0
_MOST_ANSWER = 1_000_000
_THEN = "Start it with --remote-debugging-port=9222 and a --user-data-dir of its own, or set browser.address otherwise."


class RemoteContext:
    """A context of ours in a browser that runs elsewhere."""

    folders = None
    """Of files it shares none with us."""

    def __init__(self, cdp: CdpConnection, context: str, rules: RequestRules) -> None:
        self.cdp, self.context = cdp, context
        self.rules = rules

    @property
    def refusals(self) -> dict[str, str]:
        """Why hosts were not reached, by host; what is read may be taken out."""
        return self.rules.refusals

    async def close(self) -> None:
        """End the context and hang up; the browser goes on. Idempotent."""
        with suppress(ProtocolError, ActFailed, BrowserGone, TimeoutError):
            disposing = self.cdp.call("Target.disposeBrowserContext", {"browserContextId": self.context})
            await within(_UNTIL_GONE_S, disposing)
        await self.rules.close()
        self.cdp.close()


def shown_address(address: str) -> str:
    """As it may be shown: what follows the host is often a key.

    >>> shown_address("wss://browsers.example/?token=abc")
    'wss://browsers.example'
    """
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


async def connect_remote(address: str, addresses: Addresses) -> RemoteContext:
    """Begin a context there; `address` is http(s), where the browser says its own, or ws(s); `addresses` says what its
    pages may reach.

    Raises:
        BrowserMissing: no browser answers there; says why.
        MissingPart: the extra `remote-browser` is not installed.
    """
    try:
        from angelia.browsers.chromium.websocket import NoSocket, SocketTransport
    except ImportError as error:
        raise MissingPart("A browser elsewhere", "remote-browser") from error
    shown = shown_address(address)
    try:
        transport = await SocketTransport.connected(await _debugger_of(address))
    except NoSocket as error:
        raise BrowserMissing(f"No browser can be had at {shown}.", f"{error}.", _THEN) from error
    cdp = CdpConnection(transport)
    try:
        context = str((await cdp.call("Target.createBrowserContext", {"disposeOnDetach": True}))["browserContextId"])
        await cdp.call("Browser.setDownloadBehavior", {"behavior": "deny", "browserContextId": context})
    except (ProtocolError, ActFailed, BrowserGone) as error:
        cdp.close()
        why = f"It gives no context of our own: {error}"
        raise BrowserMissing(f"The browser at {shown} cannot be used.", why, _THEN) from error
    return RemoteContext(cdp, context, RequestRules(cdp, addresses))


async def _debugger_of(address: str) -> str:
    """Where the socket is; a browser's own HTTP server says it.

    Raises:
        BrowserMissing: nobody says it.
    """
    if urlsplit(address).scheme in {"ws", "wss"}:
        return address
    import httpx2
    import msgspec

    from angelia.http.client import http_client

    shown = shown_address(address)
    try:
        async with asyncio.timeout(_ANSWER_S), await http_client(address) as client:
            answer = await client.get(f"{address.rstrip('/')}/json/version")
            said = msgspec.json.decode(answer.content[:_MOST_ANSWER], type=dict[str, str])
            return said["webSocketDebuggerUrl"]
    except TimeoutError as error:
        why = f"It did not answer within {_ANSWER_S:g} s."
        raise BrowserMissing(f"No browser answers at {shown}.", why, _THEN) from error
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        raise BrowserMissing(f"No browser answers at {shown}.", f"{error!s}.", _THEN) from error
    except (msgspec.MsgspecError, KeyError) as error:
        why = f"What answers there (status {answer.status_code}) does not say where its debugger is."
        raise BrowserMissing(f"There is no browser at {shown}.", why, _THEN) from error
