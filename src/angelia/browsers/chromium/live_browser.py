"""A browser as a person watches and takes it over from elsewhere: one of its tabs at a time, not always the same.

Whoever watches sees the tab that the agent uses, until they choose another. While they have the pages in hand, what
they press may open a window of the page's own (a login often does): they are led there, and back when it closes.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from angelia.browsers.chromium.cdp import CdpConnection, ProtocolError
from angelia.browsers.chromium.live_page import LivePage
from angelia.browsers.chromium.tab import Tab
from angelia.browsers.control import PageControl
from angelia.browsers.live import LiveFrame, LiveInput, LiveSight, LiveState, LiveTab
from angelia.browsers.origins import origin
from angelia.browsers.port import ActFailed, ActOutcome

TAKE_OVER_S = 30.0
"""Until an act of the agent's must be over for a person to take over."""


class WatchedTabs(Protocol):
    """The tabs of a browser, by name, and the one that was used last."""

    @property
    def tabs(self) -> Mapping[str, Tab]:
        """Those that are open."""
        ...

    @property
    def current(self) -> str:
        """The agent's; empty if there is none."""
        ...


class _Shown(Struct, frozen=True):
    """The tab whose pictures come, and what ends that we hear of its changes."""

    tab: Tab
    page: LivePage
    forget: Callable[[], None]


