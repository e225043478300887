"""One tab, in which every act comes to an outcome of the closed list within its time."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from angelia.browsers.chromium.cdp import CdpConnection, ProtocolError
from angelia.browsers.chromium.console import Console
from angelia.browsers.chromium.dialog import Dialog
from angelia.browsers.chromium.elements import js, must_take, said
from angelia.browsers.chromium.frames import Frame, Frames
from angelia.browsers.chromium.given_secrets import GivenSecrets
from angelia.browsers.chromium.keys import key_events
from angelia.browsers.chromium.loading import Loading
from angelia.browsers.chromium.looking import looked
from angelia.browsers.chromium.secret_fields import SecretFields
from angelia.browsers.chromium.uploads import FileAtPath, FileChoosers, FileInPieces
from angelia.browsers.origins import origin
from angelia.browsers.port import ActFailed, ActOutcome
from angelia.browsers.snapshot import PageLook, read_look
from angelia.core.crash import crash_point
from angelia.core.text import clean, one_line

if TYPE_CHECKING:
    from angelia.browsers.chromium.request_rules import RequestRules

T = TypeVar("T")

LOADED_S = 30.0
"""Until a page must have begun to show itself."""
ANSWER_S = 15.0
"""Until a page must have answered; one whose scripts are busy for longer is taken for stuck."""
QUIET_S, SETTLED_S = 0.15, 5.0
"""An act is over once nothing has been loading for so long; and after that long in any case."""
_DOMAINS = ("Page", "Runtime", "Network", "Inspector", "Log")
_FRAMES = {"autoAttach": True, "flatten": True, "filter": [{"type": "iframe"}]}


class Tab:
    """One page at a time, in a session of its own."""

    def __init__(
        self,
        cdp: CdpConnection,
        session: str,
        target: str,
        name: str,
        given: GivenSecrets,
        rules: "RequestRules | None" = None,
    ) -> None:
        """`rules` decide what it asks for, where nothing outside of the browser does."""
        self.target, self.name = target, name
        self.url, self._loader = "about:blank", ""
        self.dialog: Dialog | None = None
        self.seen: PageLook | None = None
        self._cdp, self._session = cdp, session
        self.frames = Frames(target, session, self._call, self._unless_held_up, given)
        self.secrets = SecretFields(self.frames, given)
        self._given, self._rules = given, rules
        self.console = Console(given)
        self._crashed: set[str] = set()
        self.stuck = False
        """Whether the page's process gave no answer when it was last asked."""
        self._loading = Loading(self.frames)
        self._news = asyncio.Event()
        self._told: list[Callable[[], None]] = []
        self._choosers = FileChoosers(self._call, self._news_or)
        self._attaching: set[asyncio.Task[None]] = set()

    @property
    def crashed(self) -> bool:
        """Whether the page's own process has ended."""
        return self._session in self._crashed

    async def begin(self) -> None:
        """Have the browser tell what happens.

        Raises:
            ProtocolError, ActFailed: it is gone again, or what it asks for could not be held.
        """
        if self._rules is not None:
            await self._rules.hold(self._session)
        await self._begin(self._session)

    async def _begin(self, session: str) -> None:
        self._cdp.listen(session, partial(self._hear, session))
        with suppress(ProtocolError, ActFailed):  # a frame may be gone again; of the page whoever asks next hears it
            if self._rules is not None and session != self._session:
                await self._rules.hold(session)
            for domain in _DOMAINS:
                await self._cdp.call(f"{domain}.enable", session=session)
            waits = {"waitForDebuggerOnStart": self._rules is not None}
            await self._cdp.call("Target.setAutoAttach", _FRAMES | waits, session=session)
            if self._rules is not None:
                await self._cdp.call("Runtime.runIfWaitingForDebugger", session=session)
            await self._before_we_listened(session)

    async def _before_we_listened(self, session: str) -> None:
        """Learn where a frame, or a page that another one has opened, had gone before, and whether it is there."""
        there = (await self._cdp.call("Page.getFrameTree", session=session))["frameTree"]["frame"]
        if session == self._session:
            self.url = str(there["url"])
        else:
            self.frames.navigated(str(there["id"]), str(there["url"]))
        asked = {"expression": "document.readyState", "returnByValue": True}
        ready = (await self._cdp.call("Runtime.evaluate", asked, session=session))["result"].get("value")
        if ready != "complete":
            self._loading.begin(session, str(there["id"]))

    # -- what is done -----------------------------------------------------------------------------------------------

    async def go(self, url: str) -> None:
        """Load an address.

        Raises:
            ActFailed: it could not be loaded, or did not in time; or the page asks something. `CRASHED` is told of the
                page before alone: of one that ends its own process whoever looks at it hears it.
        """
        self.frames.page.moved()
        crash_point("page.before_open")
        answer = await self.unless_asked(self._begins(url))
        if failure := answer.get("errorText"):
            if failure == "net::ERR_ABORTED":  # perhaps by the end of the page's process, of which one hears later
                await self.unless_asked(self._call("Runtime.evaluate", {"expression": "0"}))
            raise ActFailed(ActOutcome.NOT_LOADED, f"{url} could not be loaded: {failure}.")
        crash_point("page.opened")
        await self._loaded()
        if self.crashed and self._loader != answer.get("loaderId"):
            raise _crashed()  # the process of the page before, in which this one would have been shown

    async def _begins(self, url: str) -> dict[str, Any]:
        try:
            return await self._call("Page.navigate", {"url": url}, seconds=LOADED_S)
        except ActFailed as failed:
            if failed.outcome is not ActOutcome.TIMED_OUT:
                raise
            why = f"{url} has shown nothing within {LOADED_S:g} s, and is still awaited. Look again, or go elsewhere."
            raise ActFailed(ActOutcome.TIMED_OUT, why) from failed

    async def move(self, by: str) -> None:
        """`back`, `forward` or `reload`.

        Raises:
            ActFailed: there is nowhere to go; or as `go`.
        """
        self.frames.page.moved()
        if by == "reload":
            await self.unless_asked(self._call("Page.reload"))
        else:
            history = await self._call("Page.getNavigationHistory")
            wanted = int(history["currentIndex"]) + (-1 if by == "back" else 1)
            if not 0 <= wanted < len(history["entries"]):
                raise ActFailed(ActOutcome.NOT_LOADED, f"There is no page to go {by} to.")
            entry = history["entries"][wanted]["id"]
            await self.unless_asked(self._call("Page.navigateToHistoryEntry", {"entryId": entry}))
        await self._loaded()

    async def look(self, *, whole: bool = False, under: str = "") -> PageLook:
        """What a person would see now; all of the page with `whole`, or one element of it."""
        if self._attaching:
            await asyncio.wait(self._attaching, timeout=SETTLED_S)
        told = await looked(self.frames, whole=whole, under=under)
        look = replace(read_look(told), loading=self._loading.page_for(asyncio.get_running_loop().time()))
        if not whole and not under:
            self.seen = look
        return look

    async def click(self, ref: str, *, count: int = 1, button: str = "left") -> None:
        """Point at an element and press, if nothing lies over it."""
        x, y = await self._pointed(ref)
        press = {"button": button, "clickCount": count}
        await self.unless_asked(self._mouse("mousePressed", x, y, **press))
        await self.unless_asked(self._mouse("mouseReleased", x, y, **press))

    async def hover(self, ref: str) -> None:
        """Point at an element."""
        await self._pointed(ref)

    async def drag(self, ref: str, to: str) -> None:
        """Press at one element, and let go at another."""
        x, y = await self._pointed(ref)
        await self._mouse("mousePressed", x, y, button="left", clickCount=1)
        to_x, to_y = await self._point(to, ref)
        for step in range(1, 6):
            at_x, at_y = x + (to_x - x) * step / 5, y + (to_y - y) * step / 5
            await self._mouse("mouseMoved", at_x, at_y, button="left", buttons=1)
        await self._mouse("mouseReleased", to_x, to_y, button="left", clickCount=1)

    async def fill(self, ref: str, text: str) -> None:
        """Put text in place of what stands in a field."""
        told = await self.frames.ask_once(self.frames.of(ref), "fill", ref, text)
        must_take(ref, told)
        if told.get("taken"):
            why = f"The page has taken the focus away from {ref}; nothing was typed. Look again."
            raise ActFailed(ActOutcome.REFUSED, why)
        if kind := told.get("unfit"):
            why = f"{ref} is a {one_line(clean(str(kind)), 60)}, which takes no words; nothing was typed."
            raise ActFailed(ActOutcome.UNFIT, why)

    async def choose(self, ref: str, wanted: str) -> None:
        """Choose an option by its words or value."""
        told = await said(self.frames, f"choose({js(ref)}, {js(wanted)})", ref)
        if "unlike" in told:
            raise ActFailed(ActOutcome.UNFIT, f"{ref} is a {told['unlike']} and has no options to choose; click it.")
        if "none" in told:
            there = ", ".join(map(str, told["none"]))
            raise ActFailed(ActOutcome.UNFIT, f"{ref} has no option {wanted!r}. It has: {there}.")

    async def press(self, keys: str, ref: str = "") -> None:
        """A key, or several held together (`Control+a`), at an element or wherever the page itself has its focus."""
        if ref:
            await said(self.frames, f"focus({js(ref)})", ref)
        session = await self.frames.keys_go_to(ref)
        for event in key_events(keys):
            await self.unless_asked(self._call("Input.dispatchKeyEvent", event, session=session))

    async def scroll(self, pages: float, ref: str = "") -> int:
        """Scroll by so many views (negative: up), the page or an element; returns the pixels that it moved."""
        return int((await said(self.frames, f"scroll({js(ref)}, {pages})", ref)).get("moved", 0))

    async def wait_for(self, text: str, seconds: float) -> None:
        """Until these words stand on the page."""
        until = asyncio.get_running_loop().time() + seconds
        while not await self._shows(text):
            if asyncio.get_running_loop().time() > until:
                raise ActFailed(ActOutcome.TIMED_OUT, f"{text!r} did not appear within {seconds:g} s.")
            await self._news_or(0.1)

    async def _shows(self, text: str) -> bool:
        for frame in self.frames.known():
            with suppress(ActFailed):
                if await self.frames.evaluate(frame, f"angeliaPage.shows({js(text)})"):
                    return True
        return False

    async def upload(self, ref: str, file: FileAtPath | FileInPieces, size: int) -> None:
        """Give a file of `size` bytes to what asks for one when it is clicked.

        Raises:
            ActFailed: nothing asks for a file, or the page has taken another number of bytes.
        """
        sessions = {self._session, self.frames.of(ref).session}
        taken = await self._choosers.give(ref, sessions, lambda: self.click(ref), file)
        if taken != [size]:
            raise ActFailed(ActOutcome.NOT_LOADED, f"The page has taken {taken} bytes of a file of {size}.")

    async def answer(self, *, accept: bool, text: str = "") -> None:
        """Answer the page's dialog."""
        if self.dialog is None:
            raise ActFailed(ActOutcome.UNFIT, "The page asks nothing.")
        self.dialog = None
        await self._call("Page.handleJavaScriptDialog", {"accept": accept, "promptText": text})

    async def script(self, code: str, ref: str = "") -> Any:
        """What `code` returns in the page; see `Frames.run`.

        Raises:
            ActFailed: as there; or it could read out a secret.
        """
        self.secrets.before_script(self.frames.origin_of(ref) or origin(self.url))
        return await self.frames.run(ref, code)

    async def cookies(self) -> str:
        """Those that the page's requests carry: names, sites and how long they last, without what they say."""
        found = (await self._call("Network.getCookies"))["cookies"]
        lasts = {True: "until the browser ends", False: "kept"}
        lines = [f"{one['name']} of {one['domain']}, {lasts[bool(one['session'])]}" for one in found]
        return "\n".join(one_line(clean(line), 200) for line in lines) or "(no cookies)"

    async def picture(self, *, whole: bool = False, ref: str = "") -> bytes:
        """What it looks like, as WebP: the view, an element, or the whole length (at most 10,000 px)."""
        asked: dict[str, Any] = {"format": "webp", "quality": 80}
        if ref:
            await self._point(ref)
            asked["clip"] = {**await self._box(ref), "scale": 1}
        elif whole:
            size = (await self._call("Page.getLayoutMetrics"))["cssContentSize"]
            height = min(float(size["height"]), 10_000.0)
            asked |= {"captureBeyondViewport": True}
            asked["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1}
        async with self.secrets.masked():
            answer = await self.unless_asked(self._call("Page.captureScreenshot", asked, seconds=30.0))
        return base64.b64decode(answer["data"])

    async def _box(self, ref: str) -> dict[str, float]:
        """Where an element stands in the page."""
        frame: Frame | None = self.frames.of(ref)
        box = dict(await said(self.frames, f"box({js(ref)})", ref))
        while frame is not None:
            begins = await said(self.frames, f"begins({js(frame.held_by)})", ref, frame.parent or frame)
            box["x"] += begins["x"]
            box["y"] += begins["y"]
            frame = frame.parent
        return box

    def on_change(self, told: Callable[[], None]) -> Callable[[], None]:
        """Call `told` when the page moves, or asks something; returns what ends that."""
        self._told.append(told)
        return lambda: self._told.remove(told)

    async def close(self) -> None:
        """Close it, whatever the page says to that."""
        with suppress(ProtocolError, ActFailed):
            await self._cdp.call("Target.closeTarget", {"targetId": self.target})

    # -- waiting ----------------------------------------------------------------------------------------------------

    async def settled(self) -> None:
        """Until nothing has been loading for a moment, or the page asks something; never longer than some seconds."""
        loop = asyncio.get_running_loop()
        until, quiet_since = loop.time() + SETTLED_S, loop.time()
        while self.dialog is None and not self.crashed and loop.time() < until:
            if self._attaching or self._loading.busy(loop.time()):
                quiet_since = loop.time()
            elif loop.time() - quiet_since >= QUIET_S:
                return
            await self._news_or(QUIET_S)

    async def _loaded(self) -> None:
        await self.settled()
        if self.dialog is not None:
            raise self._asks(self.dialog)

    def _asks(self, dialog: Dialog) -> ActFailed:
        return ActFailed(ActOutcome.DIALOG_OPEN, f"{dialog}. Answer it with a `dialog` step.")

    async def _news_or(self, seconds: float) -> None:
        self._news.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()

    async def unless_asked(self, doing: Awaitable[T]) -> T:
        """What comes of it; a dialog holds up every answer until it is answered itself, so it is the answer."""
        return await self._unless(doing, lambda: None)

    async def _unless_held_up(self, doing: Awaitable[T]) -> T:
        """The same for what is asked of the page's own process, which another page that is awaited holds up, too."""
        return await self._unless(doing, lambda: self._loading.patience(asyncio.get_running_loop().time()))

    async def _unless(self, doing: Awaitable[T], patience: Callable[[], float | None]) -> T:
        task = asyncio.ensure_future(doing)
        try:
            while not task.done():
                self._news.clear()
                if self.dialog is not None:
                    raise self._asks(self.dialog)
                if (left := patience()) == 0:
                    raise self._loading.awaited(asyncio.get_running_loop().time())
                news = asyncio.ensure_future(self._news.wait())
                try:
                    await asyncio.wait({task, news}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    news.cancel()
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # it was looked at, whatever we end with

    # -- the page ---------------------------------------------------------------------------------------------------

    async def _point(self, ref: str, held: str = "") -> tuple[float, float]:
        """Where to point in the view, with the frames around it scrolled to it; `held` is what is dragged there."""
        frame = self.frames.of(ref)
        before: tuple[float, float] | None = None
        for _ in range(10):  # what scrolls in one process moves in another, and is pointed at, a moment later
            x, y = self._free(ref, await said(self.frames, f"at({js(ref)}, {js(held)})", ref))
            at = frame
            while at.parent is not None:
                asked = f"through({js(at.held_by)}, {x}, {y})"
                x, y = self._free(ref, await said(self.frames, asked, ref, at.parent))
                at = at.parent
            if frame is self.frames.page or before == (x, y):
                break
            before = x, y
            await asyncio.sleep(0.05)
        return x, y

    async def _pointed(self, ref: str) -> tuple[float, float]:
        """Point at an element; where. In a frame the browser may still send the pointer to where things were before
        they were scrolled, so it is pointed again until the element is under it.
        """
        for _ in range(20):
            x, y = await self._point(ref)
            await self._mouse("mouseMoved", x, y)
            within_page = self.frames.of(ref) is self.frames.page
            if within_page or (await said(self.frames, f"hovered({js(ref)})", ref))["hovered"]:
                break
            await asyncio.sleep(0.05)
        return x, y

    def _free(self, ref: str, told: dict[str, Any]) -> tuple[float, float]:
        if by := told.get("covered"):
            raise ActFailed(ActOutcome.COVERED, f"{ref} is covered by {by}: act on that, or close it first.")
        return float(told["x"]), float(told["y"])

    async def _mouse(self, kind: str, x: float, y: float, **more: object) -> dict[str, Any]:
        return await self._call("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})

    async def _call(
        self, method: str, params: dict[str, Any] | None = None, *, session: str = "", seconds: float = 0.0
    ) -> dict[str, Any]:
        """What the page answers within `seconds`, 0 for as many as any answer may take: then its process is well, where
        a server's answer or a script of the model's takes longer.
        """
        session = session or self._session
        if session in self._crashed:
            raise _crashed()
        try:
            answer = await self._cdp.call(method, params, session=session, seconds=seconds or ANSWER_S)
        except ActFailed as failed:
            if failed.outcome is not ActOutcome.TIMED_OUT or seconds:
                raise
            self.stuck = True
            why = f"The page has not answered for {ANSWER_S:g} s: its scripts may be busy."
            raise ActFailed(ActOutcome.TIMED_OUT, f"{why} Look again, or open a page: it gets a new tab.") from failed
        self.stuck = False
        return answer

    # -- what the browser tells -------------------------------------------------------------------------------------

    def _hear(self, session: str, method: str, params: dict[str, Any]) -> None:
        if self._rules is not None and self._rules.hear(session, self.frames.page.identity, method, params):
            return
        if self._loading.hear(session, method, params):
            self._news.set()
            return
        if self.console.hear(method, params):
            return
        match method:
            case "Page.frameNavigated":
                self._navigated(session, params["frame"])
            case "Page.navigatedWithinDocument" if params["frameId"] == self.frames.page.identity:
                self.url = str(params["url"])
            case "Page.fileChooserOpened" if "backendNodeId" in params:
                self._choosers.opened(session, params)
            case "Page.javascriptDialogOpening":
                self.dialog = Dialog(str(params["type"]), self._given.without(str(params["message"])))
            case "Page.javascriptDialogClosed":
                self.dialog = None
            case "Target.attachedToTarget":
                self._attach(str(params["sessionId"]), params["targetInfo"])
            case "Target.detachedFromTarget":
                self._detach(str(params["sessionId"]))
            case "Inspector.targetCrashed":
                self._crashed.add(session)
                self._cdp.forget(session, _crashed())
            case _:
                return
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        for told in tuple(self._told):
            told()

    def _navigated(self, session: str, frame: dict[str, Any]) -> None:
        if "parentId" in frame or session != self._session:
            self.frames.navigated(str(frame["id"]), str(frame["url"]))
            return
        self.frames.page_moved(str(frame["id"]))
        self.url, self._loader = str(frame["url"]), str(frame["loaderId"])
        self._loading.page_moved(self._loader)
        self.console.page_moved()

    def _attach(self, session: str, target: dict[str, Any]) -> None:
        """A frame has a process of its own."""
        self.frames.attached(str(target["targetId"]), session)
        task = asyncio.get_running_loop().create_task(self._begin(session))
        self._attaching.add(task)
        task.add_done_callback(self._attaching.discard)

    def _detach(self, session: str) -> None:
        self.frames.detached(session)
        self._crashed.discard(session)
        self._cdp.forget(session, ActFailed(ActOutcome.GONE, "The frame has moved on. Look again."))
        self._loading.forget(session)


def _crashed() -> ActFailed:
    return ActFailed(ActOutcome.CRASHED, "The page's process has ended. Open it again.")
