"""What sites keep by their scripts (`localStorage`, IndexedDB): read in their pages, put back before one is there.

It can only be written from a document of the site. So an empty one is made, which the browser takes for the site's
and for which nobody is asked: nothing goes over the network, and no script but ours runs in it.
"""

from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from angelia.browsers.chromium.cdp import CdpConnection
from angelia.browsers.chromium.tab import Tab
from angelia.browsers.logins import SiteStorage
from angelia.browsers.origins import origin
from angelia.browsers.port import ActFailed, ActOutcome

MOST = 2_000_000
"""Characters of one site that are kept in each of the two; browsers themselves let it have more."""

_READ = """(async () => { const databases = await %s.read(%d);
  return origin + "\\n" + JSON.stringify(Object.entries(localStorage)) + "\\n" + JSON.stringify(databases); })()"""
_PUT = """(async () => { if (origin !== %s) return;
  try {
    %s.forEach(([name, value]) => localStorage.setItem(name, value));
    await %s.put(%s);
  } catch (fault) { return fault.message || String(fault); } })()"""


async def storage_of(tab: Tab) -> SiteStorage | None:
    """That of the site whose page a tab shows; None where it shows none, or cannot be asked now."""
    if not origin(tab.url) or tab.dialog is not None or tab.crashed:
        return None
    with suppress(ActFailed, msgspec.MsgspecError):
        said = str(await tab.frames.evaluate(tab.frames.page, _READ % (_script(), MOST)))
        site, items, databases = said.split("\n")
        if len(items) <= MOST and databases != "null":
            kept = tuple(sorted(msgspec.json.decode(items, type=list[tuple[str, str]])))
            return SiteStorage(site, kept, databases if databases != "[]" else "")
    return None


async def put_storage(cdp: CdpConnection, session: str, storage: SiteStorage) -> None:
    """Give a site what it had; `session` speaks to an empty page of ours, which becomes one of the site's.

    Raises:
        ActFailed, BrowserGone: the browser does not answer, or has ended; or a page of the site is in the way.
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
    expression = _PUT % (site, items, _script(), storage.databases or "[]")
    answer = await cdp.call("Runtime.evaluate", {"expression": expression, "awaitPromise": True}, session=session)
    if fault := answer["result"].get("value"):
        why = f"What {storage.origin} keeps cannot be put back: {fault}."
        raise ActFailed(ActOutcome.UNFIT, f"{why} Close the tabs that show this site, then open it again.")


@cache
def _script() -> str:
    return files("angelia.browsers.chromium").joinpath("databases.js").read_text().strip()
