"""One tab, in which every act comes to an outcome of the closed list within its time."""

import asyncio
import base64
from collections.abc import Awaitable
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from angelia.browsers.chromium.cdp import CdpConnection, ProtocolError
from angelia.browsers.chromium.keys import key_events
from angelia.browsers.port import ActFailed, ActOutcome
from angelia.browsers.snapshot import PageLook, read_look
from angelia.core.text import clean, one_line

T = TypeVar("T")

LOADED_S = 30.0
"""Until a page must have begun to show itself."""
QUIET_S, SETTLED_S = 0.15, 5.0
"""An act is over once nothing has been loading for so long; and after that long in any case."""
_WORLD = "angelia"
_POINTED = frozenset({"click", "mousedown", "mouseup", "pointerdown", "pointerup", "touchstart", "dblclick"})
_MOST_LISTENERS = 3000
"""Elements that are asked after at one look; the others come with the next."""


class Dialog:
    """A question of the page's that stops it until it is answered."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind, self.message = kind, message

    def __str__(self) -> str:
        return f"The page asks ({self.kind}): {one_line(clean(self.message), 300)}"


class Tab:
    """One page at a time, in a session of its own."""

    def __init__(self, cdp: CdpConnection, session: str, target: str, name: str) -> None:
        self.target, self.name = target, name
        self.url = "about:blank"
        self.dialog: Dialog | None = None
        self.crashed = False
        self.seen: PageLook | None = None
        self._cdp, self._session = cdp, session
        self._frame = target
        self._world: int | None = None
        self._marked: set[int] = set()
        self._loading: set[str] = set()
        self._news = asyncio.Event()
        self._last_ref = 0
        self._choosers: list[int] = []
        cdp.listen(session, self._hear)

    async def begin(self) -> None:
        """Have the browser tell what happens."""
        for domain in ("Page", "Runtime", "Network", "Inspector"):
            await self._cdp.call(f"{domain}.enable", session=self._session)

    # -- what is done -----------------------------------------------------------------------------------------------

    async def go(self, url: str) -> None:
        """Load an address.

        Raises:
            ActFailed: it could not be loaded, or did not in time; or the page asks something.
        """
        self._world = None
        answer = await self._unless_asked(self._call("Page.navigate", {"url": url}, LOADED_S))
        if failure := answer.get("errorText"):
            raise ActFailed(ActOutcome.NOT_LOADED, f"{url} could not be loaded: {failure}.")
        await self._loaded()

    async def move(self, by: str) -> None:
        """`back`, `forward` or `reload`.

        Raises:
            ActFailed: there is nowhere to go; or as `go`.
        """
        self._world = None
        if by == "reload":
            await self._unless_asked(self._call("Page.reload"))
        else:
            history = await self._call("Page.getNavigationHistory")
            wanted = int(history["currentIndex"]) + (-1 if by == "back" else 1)
            if not 0 <= wanted < len(history["entries"]):
                raise ActFailed(ActOutcome.NOT_LOADED, f"There is no page to go {by} to.")
            entry = history["entries"][wanted]["id"]
            await self._unless_asked(self._call("Page.navigateToHistoryEntry", {"entryId": entry}))
        await self._loaded()

    async def look(self, *, whole: bool = False, under: str = "") -> PageLook:
        """What a person would see now; all of the page with `whole`, or one element of it."""
        await self._mark_listeners()
        told = await self._said(f"look({str(whole).lower()}, {_js(under)})", under)
        look = read_look(told)
        self._last_ref = max(self._last_ref, int(told.get("last", 0)))
        if not whole and not under:
            self.seen = look
        return look

    async def click(self, ref: str, *, count: int = 1, button: str = "left") -> None:
        """Point at an element and press, if nothing lies over it."""
        x, y = await self._point(ref)
        await self._mouse("mouseMoved", x, y)
        press = {"button": button, "clickCount": count}
        await self._unless_asked(self._mouse("mousePressed", x, y, **press))
        await self._unless_asked(self._mouse("mouseReleased", x, y, **press))

    async def hover(self, ref: str) -> None:
        """Point at an element."""
        x, y = await self._point(ref)
        await self._mouse("mouseMoved", x, y)

    async def drag(self, ref: str, to: str) -> None:
        """Press at one element, and let go at another."""
        x, y = await self._point(ref)
        await self._mouse("mouseMoved", x, y)
        await self._mouse("mousePressed", x, y, button="left", clickCount=1)
        to_x, to_y = await self._point(to)
        for step in range(1, 6):
            at_x, at_y = x + (to_x - x) * step / 5, y + (to_y - y) * step / 5
            await self._mouse("mouseMoved", at_x, at_y, button="left", buttons=1)
        await self._mouse("mouseReleased", to_x, to_y, button="left", clickCount=1)

    async def fill(self, ref: str, text: str) -> None:
        """Put text in place of what stands in a field."""
        told = await self._said(f"focus({_js(ref)}, true)", ref)
        if not told.get("typed"):
            await self._said(f"set({_js(ref)}, {_js(text)})", ref)
        elif text:
            await self._unless_asked(self._call("Input.insertText", {"text": text}))
        else:
            await self.press("Delete")

    async def focus(self, ref: str) -> None:
        """Have the keys go to an element."""
        await self._said(f"focus({_js(ref)}, false)", ref)

    async def choose(self, ref: str, wanted: str) -> None:
        """Choose an option by its words or value."""
        told = await self._said(f"choose({_js(ref)}, {_js(wanted)})", ref)
        if "unlike" in told:
            raise ActFailed(ActOutcome.UNFIT, f"{ref} is a {told['unlike']} and has no options to choose; click it.")
        if "none" in told:
            there = ", ".join(map(str, told["none"]))
            raise ActFailed(ActOutcome.UNFIT, f"{ref} has no option {wanted!r}. It has: {there}.")

    async def press(self, keys: str) -> None:
        """A key, or several held together (`Control+a`), wherever the page has its focus."""
        for event in key_events(keys):
            await self._unless_asked(self._call("Input.dispatchKeyEvent", event))

    async def scroll(self, pages: float, ref: str = "") -> int:
        """Scroll by so many views (negative: up), the page or an element; returns the pixels that it moved."""
        return int((await self._said(f"scroll({_js(ref)}, {pages})", ref)).get("moved", 0))

    async def wait_for(self, text: str, seconds: float) -> None:
        """Until these words stand on the page."""
        until = asyncio.get_running_loop().time() + seconds
        while not (await self._said(f"({{ found: angeliaPage.shows({_js(text)}) }})", "", raw=True)).get("found"):
            if asyncio.get_running_loop().time() > until:
                raise ActFailed(ActOutcome.TIMED_OUT, f"{text!r} did not appear within {seconds:g} s.")
            await self._news_or(0.1)

    async def upload(self, ref: str, path: str, size: int) -> None:
        """Give a file to what asks for one when it is clicked; `path` is where the browser finds it.

        The input itself need not be on the page: it is whoever opens the chooser.

        Raises:
            ActFailed: nothing asks for a file, or the page has taken another number of bytes.
        """
        self._choosers.clear()
        await self._call("Page.setInterceptFileChooserDialog", {"enabled": True})
        try:
            await self.click(ref)
            until = asyncio.get_running_loop().time() + SETTLED_S
            while not self._choosers:
                if asyncio.get_running_loop().time() > until:
                    raise ActFailed(ActOutcome.UNFIT, f"{ref} does not ask for a file.")
                await self._news_or(QUIET_S)
            node = {"backendNodeId": self._choosers[0]}
            await self._call("DOM.setFileInputFiles", {"files": [path], **node})
            found = (await self._call("DOM.resolveNode", node))["object"]["objectId"]
            sizes = "function() { return [...this.files].map((one) => one.size) }"
            asked = {"functionDeclaration": sizes, "objectId": found, "returnByValue": True}
            taken = (await self._call("Runtime.callFunctionOn", asked))["result"].get("value")
        finally:
            await self._call("Page.setInterceptFileChooserDialog", {"enabled": False})
        if taken != [size]:
            raise ActFailed(ActOutcome.NOT_LOADED, f"The page has taken {taken} bytes of a file of {size}.")

    async def answer(self, *, accept: bool, text: str = "") -> None:
        """Answer the page's dialog."""
        if self.dialog is None:
            raise ActFailed(ActOutcome.UNFIT, "The page asks nothing.")
        self.dialog = None
        await self._call("Page.handleJavaScriptDialog", {"accept": accept, "promptText": text})

    async def picture(self, *, whole: bool = False, ref: str = "") -> bytes:
        """What it looks like, as WebP: the view, an element, or the whole length (at most 10,000 px)."""
        asked: dict[str, Any] = {"format": "webp", "quality": 80}
        if ref:
            await self._point(ref)
            box = await self._said(f"(angeliaPage.box({_js(ref)}))", ref, raw=True)
            asked["clip"] = {**box, "scale": 1}
        elif whole:
            size = (await self._call("Page.getLayoutMetrics"))["cssContentSize"]
            height = min(float(size["height"]), 10_000.0)
            asked |= {"captureBeyondViewport": True}
            asked["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1}
        answer = await self._unless_asked(self._call("Page.captureScreenshot", asked, 30.0))
        return base64.b64decode(answer["data"])

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
            if self._loading:
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

    async def _unless_asked(self, doing: Awaitable[T]) -> T:
        """What comes of it; a dialog holds up every answer until it is answered itself, so it is the answer."""
        task = asyncio.ensure_future(doing)
        try:
            while not task.done():
                self._news.clear()
                if self.dialog is not None:
                    raise self._asks(self.dialog)
                news = asyncio.ensure_future(self._news.wait())
                try:
                    await asyncio.wait({task, news}, return_when=asyncio.FIRST_COMPLETED)
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

    async def _point(self, ref: str) -> tuple[float, float]:
        told = await self._said(f"at({_js(ref)})", ref)
        if by := told.get("covered"):
            raise ActFailed(ActOutcome.COVERED, f"{ref} is covered by {by}: act on that, or close it first.")
        return float(told["x"]), float(told["y"])

    async def _said(self, call: str, ref: str, *, raw: bool = False) -> dict[str, Any]:
        """What our script in the page answers.

        Raises:
            ActFailed: the element is gone, or takes nothing.
        """
        expression = call if raw else f"angeliaPage.{call}"
        told: dict[str, Any] = await self._evaluate(expression)
        if told.get("gone"):
            why = f"{ref} is not on the page any more (or never was): look again for what is there now."
            raise ActFailed(ActOutcome.GONE, why)
        if told.get("disabled"):
            raise ActFailed(ActOutcome.DISABLED, f"{ref} is disabled or read-only: it takes nothing now.")
        return told

    async def _mark_listeners(self) -> None:
        """Tell our script which elements listen to the pointer, though no tag or role says so; each once."""
        with suppress(ProtocolError):  # the page moves on: whoever looks meets it, and looks again
            world = await self._in_page()
            page = await self._unless_asked(
                self._call("Runtime.evaluate", {"expression": "document", "contextId": world, "objectGroup": _WORLD})
            )
            asked = {"objectId": page["result"]["objectId"], "depth": -1, "pierce": True}
            heard = (await self._unless_asked(self._call("DOMDebugger.getEventListeners", asked)))["listeners"]
            fresh = {one["backendNodeId"] for one in heard if one["type"] in _POINTED and "backendNodeId" in one}
            fresh -= self._marked
            nodes = sorted(fresh)[:_MOST_LISTENERS]
            found = await asyncio.gather(*(self._resolved(node, world) for node in nodes))
            self._marked |= set(nodes)
            marking = {
                "functionDeclaration": "function(...all) { all.forEach(angeliaPage.mark) }",
                "executionContextId": world,
                "arguments": [{"objectId": one} for one in found if one],
            }
            if marking["arguments"]:
                await self._unless_asked(self._call("Runtime.callFunctionOn", marking))
            await self._call("Runtime.releaseObjectGroup", {"objectGroup": _WORLD})

    async def _resolved(self, node: int, world: int) -> str:
        """An element in the world of our script; empty if it went meanwhile."""
        asked = {"backendNodeId": node, "executionContextId": world, "objectGroup": _WORLD}
        try:
            return str((await self._call("DOM.resolveNode", asked))["object"].get("objectId", ""))
        except ProtocolError:
            return ""

    async def _evaluate(self, expression: str) -> Any:
        for attempt in (1, 2):
            try:
                world = await self._in_page()
                asked = {
                    "expression": expression,
                    "contextId": world,
                    "returnByValue": True,
                }
                answer = await self._unless_asked(self._call("Runtime.evaluate", asked))
            except ProtocolError as error:
                self._world = None  # the page has moved on meanwhile, and our script with it
                if attempt == 2:
                    raise ActFailed(ActOutcome.NOT_LOADED, f"The page cannot be read now: {error}.") from error
                continue
            if thrown := answer.get("exceptionDetails"):
                said = thrown.get("exception", {}).get("description") or thrown.get("text", "")
                raise ActFailed(ActOutcome.NOT_LOADED, f"The page cannot be read: {one_line(clean(str(said)), 300)}.")
            return answer["result"].get("value")
        raise AssertionError("the second attempt returns or raises")

    async def _in_page(self) -> int:
        """The world in which our script is, put there once for each page."""
        if self._world is None:
            made = await self._unless_asked(
                self._call("Page.createIsolatedWorld", {"frameId": self._frame, "worldName": _WORLD})
            )
            world = int(made["executionContextId"])
            script = {
                "expression": f"({_script()})({self._last_ref + 1})",
                "contextId": world,
                "returnByValue": True,
            }
            await self._unless_asked(self._call("Runtime.evaluate", script))
            self._world, self._marked = world, set()
        return self._world

    async def _mouse(self, kind: str, x: float, y: float, **more: object) -> dict[str, Any]:
        return await self._call("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})

    async def _call(self, method: str, params: dict[str, Any] | None = None, seconds: float = 15.0) -> dict[str, Any]:
        if self.crashed:
            raise _crashed()
        return await self._cdp.call(method, params, session=self._session, seconds=seconds)

    # -- what the browser tells -------------------------------------------------------------------------------------

    def _hear(self, method: str, params: dict[str, Any]) -> None:
        match method:
            case "Network.requestWillBeSent":
                self._loading.add(str(params["requestId"]))
            case "Network.loadingFinished" | "Network.loadingFailed":
                self._loading.discard(str(params["requestId"]))
            case "Page.frameNavigated" if "parentId" not in params["frame"]:
                self._world = None
                self._frame = str(params["frame"]["id"])
                self.url = str(params["frame"]["url"])
                self._loading.clear()
            case "Page.navigatedWithinDocument" if params["frameId"] == self._frame:
                self.url = str(params["url"])
            case "Page.fileChooserOpened" if "backendNodeId" in params:
                self._choosers.append(int(params["backendNodeId"]))
            case "Page.javascriptDialogOpening":
                self.dialog = Dialog(str(params["type"]), str(params["message"]))
            case "Page.javascriptDialogClosed":
                self.dialog = None
            case "Inspector.targetCrashed":
                self.crashed = True
                self._cdp.forget(self._session, _crashed())
            case _:
                return
        self._news.set()


def _crashed() -> ActFailed:
    return ActFailed(ActOutcome.CRASHED, "The page's process has ended. Open it again.")


def origin(url: str) -> str:
    """Scheme, host and port; empty for what has no host, such as `about:blank`.

    >>> origin("https://example.com:8443/a?b"), origin("about:blank")
    ('https://example.com:8443', '')
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.netloc else ""


def _js(text: str) -> str:
    """As a literal of JavaScript."""
    return msgspec.json.encode(text).decode().replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def _script() -> str:
    return files("angelia.browsers.chromium").joinpath("page.js").read_text()
