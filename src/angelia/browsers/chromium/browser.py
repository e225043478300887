"""The browser of one conversation: begun with the first page, its tabs by names that are never given out twice."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from angelia.browsers.address import RemoteAddress
from angelia.browsers.chromium.cdp import CdpConnection, ProtocolError
from angelia.browsers.chromium.given_secrets import GivenSecrets
from angelia.browsers.control import PageControl
from angelia.browsers.cookies import cookies_for
from angelia.browsers.logins import KeptLogins
from angelia.browsers.origins import origin
from angelia.browsers.port import ActFailed, ActOutcome, BrowserGone
from angelia.sandboxes.egress.addresses import Addresses

if TYPE_CHECKING:
    from angelia.browsers.chromium.display import Display
    from angelia.browsers.chromium.downloads import Downloaded, Downloads
    from angelia.browsers.chromium.launch import RunningChromium
    from angelia.browsers.chromium.live_browser import LiveBrowser
    from angelia.browsers.chromium.own_context import OwnContext
    from angelia.browsers.chromium.remote_downloads import RemoteDownloads
    from angelia.browsers.chromium.tab import Tab
    from angelia.browsers.chromium.uploads import FileAtPath, FileInPieces
    from angelia.browsers.chromium.wall import NoWall

MOST_TABS = 12
MOST_ELSEWHERE = 50_000_000
"""Bytes of a file that a browser without a wall is given: there it is held in memory until the page has it."""


class ChromiumBrowser:
    """One Chromium with a profile in memory, which ends with it. `addresses` says what its pages may reach."""

    def __init__(
        self, addresses: Addresses, display: "Display | None" = None, remote: RemoteAddress | None = None
    ) -> None:
        """Nothing is started yet. Its window is on `display`, for a person; without one it has none.

        With `remote` it is a part of the browser that runs there.
        """
        self._addresses, self._display = addresses, display
        self._remote = remote
        self._running: RunningChromium | OwnContext | None = None
        self._starting = asyncio.Lock()
        self._numbers = 0
        self._tabs: dict[str, Tab] = {}
        self._attaching: set[asyncio.Task[None]] = set()
        self._downloads: Downloads | RemoteDownloads | None = None
        self._given = GivenSecrets()
        self._watched: list[LiveBrowser] = []
        self._own = asyncio.Lock()
        self._unshown: set[str] = set()
        self._asked_for: set[str] = set()
        self._beginning: set[str] = set()
        self.control = PageControl()
        self._current = ""
        self.life = 0
        """How often it was begun: what it knew went with the life before."""

    @property
    def elsewhere(self) -> str:
        """Where it runs, as it may be shown, if somebody else has started it; else empty."""
        return self._remote.shown if self._remote else ""

    async def no_wall(self) -> "NoWall | None":
        """Why one that we start has no wall around it, where it has none."""
        if self._remote:
            return None
        from angelia.browsers.chromium.wall import no_wall

        return await asyncio.to_thread(no_wall)

    def permit(self, origin: str) -> None:
        """Somebody has said yes to pages of this site; it counts where nothing but that holds them."""
        if self._running is not None and self._running.rules is not None:
            self._running.rules.opened.add(origin)

    @property
    def tabs(self) -> "dict[str, Tab]":
        """The open tabs by their names."""
        return self._tabs

    @property
    def current(self) -> str:
        """The tab that was used last; empty if none is open."""
        return self._current

    def tab(self, name: str = "") -> "Tab":
        """A tab by its name; without one the tab that was used last.

        Raises:
            ActFailed: there is none.
        """
        wanted = name or self.current
        if wanted in self._tabs:
            self._use(wanted)
            return self._tabs[wanted]
        there = f"There are {', '.join(self._tabs)}." if self._tabs else "Open a page first, with `browser_open`."
        raise ActFailed(ActOutcome.GONE, f"There is no tab {name}. {there}" if name else there)

    async def opened(self, name: str = "") -> "Tab":
        """The tab of this name, or the one that was used last; `new`, having none, and its crash make one.

        Raises:
            BrowserMissing: there is no browser to start.
            BrowserGone: it ends at once.
            ActFailed: no such tab, or too many.
        """
        if self._running is not None and self._running.cdp.gone.done():
            await self.close()  # it died; what it had open is lost, and was told of
        if name != "new" and (name or self._tabs):
            tab = self.tab(name)
            if not tab.crashed and not tab.stuck:
                return tab
            await self.close_tab(tab.name)  # its process has ended or does not answer, and nothing loads in it any more
        if len(self._tabs) >= MOST_TABS:
            raise ActFailed(ActOutcome.UNFIT, f"{MOST_TABS} tabs are open already: close one first.")
        running = await self._started()
        async with self._own:
            asked = {"url": "about:blank", **self._within}
            target = str((await running.cdp.call("Target.createTarget", asked))["targetId"])
            self._asked_for.add(target)
        if running.context:  # of targets in such a browser nobody is told
            await self._attach({"targetId": target})
            if target not in {tab.target for tab in self._tabs.values()}:
                raise BrowserGone("The browser closed the tab while it was opened.")
        while target not in {tab.target for tab in self._tabs.values()}:
            await asyncio.gather(*self._attaching)
            await asyncio.sleep(0)
            if running.cdp.gone.done():
                raise BrowserGone("The browser ended while a tab was opened.")
        self._use(next(one for one, tab in self._tabs.items() if tab.target == target))
        if len(self._tabs) == 1 and not running.context:
            await self._close_first(running.cdp)
        return self._tabs[self.current]

    @property
    def _within(self) -> dict[str, str]:
        """What confines a question to the part of the browser that is ours."""
        context = self._running.context if self._running is not None else ""
        return {"browserContextId": context} if context else {}

    async def _close_first(self, cdp: CdpConnection) -> None:
        """Close the empty page with which it begins: nobody asked for it, and it holds a process of its own."""
        known = {tab.target for tab in self._tabs.values()}
        for there in (await cdp.call("Target.getTargets"))["targetInfos"]:
            if there["type"] == "page" and there["targetId"] not in known and there["url"] == "about:blank":
                await cdp.call("Target.closeTarget", {"targetId": there["targetId"]})

    async def close_tab(self, name: str) -> None:
        """Close one.

        Raises:
            ActFailed: there is none of this name.
        """
        tab = self.tab(name)
        await tab.close()
        self._forget(tab.target)

    async def download(self, tab: "Tab", ref: str, *, limit: int, progress: Callable[[str], None]) -> "Downloaded":
        """The file that comes of a click at `ref`.

        Raises:
            ActFailed: none came whole; see `Downloads.take` and `RemoteDownloads.take`.
            BrowserGone: it has ended.
        """
        assert self._downloads is not None  # a page is open
        return await self._downloads.take(tab, ref, limit=limit, progress=progress)

    async def lay_in(self, content: AsyncIterator[bytes], name: str, size: int) -> "FileAtPath | FileInPieces":
        """A file of `size` bytes as a page may be given it.

        Raises:
            ActFailed: it is too large for a browser that shares no folder with us.
        """
        from angelia.browsers.chromium.uploads import FileAtPath, FileInPieces

        assert self._running is not None  # a page is open
        if self._running.folders is not None:
            return FileAtPath(await self._running.folders.put(content, name))
        if size > MOST_ELSEWHERE:
            most = f"{MOST_ELSEWHERE / 1e6:.0f} MB"
            kind = f"a browser that runs elsewhere ({self.elsewhere})" if self._remote else "a browser without a wall"
            why = f"{name} is {size / 1e6:.0f} MB, and {kind} is given {most}"
            raise ActFailed(ActOutcome.UNFIT, f"{why} at most. Hand the page over to the user for it.")
        return FileInPieces(name, content)

    async def log_in(self, origins: Sequence[str], logins: KeptLogins) -> None:
        """Put kept logins of these sites into the browser, which runs.

        Raises:
            ActFailed: a script of the model's has run there, and might read them out.
        """
        from angelia.browsers.chromium.site_storage import put_storage

        assert self._running is not None
        if self._given.scripted & {*origins, ""}:
            why = f"A script of yours has run in a page of {', '.join(origins)}, and might read logins out."
            raise ActFailed(ActOutcome.REFUSED, f"{why} They are used in a conversation that runs none there.")
        self._given.logged_in.update(origins)
        told = [cookie.told() for cookie in logins.cookies]
        await self._running.cdp.call("Storage.setCookies", {"cookies": told, **self._within})
        if stored := [one for one in logins.storage if one.origin in origins]:
            async with self._unshown_page(self._running.cdp) as session:
                for one in stored:
                    await put_storage(self._running.cdp, session, one)

    @asynccontextmanager
    async def _unshown_page(self, cdp: CdpConnection) -> AsyncIterator[str]:
        """A page of ours that is no tab, by its session."""
        asked = {"url": "about:blank", "background": True, **self._within}
        try:
            async with self._own:
                target = str((await cdp.call("Target.createTarget", asked))["targetId"])
                self._unshown.add(target)
            yield (await cdp.call("Target.attachToTarget", {"targetId": target, "flatten": True}))["sessionId"]
            await cdp.call("Target.closeTarget", {"targetId": target})
        except ProtocolError as error:
            raise ActFailed(ActOutcome.UNFIT, f"The browser does not take the logins: {error}.") from error

    async def logins(self, origins: Sequence[str], before: KeptLogins) -> KeptLogins:
        """What these sites have now in cookies, and in storage where a page of theirs is open; the rest as `before`.

        Raises:
            BrowserGone: it has ended.
        """
        from angelia.browsers.chromium.site_storage import storage_of

        if self._running is None:
            raise BrowserGone("The browser has ended.")
        cookies = cookies_for((await self._running.cdp.call("Storage.getCookies", self._within))["cookies"], origins)
        found = [await storage_of(tab) for tab in [*self._tabs.values()] if origin(tab.url) in origins]
        return before.became(cookies, {one.origin: one for one in found if one is not None and one.origin in origins})

    async def watch(self) -> "LiveBrowser":
        """Its pages as somebody sees them who watches, from the tab on that was used last.

        Raises:
            ActFailed: there is none, or it is gone again.
        """
        from angelia.browsers.chromium.live_browser import LiveBrowser

        self.tab()
        assert self._running is not None  # a page is open
        watched = LiveBrowser(self._running.cdp, self, self.control)
        self._watched = [one for one in self._watched if not one.ended] + [watched]
        try:
            await watched.begin()
        except BaseException:
            await asyncio.shield(watched.close())
            raise
        return watched

    def _use(self, name: str) -> None:
        """That is the tab that was used last now."""
        if name != self._current:
            self._current = name
            self._tell_watchers()

    def _tell_watchers(self, came: str = "") -> None:
        for watched in self._watched:
            watched.tabs_changed(came)

    def refused(self) -> list[str]:
        """What its pages were not let through to since the last time, in sentences."""
        if self._running is None:
            return []
        said = list(self._running.refusals.values())
        self._running.refusals.clear()
        return said

    async def close(self) -> None:
        """End it, and wait until nothing of it is left. Idempotent."""
        running, self._running = self._running, None
        self._tabs.clear()
        self._watched.clear()
        self.control.handed_back()
        self._current = ""
        if running is not None:
            await running.close()

    async def _started(self) -> "RunningChromium | OwnContext":
        async with self._starting:
            if self._running is None:
                walled = not self._remote and (self._display is not None or await self.no_wall() is None)
                self._running = await (self._launched() if walled else self._unwalled())
                self.life += 1
            return self._running

    async def _launched(self) -> "RunningChromium":
        from angelia.browsers.chromium.downloads import Downloads  # what it takes is loaded with the first page
        from angelia.browsers.chromium.launch import start_chromium

        running = await start_chromium(self._addresses, self._display)
        self._downloads = taken = Downloads(running.cdp, running.folders, running.refusals.__setitem__)
        running.cdp.listen("", self._hear)
        await taken.begin()
        await running.cdp.call("Target.setDiscoverTargets", {"discover": True})
        return running

    async def _unwalled(self) -> "OwnContext":
        from angelia.browsers.chromium.remote import connect_remote
        from angelia.browsers.chromium.remote_downloads import RemoteDownloads
        from angelia.browsers.chromium.unwalled import start_unwalled

        ours = await (
            connect_remote(self._remote, self._addresses) if self._remote else start_unwalled(self._addresses)
        )
        self._downloads = RemoteDownloads(ours.cdp, ours.rules)
        ours.cdp.listen("", self._hear)
        return ours

    def _hear(self, method: str, params: dict[str, Any]) -> None:
        match method:
            case "Target.targetCreated" if params["targetInfo"]["type"] == "page":
                task = asyncio.get_running_loop().create_task(self._attach(params["targetInfo"]))
                self._attaching.add(task)
                task.add_done_callback(self._attaching.discard)
            case "Target.detachedFromTarget" if self._within:  # of a target's end nobody else tells us there
                for tab in [one for one in self._tabs.values() if one.frames.page.session == params["sessionId"]]:
                    self._forget(tab.target)
            case "Target.targetDestroyed":
                self._forget(str(params["targetId"]))
            case "Browser.downloadWillBegin" | "Browser.downloadProgress" if self._downloads:
                self._downloads.hear(method, params)
            case _:
                pass

    async def _attach(self, target: dict[str, Any]) -> None:
        """A tab that we asked for, or that a page has opened. The one that a browser begins with is not shown."""
        running = self._running
        async with self._own:  # a page of our own is known as such once its making is answered
            pass
        identity = str(target["targetId"])
        if running is None or target.get("attached") or identity in self._unshown:
            return
        if identity not in self._asked_for and len(self._tabs) + len(self._beginning) >= MOST_TABS:
            running.refusals.setdefault("window", f"a window of its own: {MOST_TABS} tabs are open, close one first")
            with suppress(ProtocolError, ActFailed, BrowserGone):
                await running.cdp.call("Target.closeTarget", {"targetId": identity})
            return
        self._beginning.add(identity)
        try:
            await self._begin_tab(running, identity)
        finally:
            self._beginning.discard(identity)

    async def _begin_tab(self, running: "RunningChromium | OwnContext", target: str) -> None:
        from angelia.browsers.chromium.tab import Tab

        with suppress(ProtocolError, ActFailed, BrowserGone):  # it was gone again before it could be spoken to
            asked = {"targetId": target, "flatten": True}
            session = (await running.cdp.call("Target.attachToTarget", asked))["sessionId"]
            self._numbers += 1
            tab = Tab(running.cdp, session, target, f"t{self._numbers}", self._given, running.rules)
            await tab.begin()
            self._tabs[tab.name] = tab
            self._tell_watchers(tab.name)

    def _forget(self, target: str) -> None:
        self._asked_for.discard(target)
        for name in [name for name, tab in self._tabs.items() if tab.target == target]:
            del self._tabs[name]
            if self._current == name:
                self._current = next(reversed(self._tabs), "")
            self._tell_watchers()
