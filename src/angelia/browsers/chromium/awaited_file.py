"""The file for which a step waits in a browser elsewhere: which response it is, and what becomes of that on its way.

A page's requests are held by two sessions then. The one of the rules, which was there before, is the nearer to the
network: it judges, lets the file pass, and hears it if the connection is cut. The other one reads the file.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from angelia.browsers.chromium.response_heads import fields, is_kept
from angelia.browsers.port import ActFailed, ActOutcome
from angelia.core.text import clean, one_line


class PausedFile(Struct, frozen=True):
    """A response that is the file. It waits in a session until its body is read, and is then ended.

    One that a `link` with `download` has asked for is named by the page if its server does not.
    """

    session: str
    request: str
    url: str
    heads: dict[str, str]
    link: bool


class MadeFile(Struct, frozen=True):
    """A file that needs no request, or that the browser took for one after us; `name` is what the page calls it."""

    frame: str
    url: str
    name: str


Found = PausedFile | MadeFile | ActFailed


class AwaitedFile:
    """What is told first counts. `found` is done once it is known what comes, or why nothing does; `named` once the
    browser has said what it would call that.
    """

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.found: asyncio.Future[Found] = loop.create_future()
        self.named: asyncio.Future[str] = loop.create_future()
        self.nearer: tuple[str, str] | None = None
        """The file in the session that is nearer to the network, and its number there."""
        self.cut = ""
        """Why its connection ended too early."""
        self.link = ""
        """What a link with `download` has asked for, by its address: the browser tells of it late, as of a download."""
        self._which: tuple[str, str] | None = None

    def tell(self, found: Found) -> None:
        """That is what came."""
        if not self.found.done():
            self.found.set_result(found)

    def name_link(self, url: str, name: str) -> bool:
        """Whether what the browser tells of is what that link has asked for; told once."""
        if not self.link or url != self.link:
            return False
        self.link = ""
        self.named.set_result(name)
        return True

    def refused(self, params: Mapping[str, Any], why: str) -> None:
        """The rules let no request for it go."""
        self._note_link(params)
        self.tell(ActFailed(ActOutcome.REFUSED, f"Nothing was downloaded: {why}."))

    def passes(self, session: str, params: Mapping[str, Any]) -> bool:
        """Whether the response that waits in the nearer session is the file, and goes on as it is."""
        if self.nearer is None and "responseStatusCode" in params and self._is_it(params):
            self.nearer = session, str(params["requestId"])
        return self.nearer == (session, str(params["requestId"]))

    def failed(self, session: str, params: Mapping[str, Any]) -> None:
        """The nearer session has heard that a request has failed, before or within its answer."""
        reason = one_line(clean(str(params["responseErrorReason"])), 60)
        if self.nearer == (session, str(params["requestId"])):
            self.cut = reason
        elif self._which is None and _is_links(params):
            self._note_link(params)
            self.tell(ActFailed(ActOutcome.NOT_LOADED, f"{_shown(params)} could not be loaded: {reason}."))

    def reads(self, session: str, params: Mapping[str, Any]) -> bool:
        """Whether the response that waits in the farther session is the file, which is read there now."""
        if self.found.done() or "responseStatusCode" not in params or not self._is_it(params):
            return False
        heads = fields(params.get("responseHeaders", ()))
        url = str(params["request"]["url"])
        self.tell(PausedFile(session, str(params["requestId"]), url, heads, _is_links(params)))
        return True

    def _is_it(self, params: Mapping[str, Any]) -> bool:
        which = str(params.get("networkId", "")), str(params["request"]["url"])
        if self._which is None and self._is_file(params):
            self._which = which
        return self._which == which

    def _is_file(self, params: Mapping[str, Any]) -> bool:
        status = int(params["responseStatusCode"])
        goes = params["resourceType"] == "Document" and is_kept(fields(params.get("responseHeaders", ())))
        if not goes and not _is_links(params):
            return False
        if status < 300 or status >= 400:
            self._note_link(params)
        if status >= 400:
            why = f"{_shown(params)} was answered with {status}, and not with a file."
            self.tell(ActFailed(ActOutcome.NOT_LOADED, why))
        return 200 <= status < 300 and status not in {204, 205}

    def _note_link(self, params: Mapping[str, Any]) -> None:
        if _is_links(params):
            self.link = str(params["request"]["url"])


def _is_links(params: Mapping[str, Any]) -> bool:
    """Whether a link with `download` has asked: no page loads that, so it has no number in the network's own events."""
    return params["resourceType"] == "Document" and not params.get("networkId")


def _shown(params: Mapping[str, Any]) -> str:
    return one_line(clean(str(params["request"]["url"])), 200)
