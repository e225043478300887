"""What sites keep in their scripts' `localStorage`: read in their pages, put back before any page of theirs is there.

It can only be written from a document of the site. So an empty one is made, which the browser takes for the site's
and for which nobody is asked: nothing goes over the network, and no script but ours runs in it.
"""

from contextlib import suppress
from typing import Any

import msgspec

from angelia.browsers.chromium.cdp import CdpConnection
from angelia.browsers.chromium.frames import origin
from angelia.browsers.chromium.tab import Tab
from angelia.browsers.logins import SiteStorage
from angelia.browsers.port import ActFailed

MOST = 2_000_000
"""Characters of one site that are kept; browsers themselves let it have five million. One that has more loses all."""

_READ = "origin + '\\n' + JSON.stringify(Object.entries(localStorage))"
_PUT = "origin === %s && %s.forEach(([name, value]) => localStorage.setItem(name, value))"


async def storage_of(tab: Tab) -> SiteStorage | None:
    """That of the site whose page a tab shows; None where it shows none, or cannot be asked now."""
    if not origin(tab.url) or tab.dialog is not None or tab.crashed:
        return None
    with suppress(ActFailed, msgspec.MsgspecError):
        said = str(await tab.frames.evaluate(tab.frames.page, _READ))
        site, _, items = said.partition("\n")
        if len(items) <= MOST:
            return SiteStorage(site, tuple(sorted(msgspec.json.decode(items, type=list[tuple[str, str]]))))
    return None


async def put_storage(cdp: CdpConnection, session: str, storage: SiteStorage) -> None:
    """Give a site what it had; `session` speaks to an empty page of ours, which becomes one of the site's.

    Raises:
        ActFailed, BrowserGone: the browser does not answer, or has ended.
        ProtocolError: it refuses.
    """

    def hear(method: str, params: dict[str, Any]) -> None:
        if method == "Fetch.requestPaused":
            page = {
                "responseCode": 200,
                "responseHeaders": [{"name": "content-type", "value": "text/html"}],
                "body": "",
            }
            cdp.tell("Fetch.fulfillRequest", {"requestId": params["requestId"], **page}, session=session)

    cdp.listen(session, hear)
    await cdp.call("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}, session=session)
    await cdp.call("Page.navigate", {"url": f"{storage.origin}/"}, session=session)
    site, items = (msgspec.json.encode(one).decode() for one in (storage.origin, storage.items))
    await cdp.call("Runtime.evaluate", {"expression": _PUT % (site, items)}, session=session)
