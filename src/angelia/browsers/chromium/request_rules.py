"""What the pages of a browser without a wall may ask for, decided request by request: no proxy of ours is in between.

Every request of a page waits in the browser until it was judged (`Fetch`), each step of a redirect by itself. That sees
neither web sockets nor what is no HTTP, so two things are done beside it. What comes as a document or a worker gets a
policy of ours into its head (Content Security Policy): web sockets to its own site alone, and no windows of its own,
which would ask before anybody could judge. And the interfaces that a request is not seen of are taken out of every
window before a script of the page runs: WebRTC, WebTransport, shared and service workers, rules of speculation.

Where a page calls another program (`mailto:`), no request is seen either. A frame is let call none by the sandbox of
that policy, which has it lead no tab. A tab's own page is held by a listener that was there before its scripts, and by
what redirects say; that listener hears nothing in a page of no origin, so a tab is shown none.

It is less than a namespace: the browser resolves the names itself, and whoever has taken it over is held by nothing.
"""

import asyncio
import base64
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from angelia.browsers.chromium.awaited_file import AwaitedFile
from angelia.browsers.chromium.cdp import CdpConnection, ProtocolError
from angelia.browsers.chromium.response_heads import fields
from angelia.browsers.origins import origin
from angelia.browsers.port import ActFailed, BrowserGone
from angelia.cancellation import cancel_and_wait
from angelia.core.errors import AngeliaError, PolicyDenied
from angelia.core.text import clean, one_line
from angelia.sandboxes.egress.addresses import Addresses

FRESH_S = 30.0
"""For so long a judged origin is not resolved again."""
_MOST_REFUSALS = 5
_PORTS = {"http": 80, "https": 443}
_SANDBOX = (
    "allow-scripts allow-same-origin allow-forms allow-modals allow-downloads allow-pointer-lock "
    "allow-orientation-lock allow-presentation allow-storage-access-by-user-activation"
)
_POLICY = f"sandbox {_SANDBOX}; connect-src 'self' http: https: data: blob:; form-action http: https:"
"""`'self'` is what lets a web socket to a page's own host and port be; `http:` and `https:` are none.

Without `allow-top-navigation` no frame leads the tab anywhere, nor to a program outside of the browser.
"""
_INERT = (
    *("image/", "audio/", "video/", "font/", "text/plain", "text/css", "text/csv", "application/json"),
    *("application/pdf", "application/zip", "application/gzip", "application/octet-stream"),
)
"""Kinds in which no script of a page's runs, the one exception named below."""
_OURS = ["http:", "https:", "about:", "blob:", "data:"]
"""What a browser shows by itself; an address that begins otherwise (`mailto:`) is another program's."""
_REMOVED = ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport", "SharedWorker"]
_BEFORE = f"""(() => {{
  for (const one of {_REMOVED}) delete globalThis[one];
  delete Navigator.prototype.serviceWorker;
  const plain = (one) => {{ if (/^speculationrules$/i.test(one.type)) {{ one.type = 'text/plain'; one.remove() }} }};
  new MutationObserver(() => document.querySelectorAll('script[type]').forEach(plain))
    .observe(document, {{subtree: true, childList: true, attributes: true, attributeFilter: ['type']}});
  const {{ apply }} = Reflect, begins = String.prototype.startsWith, stop = Event.prototype.preventDefault;
  const read = (kind, name) => Object.getOwnPropertyDescriptor(kind.prototype, name).get;
  const to = read(NavigateEvent, 'destination'), url = read(NavigationDestination, 'url');
  const [http, https, about, blob, data] = {_OURS};
  navigation.addEventListener('navigate', (event) => {{
    const there = apply(url, apply(to, event, []), []), is = (one) => apply(begins, there, [one]);
    if (!(is(http) || is(https) || is(about) || is(blob) || is(data))) apply(stop, event, []);
  }});
  addEventListener('click', (event) => {{
    for (const one of event.composedPath()) {{
      if (one instanceof HTMLAnchorElement || one instanceof HTMLAreaElement) {{
        if (one.target && !(one.target in window)) one.target = '_self';
      }}
    }}
  }}, true);
}})()"""
"""Rules of speculation have the browser fetch pages ahead, unseen; an observer is called before a parsed script counts.
A link that wants a window of its own gets the one there is: another one is not to be had. What the listener of
navigations needs is read before a page could put something else in its place.
"""
_PATTERNS = [
    {"urlPattern": "*"},
    *({"urlPattern": "*", "resourceType": kind, "requestStage": "Response"} for kind in ("Document", "Other")),
]


class _Judged(Struct, frozen=True):
    until: float
    refusal: str


