"""A page in a window on this desktop, in the hand of the person whom the agent has asked for what only they can do.

The window is a browser of its own, with a page of ours that draws the agent's page as it moves and tells what pointer
and keys do there. Both ways go over the pipe by which it was started, so nobody else can speak to it, and it reaches
no network at all. The agent's browser stays where it is, without a window, and gets nothing of the desktop.
"""

import asyncio
import base64
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.chromium.cdp import CdpConnection, ProtocolError
from angelia.browsers.chromium.display import Display
from angelia.browsers.chromium.launch import start_chromium
from angelia.browsers.chromium.live_browser import LiveBrowser
from angelia.browsers.live import LiveInput, LiveSight, PointerMoved
from angelia.browsers.port import ActFailed, BrowserGone
from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.sandboxes.egress.addresses import no_addresses

_EMPTY = ("--window-size=1280,920", "--app=data:text/html,")
"""A window with nothing but its page: no address line, no tabs."""


class _Ready(Struct, frozen=True, tag_field="do", tag="ready"):
    """The page of the window is there."""


class _Answered(Struct, frozen=True, tag_field="do", tag="answer"):
    """What the person says, by a button or in words."""

    words: str


class _TabChosen(Struct, frozen=True, tag_field="do", tag="tab"):
    """The person wants to see another tab."""

    name: str


class _DialogAnswered(Struct, frozen=True, tag_field="do", tag="dialog"):
    """The person answers what the page asks before it goes on."""

    accept: bool
    text: str = ""


_Told = LiveInput | _TabChosen | _DialogAnswered | _Answered


class HandedQuestion(Struct, frozen=True):
    """What the person is asked for, and the answers that are buttons; both as they may be shown."""

    title: str
    choices: Sequence[str]


async def page_window(browser: ChromiumBrowser, question: HandedQuestion, display: Display) -> str:
    """Give the pages into the person's hand until they answer, that which was used last first; empty if they close the
    window.

    Raises:
        BrowserMissing: there is no browser that could show a window.
        BrowserGone, ActFailed: there is no page, or it cannot be taken over.
    """
    live = await browser.watch()
    try:
        await live.take_over()
        running = await start_chromium(no_addresses, display, _EMPTY)
        try:
            return await _Window(running.cdp, live).answer(question)
        finally:
            await asyncio.shield(running.close())
    finally:
        await asyncio.shield(live.close())


class _Window:
    """One that is open."""

    def __init__(self, cdp: CdpConnection, live: LiveBrowser) -> None:
        self._cdp = cdp
        self._live = live
        self._session = ""
        self._heard: deque[_Told] = deque()
        self._news = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._target: asyncio.Future[str] = loop.create_future()
        self._ready: asyncio.Future[None] = loop.create_future()
        self._answer: asyncio.Future[str] = loop.create_future()

    async def answer(self, question: HandedQuestion) -> str:
        """Show the page until there is an answer, or no window any more: with its only one the browser ends."""
        self._cdp.gone.add_done_callback(lambda _: self._over(""))
        jobs = [asyncio.create_task(one) for one in (self._draw(question), self._act())]
        for job in jobs:
            job.add_done_callback(self._ended)
        try:
            return await self._answer
        finally:
            await cancel_and_wait(*jobs)

    def _ended(self, job: "asyncio.Task[None]") -> None:
        """A fault of ours is nobody's answer."""
        fault = None if job.cancelled() else job.exception()
        if fault is not None and not self._answer.done():
            self._answer.set_exception(fault)

    async def _draw(self, question: HandedQuestion) -> None:
        with suppress(BrowserGone, ProtocolError, ActFailed):  # of the window: that it has ended is heard elsewhere
            await self._begin()
            await self._run("asks", question.title, question.choices)
            while True:
                end_if_cancelled()
                sight = await self._sight()
                if (frame := sight.frame) is None:
                    await self._run("around", sight.state)
                else:
                    await self._run("draw", base64.b64encode(frame.jpeg).decode(), frame.width, frame.height)

    async def _sight(self) -> LiveSight:
        try:
            return await self._live.see()
        except (ActFailed, BrowserGone) as failed:
            await self._run("say", str(failed))
            raise

    async def _begin(self) -> None:
        """Find the window's page, and put ours there: what it tells is listened for before it says its first word."""
        self._cdp.listen("", self._hear_browser)
        await self._cdp.call("Target.setDiscoverTargets", {"discover": True})
        asked = {"targetId": await self._target, "flatten": True}
        self._session = str((await self._cdp.call("Target.attachToTarget", asked))["sessionId"])
        self._cdp.listen(self._session, self._hear_page)
        for method, params in (("Page.enable", {}), ("Runtime.enable", {}), ("Runtime.addBinding", {"name": "told"})):
            await self._cdp.call(method, params, session=self._session)
        await self._cdp.call("Page.navigate", {"url": _page()}, session=self._session)
        await self._ready

    async def _run(self, function: str, *given: object) -> None:
        words = ",".join(msgspec.json.encode(one).decode() for one in given)
        asked = {"expression": f"{function}({words})", "awaitPromise": True}
        await self._cdp.call("Runtime.evaluate", asked, session=self._session)

    async def _act(self) -> None:
        """Do what the person did, in order: an answer comes after all that was done before it."""
        while True:
            self._news.clear()
            while self._heard:
                match self._heard.popleft():
                    case _Answered(words):
                        self._over(words)
                    case done:
                        await self._do(done)
            end_if_cancelled()
            await self._news.wait()

    async def _do(self, done: LiveInput | _TabChosen | _DialogAnswered) -> None:
        try:
            match done:
                case _TabChosen(name):
                    self._live.show(name)
                case _DialogAnswered(accept, text):
                    await self._live.answer(accept=accept, text=text)
                case event:
                    await self._live.send(event)
        except (ActFailed, BrowserGone) as failed:
            with suppress(BrowserGone, ProtocolError, ActFailed):
                await self._run("say", str(failed))

    def _hear_browser(self, method: str, params: dict[str, Any]) -> None:
        if method == "Target.targetCreated" and params["targetInfo"]["type"] == "page" and not self._target.done():
            self._target.set_result(str(params["targetInfo"]["targetId"]))

    def _hear_page(self, method: str, params: dict[str, Any]) -> None:
        if method != "Runtime.bindingCalled":
            return
        match msgspec.json.decode(params["payload"], type=_Ready | _Told):
            case _Ready():
                if not self._ready.done():
                    self._ready.set_result(None)
            case PointerMoved() as event if self._heard and isinstance(self._heard[-1], PointerMoved):
                self._heard[-1] = event  # the one before was on the way only
            case said:
                self._heard.append(said)
        self._news.set()

    def _over(self, answer: str) -> None:
        if not self._answer.done():
            self._answer.set_result(answer)


def _page() -> str:
    """The whole of it in its address."""
    page, script = (Path(__file__).with_name(f"page_window.{kind}").read_text("utf-8") for kind in ("html", "js"))
    whole = page.replace("</html>", f"<script>{script}</script></html>")
    return f"data:text/html;charset=utf-8;base64,{base64.b64encode(whole.encode()).decode()}"
