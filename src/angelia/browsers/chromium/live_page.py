"""One tab as a person watches it from elsewhere: pictures out, mouse and keys in.

Each that watches has a session of its own with the page, so several may, none is in the way of the tools, and with the
session everything ends that was begun by it. The browser draws nothing for it while the page does not move, has no
more than a few pictures under way, and makes the next only when somebody has fetched the last: who reads slowly sees
fewer, and the newest. What it leaves out then is lost, and may be what the page came to: so it is asked anew.
"""

import asyncio
import base64
from contextlib import suppress
from typing import Any, assert_never

from angelia.browsers.chromium.cdp import CdpConnection, ProtocolError
from angelia.browsers.chromium.keys import key_events
from angelia.browsers.live import (
    KeyPressed,
    LiveFrame,
    LiveInput,
    PointerMoved,
    PointerPressed,
    PointerReleased,
    WheelTurned,
    WordsTyped,
)
from angelia.browsers.port import ActFailed, ActOutcome, BrowserGone

QUALITY = 60
"""Of the pictures, as JPEG: 20 to 60 KB each of 1280 x 800."""
_MOST_UNDER_WAY = 3
"""Pictures that wait to be fetched; while they do Chromium leaves out all others."""
_WORLD = "angelia-live"
_DRAW_CHOICES = """{
  const drawn = new CSSStyleSheet();
  drawn.replaceSync("select:not([multiple], [size]), ::picker(select) { appearance: base-select !important }");
  document.adoptedStyleSheets.push(drawn);
  for (const one of document.querySelectorAll("select")) getComputedStyle(one, "::picker(select)").appearance;
}"""
"""Options are drawn in the page, where pictures show them and presses reach them (CSS Form Control Styling, "Basic
appearance"; Chromium 135 and later). The list that is usual is a window of the desktop's. Asking for
how a field looks has it look so before the press that follows. What is in a shadow root, or
in a frame of another site, keeps that.
"""


class LivePage:
    """Whoever has it closes it."""

    def __init__(self, cdp: CdpConnection, session: str) -> None:
        self._cdp, self._session = cdp, session
        self._asked: dict[str, Any] = {}
        self._newest: LiveFrame | None = None
        self._fetched: list[int] = []
        self._under_way = 0
        self._left_out = False
        self._news = asyncio.Event()
        self._ended: ActFailed | None = None
        self._pressed = False
        cdp.gone.add_done_callback(self._browser_ended)

    async def start(self, width: int = 1280, height: int = 800) -> None:
        """Begin; pictures have at most so many pixels.

        Raises:
            ActFailed, BrowserGone: the page is gone again.
        """
        self._cdp.listen(self._session, self._hear)
        self._asked = {"format": "jpeg", "quality": QUALITY, "maxWidth": width, "maxHeight": height}
        await self._call("Page.startScreencast", self._asked)

    async def frame(self) -> LiveFrame:
        """The newest picture that was not fetched yet; waits for as long as nothing moves. One call at a time.

        Raises:
            ActFailed: the tab was closed, has crashed, or `close` was called.
            BrowserGone: the browser has ended.
        """
        while self._newest is None:
            if self._ended is not None:
                raise self._ended
            if self._cdp.gone.done():
                raise BrowserGone("The browser has ended.")
            self._news.clear()
            await self._news.wait()
        newest, self._newest = self._newest, None
        fetched, self._fetched = self._fetched, []
        left_out, self._left_out = self._left_out, False
        for number in fetched:
            await self._call("Page.screencastFrameAck", {"sessionId": number})
            self._under_way -= 1
        if left_out:
            await self._call("Page.stopScreencast", {})
            await self._call("Page.startScreencast", self._asked)  # which draws the page as it is
        return newest

    @property
    def unfetched(self) -> int:
        """How many pictures the browser has made since one was fetched; a few at most."""
        return len(self._fetched)

    async def send(self, event: LiveInput) -> None:
        """Do to the page what the person does.

        Raises:
            ActFailed: nobody knows such a key; or the page is gone.
            BrowserGone: the browser has ended.
        """
        if isinstance(event, PointerPressed) and not self._pressed:
            self._pressed = True
            await self._call("Page.enable", {})
            drawn = {"source": _DRAW_CHOICES, "worldName": _WORLD, "runImmediately": True}
            await self._call("Page.addScriptToEvaluateOnNewDocument", drawn)
        for method, params in _calls(event):
            await self._call(method, params)

    async def close(self) -> None:
        """Watch no longer. Idempotent."""
        self.end(ActFailed(ActOutcome.GONE, "The page is no longer watched."))
        self._cdp.gone.remove_done_callback(self._browser_ended)
        with suppress(ProtocolError, ActFailed, BrowserGone):
            await self._cdp.call("Target.detachFromTarget", {"sessionId": self._session})

    def end(self, why: ActFailed) -> None:
        """There is nothing to see any more; whoever waits for a picture hears why."""
        self._cdp.forget(self._session, why)
        self._ended = self._ended or why
        self._news.set()

    def _browser_ended(self, _: "asyncio.Future[None]") -> None:
        self._news.set()

    async def _call(self, method: str, params: dict[str, Any]) -> None:
        if self._ended is not None:
            raise self._ended
        try:
            await self._cdp.call(method, params, session=self._session)
        except ProtocolError as error:
            raise ActFailed(ActOutcome.NOT_LOADED, f"The page cannot be reached now: {error}.") from error

    def _hear(self, method: str, params: dict[str, Any]) -> None:
        if method == "Page.screencastFrame":
            about = params["metadata"]
            picture = base64.b64decode(params["data"])
            taken = float(about.get("timestamp", 0.0))
            self._newest = LiveFrame(picture, float(about["deviceWidth"]), float(about["deviceHeight"]), taken)
            self._fetched.append(int(params["sessionId"]))
            self._under_way += 1
            self._left_out |= self._under_way >= _MOST_UNDER_WAY
            self._news.set()
        elif method == "Inspector.targetCrashed":
            self.end(ActFailed(ActOutcome.CRASHED, "The page's process has ended. Open it again."))


def _calls(event: LiveInput) -> list[tuple[str, dict[str, Any]]]:
    """An event in the browser's words; a key is pressed and let go."""
    match event:
        case PointerMoved():
            return [_mouse("mouseMoved", event, button=event.held, buttons=_BUTTONS[event.held])]
        case PointerPressed():
            down = {"button": event.button, "buttons": _BUTTONS[event.button], "clickCount": event.count}
            return [_mouse("mousePressed", event, **down)]
        case PointerReleased():
            return [_mouse("mouseReleased", event, button=event.button, clickCount=event.count)]
        case WheelTurned(x, y, down, right):
            turned = {"type": "mouseWheel", "x": x, "y": y, "deltaX": right, "deltaY": down}
            return [("Input.dispatchMouseEvent", turned)]
        case KeyPressed(keys):
            return [("Input.dispatchKeyEvent", one) for one in key_events(keys)]
        case WordsTyped(text):
            return [("Input.insertText", {"text": text})]
        case _:
            assert_never(event)


_BUTTONS = {"none": 0, "left": 1, "right": 2, "middle": 4}


def _mouse(
    kind: str, at: PointerMoved | PointerPressed | PointerReleased, **more: object
) -> tuple[str, dict[str, Any]]:
    return "Input.dispatchMouseEvent", {"type": kind, "x": at.x, "y": at.y, "modifiers": at.modifiers, **more}
