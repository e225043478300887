"""A browser that runs elsewhere, or the person's own, by the address of its debugger: a part of it that is ours alone.

Of targets outside of our context the browser is asked for no list, and tells none.
"""

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from angelia.browsers.address import RemoteAddress, shown_address
from angelia.browsers.chromium.cdp import CdpConnection, ProtocolError
from angelia.browsers.chromium.own_context import OwnContext, begin_context
from angelia.browsers.port import ActFailed, BrowserGone, BrowserMissing
from angelia.core.errors import MissingPart
from angelia.deadline import within
from angelia.sandboxes.egress.addresses import Addresses

if TYPE_CHECKING:
    from angelia.browsers.chromium.websocket import SocketTransport

_UNTIL_GONE_S = 5.0
_ANSWER_S = 15.0
_MOST_ANSWER = 1_000_000
CONNECT_S = 15.0
"""Until a browser must have answered."""
_PERSON_S = 120.0
_ASKING = "/devtools/browser"
_ALLOW = "It asks the person in front of it, who has to press Allow there within two minutes."
_THEN = "Start it with --remote-debugging-port=9222 and a --user-data-dir of its own, or set browser.address otherwise."


async def connect_remote(remote: RemoteAddress, addresses: Addresses) -> OwnContext:
    """Begin a context there; its address is http(s), where the browser says its own, or ws(s); `addresses` says what
    its pages may reach.

    Raises:
        BrowserMissing: no browser answers there; says why.
        ConfigError, NotFound: a secret that its address names cannot be had.
        MissingPart: the extra `remote-browser` is not installed.
    """
    try:
        from angelia.browsers.chromium.websocket import NoSocket, SocketTransport
    except ImportError as error:
        raise MissingPart("A browser elsewhere", "remote-browser") from error
    shown = remote.shown
    debugger = await _debugger_of(await remote.read())
    try:
        transport = await SocketTransport.connected(debugger.url, debugger.seconds)
    except NoSocket as error:
        why = f"{error}. {_ALLOW}" if debugger.asks else f"{error}."
        raise BrowserMissing(f"No browser can be had at {shown}.", why, _THEN) from error
    cdp = CdpConnection(transport)
    try:
        return await begin_context(cdp, addresses, partial(_hung_up, transport))
    except (ProtocolError, ActFailed, BrowserGone) as error:
        cdp.close()
        why = f"It gives no context of our own: {error}"
        raise BrowserMissing(f"The browser at {shown} cannot be used.", why, _THEN) from error


async def _hung_up(transport: "SocketTransport") -> None:
    """The browser goes on."""
    with suppress(TimeoutError):
        await within(_UNTIL_GONE_S, transport.wait_closed())


class _Debugger(Struct, frozen=True):
    """Where the socket is. One that `asks` lets us in when the person at the browser has said yes."""

    url: str
    asks: bool = False

    @property
    def seconds(self) -> float:
        """Until it must have answered."""
        return _PERSON_S if self.asks else CONNECT_S


async def _debugger_of(address: str) -> _Debugger:
    """Where the socket is; a browser's own HTTP server says it.

    A browser that its person has opened to debuggers by hand (`chrome://inspect/#remote-debugging`, Chrome 144 and
    later) says nothing over HTTP, and lets nobody in without asking that person; its socket is at a fixed path.

    Raises:
        BrowserMissing: nobody says it.
    """
    if urlsplit(address).scheme in {"ws", "wss"}:
        return _Debugger(address, asks=urlsplit(address).path.rstrip("/") == _ASKING)
    import httpx2
    import msgspec

    from angelia.http.client import http_client

    shown = shown_address(address)
    try:
        async with asyncio.timeout(_ANSWER_S), await http_client(address) as client:
            answer = await client.get(f"{address.rstrip('/')}/json/version")
            if answer.status_code == 404 and not answer.content:
                return _Debugger(f"ws{address.removeprefix('http').rstrip('/')}{_ASKING}", asks=True)
            said = msgspec.json.decode(answer.content[:_MOST_ANSWER], type=dict[str, str])
            return _Debugger(said["webSocketDebuggerUrl"])
    except TimeoutError as error:
        why = f"It did not answer within {_ANSWER_S:g} s."
        raise BrowserMissing(f"No browser answers at {shown}.", why, _THEN) from error
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        raise BrowserMissing(f"No browser answers at {shown}.", f"{error!s}.", _THEN) from error
    except (msgspec.MsgspecError, KeyError) as error:
        why = f"What answers there (status {answer.status_code}) does not say where its debugger is."
        raise BrowserMissing(f"There is no browser at {shown}.", why, _THEN) from error
