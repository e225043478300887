"""What a person at the page waits for: that it stands, that a piece of an answer is seen, that a long log scrolls."""

import asyncio
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tests.web.page.lighthouse import scores

from angelia.browsers.chromium.program import find_chromium
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.ending import Answered
from angelia.core.principal import OWNER
from angelia.engine import live
from angelia.faces.web.door import WebDoor
from angelia.service.app import App
from angelia.service.settings.config import load
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say, slowly
from bench.rows import Row, Target, row
from bench.runs import Benchmark
from bench.startup import model_environment

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

MESSAGES = 5_000
LOOKS = 3
"""Of Lighthouse, at most: each takes some ten seconds."""
_SCROLLED_S = 3.0
_PIECES = 60

_STANDS = """new MutationObserver((_, seen) => {
  if (!document.querySelector("#pen") || !document.querySelector(".log > li[data-key]")) return;
  window.stands = performance.now(); seen.disconnect();
}).observe(document, { childList: true, subtree: true });"""

_ONCE = """(name) => new Promise((done) => {
  const look = () => (window[name] ? done(window[name]) : setTimeout(look, 2));
  look();
})"""

_SEES = """() => {
  window.seen = {};
  const after = new MessageChannel();
  after.port1.onmessage = ({ data }) => { window.seen[data] ??= performance.timeOrigin + performance.now(); };
  new MutationObserver(() => {
    const last = document.querySelector(".growing")?.textContent.match(/word\\d+/g)?.at(-1);
    if (last) after.port2.postMessage(last);
  }).observe(document.querySelector(".log"), { childList: true, subtree: true, characterData: true });
}"""
"""When the last word was there after it was painted."""

_SCROLLS = """(seconds) => new Promise((done) => {
  const roll = document.querySelector(".roll"), times = [], end = performance.now() + seconds * 1000;
  roll.dispatchEvent(new WheelEvent("wheel", { deltaY: -1, bubbles: true }));
  const step = (now) => {
    times.push(now);
    roll.scrollTop -= 150;
    now < end ? requestAnimationFrame(step) : done(times);
  };
  requestAnimationFrame(step);
})"""


def rows(bench: Benchmark) -> Iterator[Row]:
    """A page of a real home, in this machine's Chromium without a window."""
    found = find_chromium()
    if found is None:
        yield Row("the page", "ms", note="there is no Chromium here")
        return
    stands, seen, frames, looks = asyncio.run(_measured(bench.place("page"), found.path, bench.times))
    yield row(f"the page stands, a conversation of {MESSAGES:,} messages", "ms", stands, 0.3)
    yield row("a piece is on the screen after it came from the model", "ms", seen, 0.02)
    for where, points in looks.items():
        yield Row(f"Lighthouse: performance {where}", "%", tuple(points), target=Target(least=0.95))
    yield Row(f"frames while {MESSAGES:,} messages are scrolled", "/s", (frames,), target=Target(least=58))


async def _measured(
    folder: Path, chromium: Path, runs: int
) -> tuple[list[float], list[float], float, dict[str, list[float]]]:
    from playwright.async_api import async_playwright

    words = " ".join(f"word{n}" for n in range(_PIECES))
    async with ModelServer([slowly(say(words), between=0.1)]) as server, async_playwright() as driver:
        env = model_environment(server.base_url, folder)
        app = await App.open(load(folder / "angelia", env, flags={"model": "openai-chat:scripted"}), env)
        door, ready = WebDoor(app), asyncio.Event()
        serving = asyncio.create_task(door.run("127.0.0.1:0", ready.set))
        await ready.wait()
        browser = await driver.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        try:
            at = f"{door.address}/#/c/{await _long_conversation(app, folder)}"
            context = await browser.new_context(viewport={"width": 1440, "height": 900})
            await (await context.new_page()).goto(await door.link())
            stands = [await _stands(context, at) for _ in range(runs)]
            looks = await _looks(context, at, runs) if shutil.which("npm") else {}
            return stands, await _seen(door, context, folder), await _frames(context, at), looks
        finally:
            await browser.close()
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
            await app.close()


async def _long_conversation(app: App, folder: Path) -> str:
    (work := folder / "work").mkdir()
    session = app.conversations.begin(door="terminal", workspace=work)
    assert session.unspoken
    facts: list[e.AnyFact] = [session.unspoken]
    terminal = e.Address("terminal")
    for n in range(MESSAGES // 2):
        facts.append(e.UserSaid((Text(f"Question {n}?"),), OWNER, terminal, f"key-{n}", e.Arrival.STEER))
        reply = Text(f"Answer {n}. " + f"A sentence that says something about {n}. " * (n % 12))
        facts += [e.ModelSaid("scripted", (reply,), e.StopReason.END), e.TurnClosed(Answered())]
    for start in range(0, len(facts), 1_000):
        await app.transcript.append(session.conversation, facts[start : start + 1_000])
    await app.conversations.leave(session)
    return session.conversation


async def _stands(context: "BrowserContext", at: str) -> float:
    """Seconds from the call of the address until one reads and can write."""
    page = await context.new_page()
    await page.add_init_script(_STANDS)
    await page.goto(at)
    took = float(await page.evaluate(_ONCE, "stands")) / 1000
    await page.close()
    return took


async def _seen(door: WebDoor, context: "BrowserContext", folder: Path) -> list[float]:
    """Seconds between a piece's coming from the model and its being painted, for each piece but the first ones."""
    own = await door.conversations.begin(str(folder / "work"), "")
    page = await context.new_page()
    await page.goto(f"{door.address}/#/c/{own}")
    await page.locator("#pen").fill("Count.")
    came: dict[str, float] = {}
    written = ""

    def hear(event: live.LiveEvent) -> None:
        nonlocal written
        if isinstance(event, live.Writing):
            written += event.text
            came.setdefault(written.split()[-1], time.time())

    await page.evaluate(_SEES)
    (await door.conversations.session(own)).live.watch(hear)
    await page.keyboard.press("Enter")
    await page.locator(".log > li[data-key] .text", has_text=f"word{_PIECES - 1}").wait_for(timeout=60_000)
    shown = await page.evaluate("window.seen")
    await page.close()
    return [shown[word] / 1000 - at for word, at in came.items() if word in shown][5:]


async def _looks(context: "BrowserContext", at: str, runs: int) -> dict[str, list[float]]:
    """What Lighthouse gives for speed, 1 at best, in a browser of its own."""
    cookies = [(one["name"], one["value"]) for one in await context.cookies()]
    found: dict[str, list[float]] = {}
    for where, desk in (("at a desk", True), ("on a phone", False)):
        for _ in range(min(runs, LOOKS)):
            told = await asyncio.to_thread(scores, at, cookies, "performance", desk=desk)
            found.setdefault(where, []).append(told["performance"])
    return found


async def _frames(context: "BrowserContext", at: str) -> float:
    page = await context.new_page()
    await page.goto(at)
    await page.wait_for_selector(".log > li[data-key]")
    times = await page.evaluate(_SCROLLS, _SCROLLED_S)
    await page.close()
    return float((len(times) - 1) / (times[-1] - times[0]) * 1000)
