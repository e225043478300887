"""The browser of a conversation, live on the page: seen, taken over, acted in, and handed back."""
# ruff: noqa: E501 - what runs in the page stands on one line

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import Struct
from playwright.sync_api import Browser, Page, expect

from angelia.faces.cli.doctor import look_through
from angelia.faces.web.door import WebDoor
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.browsers.site import Site
from tests.web.page.visits import axe, barriers, leave, visit, wider_than_its_window
from tests.web.visitor import opened

pytestmark = [pytest.mark.real("chromium"), pytest.mark.real("npm"), pytest.mark.slow]

SETTINGS = {"policy.allow_ranges": ["127.0.0.0/8"], "sandbox.network": "on", "policy.mode": "autonomous"}
BANK = """<body style="margin:0;font:16px sans-serif"><h1>Bank</h1><label style="position:absolute;left:100px;top:100px">Code <input aria-label=Code></label>
<button style="position:absolute;left:400px;top:100px;height:40px" onclick="if (confirm('Log in now?')) { out.textContent = `Welcome, Ann, by ${document.querySelector('input').value}, press ${++window.presses}`; window.open('/news') }">Log in</button>
<p id=out style="position:absolute;top:200px">Not logged in.</p><script>window.presses = 0</script>"""
WIDTHS = (320, 768, 1440)


class Handing(Struct):
    """Where the page is served, logged in by the link; what the model was asked last."""

    link: str
    asked: list[str]


@contextmanager
def handing_over(folder: Path) -> Iterator[Handing]:
    """A home whose model opens a page and hands it over, in a thread of its own with an event loop."""
    ready, found, loops = threading.Event(), list[Handing](), list[asyncio.AbstractEventLoop]()
    ended = asyncio.Event()

    async def live() -> None:
        loops.append(asyncio.get_running_loop())
        site, asked = Site(), list[str]()
        site.pages["/"], site.pages["/news"] = BANK, "<h1>News</h1>"
        async with await asyncio.start_server(site.serve, "127.0.0.1", 0) as listening:
            site.port = listening.sockets[0].getsockname()[1]
            steps = [
                call("browser_open", {"url": site.url(host="127.0.0.1")}),
                call("browser_hand_over", {"why": "Please type the code from your phone."}),
                say("You are in."),
            ]
            async with ModelServer(steps) as server, opened(folder, server.base_url, **SETTINGS) as app:
                (folder / "begun").mkdir()
                door = WebDoor(app, lambda offline: look_through(app, offline=offline))
                begun = asyncio.Event()
                serving = asyncio.create_task(door.run("127.0.0.1:0", begun.set))
                await begun.wait()
                found.append(Handing(await door.link(), asked))
                ready.set()
                await ended.wait()
                asked += [request.raw.decode() for request in server.requests]
                serving.cancel()
                await asyncio.gather(serving, return_exceptions=True)

    thread = threading.Thread(target=lambda: asyncio.run(live()))
    thread.start()
    assert ready.wait(30)
    try:
        yield found[0]
    finally:
        loops[0].call_soon_threadsafe(ended.set)
        thread.join()


def _in_page(page: Page, x: float, y: float) -> tuple[float, float]:
    """Where a place of the page in the browser lies on the page that shows it."""
    box = page.locator(".screen img").bounding_box()
    assert box is not None
    return box["x"] + box["width"] * x / 1280, box["y"] + box["height"] * y / 800


@pytest.mark.soak(every=2)
@pytest.mark.parametrize(("scheme", "width", "finger"), [("dark", 1440, False), ("light", 320, True)])
def test_a_page_is_taken_over_acted_in_and_handed_back(
    chrome: Browser, tmp_path: Path, scheme: str, width: int, finger: bool
) -> None:
    """By mouse and keys, and by finger; nothing reaches the page before it is taken over, and the model goes on with what changed."""
    source = axe()
    with handing_over(tmp_path) as home:
        page = visit(chrome, home.link, width=width, color_scheme=scheme, reduced_motion="reduce", has_touch=finger)
        press = page.touchscreen.tap if finger else page.mouse.click
        page.wait_for_selector("text=Nothing waits for you")
        page.evaluate("location.hash = '#/new'")
        page.locator("#pen").fill("Log in at the bank.")
        page.keyboard.press("Control+Enter")
        page.get_by_role("link", name="Act in the page").click()
        page.wait_for_selector(".screen img")
        press(*_in_page(page, 450, 120))
        for size in WIDTHS:
            page.set_viewport_size({"width": size, "height": 900 if size > 400 else 640})
            assert wider_than_its_window(page) == [], size
            assert barriers(page, source) == [], size
        page.get_by_role("button", name="Take over").click()
        page.wait_for_selector(".screen.mine:focus")
        assert barriers(page, source) == []
        press(*_in_page(page, 220, 110))
        page.keyboard.type("K7W")
        page.keyboard.press("Escape")
        expect(page.locator(".livebar button").first).to_be_focused()
        page.get_by_label("Words for the page").fill("Q")
        page.get_by_role("button", name="Type it").click()
        press(*_in_page(page, 440, 120))
        expect(page.get_by_role("alert").first).to_contain_text("The page asks (confirm): Log in now?")
        assert barriers(page, source) == []
        page.get_by_role("button", name="OK").click()
        tabs = page.get_by_role("group", name="Tabs")
        expect(tabs.get_by_role("button", pressed=True)).to_contain_text("t2 http://127.0.0.1")
        page.wait_for_selector(".screen img")
        assert barriers(page, source) == []
        tabs.get_by_role("button", name="t1").click()
        expect(tabs.get_by_role("button", pressed=True)).to_contain_text("t1")
        page.wait_for_selector(".screen img")
        page.get_by_role("button", name="Done").click()
        expect(page.locator(".log")).to_contain_text("You are in.")
        leave(page)
    assert "Welcome, Ann, by K7WQ, press 1" in home.asked[2]
    assert "The user answered: Done" in home.asked[2]
