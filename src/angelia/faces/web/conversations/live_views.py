"""Browsers as they are watched on the page: for as long as somebody asks for pictures, and by one hand at a time."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from angelia.browsers.live import LiveInput, LiveSight
from angelia.browsers.port import ActFailed, ActOutcome, BrowserGone
from angelia.core.ids import ConversationId, sortable_id
from angelia.faces.web.asgi.request import RequestRefused

if TYPE_CHECKING:
    from angelia.browsers.chromium.browser import ChromiumBrowser
    from angelia.browsers.chromium.live_browser import LiveBrowser

PATIENCE_S = 10.0
"""How long one request waits for a picture of a page on which nothing moves."""
LEFT_S = 25.0
"""Who has not asked for that long is gone: what they had taken over is the agent's again."""
_MOST = 8
"""Views at once; each costs the browser pictures."""
_OVER = frozenset({ActOutcome.GONE, ActOutcome.CRASHED})


class _View:
    """One that somebody watches."""

    def __init__(self, live: "LiveBrowser") -> None:
        self.live = live
        self.coming: asyncio.Task[LiveSight] | None = None
        self.asked = asyncio.Event()
        self.alone = asyncio.Lock()


class LiveViews:
    """Those of one process. `browser_of` gives the browser of a conversation that is open here."""

    def __init__(self, browser_of: "Callable[[ConversationId], ChromiumBrowser | None]") -> None:
        self._browser_of = browser_of
        self._views: dict[tuple[ConversationId, str], _View] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    async def begin(self, conversation: ConversationId) -> str:
        """Watch the pages, from the tab on that was used last; returns the view's name.

        Raises:
            RequestRefused: there is no page to be watched here, or too much is watched already.
        """
        if len(self._views) >= _MOST:
            raise RequestRefused(409, f"{_MOST} pages are watched already.", then="Close one of them.")
        browser = self._browser_of(conversation)
        if browser is None or not browser.tabs:
            raise RequestRefused(
                409,
                "No page of this conversation is open here.",
                "Its browser has ended, or another process of yours has it.",
                "Ask Angelia to open the page again.",
            )
        try:
            view = _View(await browser.watch())
        except (ActFailed, BrowserGone) as failed:
            raise _refused(failed) from failed
        name = sortable_id()
        self._views[conversation, name] = view
        leaving = asyncio.create_task(self._end_when_left(conversation, name))
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)
        return name

    async def see(self, conversation: ConversationId, name: str) -> LiveSight | None:
        """The newest picture that this view was not given, or what has changed around it; None where nothing has moved
        for a while.

        Raises:
            RequestRefused: there is nothing to see any more, or never was.
        """
        view = self._view(conversation, name)
        async with view.alone:
            if view.coming is None:
                view.coming = asyncio.create_task(view.live.see())
            await asyncio.wait([view.coming], timeout=PATIENCE_S)
            view.asked.set()
            if not view.coming.done():
                return None
            coming, view.coming = view.coming, None
            try:
                return coming.result()
            except (ActFailed, BrowserGone) as failed:
                raise _refused(failed) from failed

    def taken_over(self, conversation: ConversationId, name: str) -> bool:
        """Whether this view has the page in hand."""
        return self._view(conversation, name).live.taken_over

    async def take(self, conversation: ConversationId, name: str, *, over: bool) -> None:
        """Have the page in hand, once what the agent does now is done; or give it back.

        Raises:
            RequestRefused: somebody else has it, or the agent's act does not end.
        """
        live = self._view(conversation, name).live
        if not over:
            live.give_back()
            return
        try:
            await live.take_over()
        except ActFailed as failed:
            raise _refused(failed) from failed

    async def send(self, conversation: ConversationId, name: str, events: Sequence[LiveInput]) -> None:
        """Do these to the page, in order.

        Raises:
            RequestRefused: it is not in this view's hand, or the page cannot take one of them; those before are done.
        """
        live = self._view(conversation, name).live
        try:
            for event in events:
                await live.send(event)
        except (ActFailed, BrowserGone) as failed:
            raise _refused(failed) from failed

    def show(self, conversation: ConversationId, name: str, tab: str) -> None:
        """Show another tab.

        Raises:
            RequestRefused: there is none of this name.
        """
        try:
            self._view(conversation, name).live.show(tab)
        except ActFailed as failed:
            raise RequestRefused(409, str(failed)) from failed

    async def answer(self, conversation: ConversationId, name: str, *, accept: bool, text: str) -> None:
        """Answer what the page asks before it goes on.

        Raises:
            RequestRefused: it is not in this view's hand, or asks nothing.
        """
        try:
            await self._view(conversation, name).live.answer(accept=accept, text=text)
        except (ActFailed, BrowserGone) as failed:
            raise _refused(failed) from failed

    async def end(self, conversation: ConversationId, name: str) -> None:
        """Watch no longer, and give back what was taken over. Idempotent."""
        if view := self._views.pop((conversation, name), None):
            view.asked.set()
            await view.live.close()
            if view.coming:
                with suppress(ActFailed, BrowserGone):
                    await view.coming

    async def close(self) -> None:
        """End every view."""
        for conversation, name in tuple(self._views):
            await self.end(conversation, name)
        await asyncio.gather(*self._leaving)

    def _view(self, conversation: ConversationId, name: str) -> _View:
        view = self._views.get((conversation, name))
        if view is None:
            raise RequestRefused(410, "This page is not watched any more.", then="Open the view again.")
        view.asked.set()
        return view

    async def _end_when_left(self, conversation: ConversationId, name: str) -> None:
        while view := self._views.get((conversation, name)):
            view.asked.clear()
            try:
                async with asyncio.timeout(LEFT_S):
                    await view.asked.wait()
            except TimeoutError:
                await self.end(conversation, name)


def _refused(failed: ActFailed | BrowserGone) -> RequestRefused:
    over = isinstance(failed, BrowserGone) or failed.outcome in _OVER
    return RequestRefused(410 if over else 409, str(failed))
