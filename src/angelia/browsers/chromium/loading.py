"""What the documents of one tab are loading, as the browser tells it."""

import asyncio
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from angelia.browsers.chromium.frames import Frames
from angelia.browsers.port import ActFailed, ActOutcome
from angelia.core.text import clean, one_line

LONGEST_S = 5.0
"""What loads for so long is a stream, which is never over."""


class _PageLoad(Struct, frozen=True):
    """The page's own document: its request, since when it is awaited, and whether it has begun to show itself."""

    request: str
    url: str
    since: float
    committed: bool = False


class Loading:
    """By the session that told of it, and what it is; with when it began."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._begun: dict[tuple[str, str], float] = {}
        self._page: _PageLoad | None = None

    def busy(self, now: float) -> bool:
        """Whether something is on its way that is to be waited for."""
        page = [self._page.since] if self._page else []
        return any(now - one < LONGEST_S for one in (*self._begun.values(), *page))

    def page_for(self, now: float) -> float:
        """Seconds for which the page has been loading; 0 once it is all there."""
        return now - self._page.since if self._page else 0.0

    def patience(self, now: float) -> float | None:
        """Seconds for which another page may still be awaited before that is the answer; None if none is.

        Until it begins to show itself the browser holds back whatever is asked of the one before.
        """
        if self._page is None or self._page.committed:
            return None
        return max(0.0, self._page.since + LONGEST_S - now)

    def awaited(self, now: float) -> ActFailed:
        """That another page has been awaited for so long."""
        assert self._page is not None  # it is: see `patience`
        where = one_line(clean(self._page.url), 300)
        why = f"{where} is still loading, and has shown nothing for {now - self._page.since:.1f} s."
        return ActFailed(ActOutcome.NOT_LOADED, f"{why} Look again, or open another page.")

    def begin(self, session: str, what: str) -> None:
        """It is loading since now."""
        now = asyncio.get_running_loop().time()
        if what == self._frames.page.identity:
            self._page = _PageLoad("", "", now, committed=True)
        else:
            self._begun[session, what] = now

    def hear(self, session: str, method: str, params: dict[str, Any]) -> bool:
        """What the browser tells; whether it was about loading."""
        match method:
            case "Network.requestWillBeSent" if self._is_page(params):
                self._page_asked(str(params["requestId"]), str(params["request"]["url"]))
            case "Network.requestWillBeSent":
                self.begin(session, self._named(params))
            case "Network.loadingFinished" | "Network.loadingFailed":
                self._begun.pop((session, str(params["requestId"])), None)
                self._page_answered(str(params["requestId"]))
            case "Page.frameStoppedLoading" if params["frameId"] == self._frames.page.identity:
                if self._page is not None and self._page.committed:  # else the page before gave up its own for this one
                    self._page = None
            case "Page.frameStoppedLoading" | "Page.frameDetached":
                self._begun.pop((session, str(params["frameId"])), None)
            case _:
                return False
        return True

    def page_moved(self, loader: str) -> None:
        """Whatever the page before was loading is of no interest. The new one is there as far as its first words;
        `loader` is by what it came, which is also the number of the request for its document.
        """
        self._begun.clear()
        asked = self._page is not None and self._page.request == loader
        self._page = replace(self._page, committed=True) if self._page is not None and asked else None

    def forget(self, session: str) -> None:
        """Nobody will tell how it ended."""
        for key in [key for key in self._begun if key[0] == session]:
            del self._begun[key]

    def _is_page(self, params: dict[str, Any]) -> bool:
        return params.get("type") == "Document" and params.get("frameId") == self._frames.page.identity

    def _page_asked(self, request: str, url: str) -> None:
        if self._page is not None and self._page.request == request:  # sent on to another address
            self._page = replace(self._page, url=url)
        else:
            self._page = _PageLoad(request, url, asyncio.get_running_loop().time())

    def _page_answered(self, request: str) -> None:
        """An answer with nothing to show leaves the page before as it is."""
        if self._page is not None and self._page.request == request and not self._page.committed:
            self._page = None

    def _named(self, params: dict[str, Any]) -> str:
        """What is loading; the document of a frame by its frame, since another process may have the end of it."""
        frame = str(params.get("frameId", ""))
        inner = params.get("type") == "Document" and frame != self._frames.page.identity
        return frame if inner else str(params["requestId"])