class RequestRules:
    """Those of one browser. `addresses` says what may be reached; `opened` are the sites that somebody said yes to."""

    def __init__(self, cdp: CdpConnection, addresses: Addresses) -> None:
        self._cdp, self._addresses = cdp, addresses
        self._judged: dict[str, _Judged] = {}
        self._deciding: set[asyncio.Task[None]] = set()
        self.opened: set[str] = set()
        self.refusals: dict[str, str] = {}
        self.awaited: AwaitedFile | None = None
        """The file for which a step waits now."""

    async def hold(self, session: str) -> None:
        """Have the requests of a page or frame wait for us; nothing of it may have run before.

        Raises:
            ProtocolError, ActFailed, BrowserGone: it is gone again.
        """
        await self._cdp.call("Fetch.enable", {"patterns": _PATTERNS}, session=session)
        await self._cdp.call("Network.setBypassServiceWorker", {"bypass": True}, session=session)
        asked = {"source": _BEFORE, "runImmediately": True}
        await self._cdp.call("Page.addScriptToEvaluateOnNewDocument", asked, session=session)

    def hear(self, session: str, page: str, method: str, params: dict[str, Any]) -> bool:
        """Whether this was a request of a tab whose page is the frame `page`; it is decided."""
        if method in {"Page.frameScheduledNavigation", "Page.frameRequestedNavigation"}:
            self._note_call(str(params["url"]))
        if method != "Fetch.requestPaused":
            return False
        if self.awaited is not None and "responseErrorReason" in params:
            self.awaited.failed(session, params)
        task = asyncio.get_running_loop().create_task(self._decide(session, page, params))
        self._deciding.add(task)
        task.add_done_callback(self._deciding.discard)
        return True

    async def close(self) -> None:
        """Decide nothing any more."""
        await cancel_and_wait(*self._deciding)

    async def _decide(self, session: str, page: str, params: Mapping[str, Any]) -> None:
        with suppress(ProtocolError, ActFailed, BrowserGone):  # whoever asked is gone
            if "responseStatusCode" in params or "responseErrorReason" in params:
                await self._answered(session, page, params)
                return
            url = str(params["request"]["url"])
            moves = params["resourceType"] == "Document" and params.get("frameId") == page
            said = {"requestId": params["requestId"]}
            if refusal := await self._refusal(url, moves=moves):
                self._note(urlsplit(url).hostname or "", one_line(clean(refusal), 400))
                if self.awaited is not None and params["resourceType"] == "Document":
                    self.awaited.refused(params, one_line(clean(refusal), 400))
                await self._cdp.call("Fetch.failRequest", {**said, "errorReason": "BlockedByClient"}, session=session)
            else:
                await self._cdp.call("Fetch.continueRequest", said, session=session)

    async def _refusal(self, url: str, *, moves: bool) -> str:
        """Why a request is not let go; empty if it is. `moves`: the tab itself would go there."""
        there = origin(url)
        if moves and there not in self.opened:
            return f"nobody has said yes to {there or url[:60]} yet: open it with browser_open"
        now = asyncio.get_running_loop().time()
        known = self._judged.get(there)
        if known is None or known.until < now:
            self._judged[there] = known = _Judged(now + FRESH_S, await self._judge(url))
        return known.refusal

    async def _judge(self, url: str) -> str:
        try:
            parts = urlsplit(url)
            port = parts.port or _PORTS[parts.scheme]
            await self._addresses(origin(url), parts.hostname or "", port)
        except (PolicyDenied, AngeliaError) as denied:
            return str(denied)
        except (ValueError, KeyError):
            return f"{url[:60]} is no web address"
        return ""

    async def _answered(self, session: str, page: str, params: Mapping[str, Any]) -> None:
        """Put our policy into the head of what may run scripts, and pass on everything else as it came."""
        said = {"requestId": params["requestId"]}
        if self.awaited is not None and self.awaited.passes(session, params):
            await self._cdp.call("Fetch.continueResponse", said, session=session)
            return
        heads = [one for one in params.get("responseHeaders", ()) if one["name"].lower() not in _LEFT_OUT]
        status = int(params.get("responseStatusCode", 0))
        if self._is_barred(params, page, status, heads):
            await self._cdp.call("Fetch.failRequest", {**said, "errorReason": "BlockedByClient"}, session=session)
            return
        if not 200 <= status < 600 or 300 <= status < 400 or _is_inert(heads):
            await self._cdp.call("Fetch.continueResponse", said, session=session)
            return
        got = await self._cdp.call("Fetch.getResponseBody", said, session=session, seconds=60.0)
        whole = got["body"] if got["base64Encoded"] else base64.b64encode(got["body"].encode()).decode()
        heads.append({"name": "Content-Security-Policy", "value": _POLICY})
        told = {"responseCode": status, "responseHeaders": heads, "body": whole}
        await self._cdp.call("Fetch.fulfillRequest", {**said, **told}, session=session)

    def _is_barred(self, params: Mapping[str, Any], page: str, status: int, heads: list[dict[str, str]]) -> bool:
        """Whether an answer leads to another program, or is a tab's page that could call one unheard; that is noted."""
        url = str(params["request"]["url"])
        if 300 <= status < 400:
            there = urljoin(url, fields(heads).get("location", ""))
            self._note_call(there)
            return _is_others(there)
        if params.get("frameId") != page or _is_inert(heads) or not _is_apart(heads):
            return False
        why = "its server has it be of no origin (a policy with `sandbox`), and nothing here would hold it: use fetch"
        self._note(url, f"{one_line(clean(url), 200)}: {why}")
        return True

    def _note_call(self, url: str) -> None:
        """Tell it, if this address is another program's."""
        if _is_others(url):
            said = one_line(clean(url), 60)
            self._note(said, f"{said}: it is for another program, and pages call none from here")

    def _note(self, about: str, said: str) -> None:
        if len(self.refusals) < _MOST_REFUSALS:
            self.refusals.setdefault(about, said)


_LEFT_OUT = frozenset({"content-length", "content-encoding", "transfer-encoding", "speculation-rules"})
"""Fields that are not so of a body that was taken and is given again, and what has pages fetched ahead."""


def _is_others(url: str) -> bool:
    """Whether an address is for a program outside of the browser."""
    return not url.lower().startswith((*_OURS, "javascript:"))


def _is_apart(heads: list[dict[str, str]]) -> bool:
    """Whether a server has its own page be of no origin."""
    said = [one["value"].lower() for one in heads if one["name"].lower() == "content-security-policy"]
    return any("sandbox" in one and "allow-same-origin" not in one for one in said)


def _is_inert(heads: list[dict[str, str]]) -> bool:
    found = fields(heads)
    if found.get("content-disposition", "").lower().startswith("attachment"):
        return True
    kind = found.get("content-type", "").lower()
    return kind.startswith(_INERT) and "svg" not in kind