class LiveBrowser:
    """Made by `ChromiumBrowser.watch`. Whoever has it closes it, which hands back what they had taken over."""

    def __init__(self, cdp: CdpConnection, browser: WatchedTabs, control: PageControl) -> None:
        self._cdp, self._control = cdp, control
        self._browser = browser
        self._chosen = ""
        self._shown: _Shown | None = None
        self._lost: set[str] = set()
        self._coming: asyncio.Task[LiveFrame] | None = None
        self._told: LiveState | None = None
        self._changed = asyncio.Event()
        self._ended: ActFailed | None = None
        cdp.gone.add_done_callback(self._browser_ended)

    async def begin(self) -> None:
        """Have the browser draw.

        Raises:
            ActFailed, BrowserGone: there is no page, or it is gone again.
        """
        await self._page()

    async def see(self) -> LiveSight:
        """The newest picture that was not fetched yet, or what has changed around it; waits for as long as nothing
        moves. One call at a time.

        Raises:
            ActFailed: no tab is left that could be seen, or `close` was called.
            BrowserGone: the browser has ended.
        """
        while True:
            self._changed.clear()
            shown = await self._page()
            state = self._state(shown.tab)
            if state != self._told:
                self._told = state
                return LiveSight(state)
            coming = self._coming = self._coming or asyncio.create_task(shown.page.frame())
            changed = asyncio.create_task(self._changed.wait())
            try:
                await asyncio.wait({coming, changed}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                changed.cancel()
            if coming.done():
                self._coming = None
                try:
                    return LiveSight(state, coming.result())
                except ActFailed as failed:
                    self._lost.add(shown.tab.name)
                    if not self._open():
                        self.end(failed)

    @property
    def unfetched(self) -> int:
        """How many pictures the browser has made since one was fetched; a few at most."""
        return self._shown.page.unfetched if self._shown else 0

    @property
    def taken_over(self) -> bool:
        """Whether what is sent here reaches the page."""
        return self._control.held_by(self)

    async def take_over(self) -> None:
        """Have the pages in hand: the agent neither acts nor looks until they are given back.

        Raises:
            ActFailed: somebody else has them, or the agent's act does not end.
        """
        await self._control.take(self, seconds=TAKE_OVER_S)

    def give_back(self) -> None:
        """Hand the pages back to the agent. Idempotent."""
        self._control.give_back(self)

    def show(self, name: str) -> None:
        """Show this tab from now on; the one that the agent uses is followed again.

        Raises:
            ActFailed: there is none of this name.
        """
        if name not in self._open():
            raise ActFailed(ActOutcome.GONE, f"There is no tab {name} any more.")
        self._chosen = "" if name == self._browser.current else name
        self._changed.set()

    async def send(self, event: LiveInput) -> None:
        """Do to the page that is shown what the person does. A page that asks takes nothing before the answer to that;
        of a window that goes by it nobody may answer any more, and it is done.

        Raises:
            ActFailed: it was not taken over; nobody knows such a key; or the page is gone.
            BrowserGone: the browser has ended.
        """
        shown = self._in_hand()
        try:
            await shown.tab.unless_asked(shown.page.send(event))
        except ActFailed as failed:
            asks = (
                failed.outcome is ActOutcome.DIALOG_OPEN
            )  # which whoever watches sees, as they see that a tab is gone
            if not asks and self._is_open(shown.tab):
                raise

    async def answer(self, *, accept: bool, text: str = "") -> None:
        """Answer what the page that is shown asks.

        Raises:
            ActFailed: it was not taken over; or asks nothing.
            BrowserGone: the browser has ended.
        """
        await self._in_hand().tab.answer(accept=accept, text=text)

    async def close(self) -> None:
        """Watch no longer. Idempotent."""
        self._cdp.gone.remove_done_callback(self._browser_ended)
        self.end(ActFailed(ActOutcome.GONE, "The page is no longer watched."))
        await self._leave()

    # -- what the browser tells -------------------------------------------------------------------------------------

    def end(self, why: ActFailed) -> None:
        """There is nothing to see any more; whoever waits for a picture hears why."""
        self.give_back()
        self._ended = self._ended or why
        self._changed.set()

    @property
    def ended(self) -> bool:
        """Whether there is nothing to see any more."""
        return self._ended is not None

    def tabs_changed(self, came: str = "") -> None:
        """The agent uses another tab, or one has gone; or `came` is a new one."""
        if came and self.taken_over:
            self._chosen = came
        if self._shown is not None and not self._is_open(self._shown.tab):
            self._shown.page.end(_closed())  # nobody else may tell whoever waits for an answer of it
        if not self._open():
            self.end(_closed())
        self._changed.set()

    def _browser_ended(self, _: "asyncio.Future[None]") -> None:
        self.give_back()
        self._changed.set()

    # -- which tab it is --------------------------------------------------------------------------------------------

    def _open(self) -> dict[str, Tab]:
        return {name: tab for name, tab in self._browser.tabs.items() if name not in self._lost}

    def _is_open(self, tab: Tab) -> bool:
        return self._browser.tabs.get(tab.name) is tab

    async def _page(self) -> _Shown:
        """The tab that is to be shown, watched from now on if it was not."""
        if self._ended is not None:
            raise self._ended
        there = self._open()
        name = next((one for one in (self._chosen, self._browser.current) if one in there), next(reversed(there), ""))
        if self._shown is not None and (self._shown.tab is there.get(name) or self._cdp.gone.done()):
            return self._shown
        await self._leave()
        if not name:
            raise ActFailed(ActOutcome.GONE, "There is no page to be seen.")
        tab = there[name]
        page = LivePage(self._cdp, await self._session(tab))
        self._shown = _Shown(tab, page, tab.on_change(self._changed.set))
        try:
            await page.start()
        except BaseException:
            await asyncio.shield(self._leave())
            raise
        return self._shown

    async def _session(self, tab: Tab) -> str:
        try:
            asked = {"targetId": tab.target, "flatten": True}
            return str((await self._cdp.call("Target.attachToTarget", asked))["sessionId"])
        except ProtocolError as error:
            self._lost.add(tab.name)
            raise ActFailed(ActOutcome.GONE, f"The tab {tab.name} cannot be watched: {error}.") from error

    async def _leave(self) -> None:
        """Watch the tab that was shown no longer."""
        shown, self._shown = self._shown, None
        coming, self._coming = self._coming, None
        if shown is not None:
            shown.forget()
            await shown.page.close()
        if coming is not None:
            await asyncio.wait([coming])
            coming.exception()  # that it is watched no longer

    def _state(self, tab: Tab) -> LiveState:
        tabs = tuple(LiveTab(name, origin(one.url)) for name, one in self._open().items())
        asks = tab.dialog
        return LiveState(tabs, tab.name, str(asks or ""), asks is not None and asks.kind == "prompt")

    def _in_hand(self) -> _Shown:
        if not self.taken_over:
            raise ActFailed(ActOutcome.REFUSED, "The agent has this page in hand: take it over first.")
        if self._shown is None:
            raise ActFailed(ActOutcome.GONE, "This tab is not shown yet: wait for its picture.")
        return self._shown


def _closed() -> ActFailed:
    return ActFailed(ActOutcome.GONE, "The tab was closed.")
