"""Every page of a real home, by keyboard alone, at each width, dark and light, without a barrier."""
# ruff: noqa: E501 - what runs in the page stands on one line

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.examples import TIMES
from tests.web.page.lived_home import lived_home
from tests.web.page.visits import axe, barriers, leave, visit, wider_than_its_window

pytestmark = [pytest.mark.real("chromium"), pytest.mark.real("npm"), pytest.mark.slow]

ROOMS = {
    "Overview": ".items h3 >> text=did not arrive", "Conversations": ".rows a", "Receipts": ".rows a", "Schedule": ".rows a", "Notes": ".rows a", "Skills": ".rows a", "Channels": ".rows a",
    "MCP servers": ".rows a", "Grants": ".rows a", "Audit": ".rows a", "Usage": ".table", "Settings": ".rows a", "Doctor": ".checks", "Logins": ".rows a", "Keys": ".keys", "How much did each bed": ".log .diff",
}  # fmt: skip
"""What is typed into the palette, and what shows that the page is there."""
TITLES = {"How much did each bed": "How much did each bed bring?"}
WIDTHS = (320, 768, 1440)
REACHED = """() => { const e = document.activeElement; return e === document.body ? "" : e.outerHTML.slice(0, 200); }"""
CONTROLS = """() => [...document.querySelectorAll("main :is(a[href], button, input, textarea, summary)")]
  .filter((e) => e.checkVisibility({visibilityProperty: true}) && !e.closest("details:not([open]) > :not(summary)")).map((e) => e.outerHTML.slice(0, 200))"""


def _go(page: Page, name: str) -> None:
    page.keyboard.press("Control+k")
    page.wait_for_selector("dialog.pal[open] input")
    page.keyboard.type(name)
    page.wait_for_selector("[role=option][aria-selected=true]")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog.pal", state="detached")
    expect(page.locator("main h1")).to_have_text(TITLES.get(name, name))
    page.wait_for_selector(ROOMS[name])


def _tab_to(page: Page, name: str) -> None:
    """Forward, until the control of that name has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText?.trim()") == name:
            return
    raise AssertionError(f"{name} is not reached by Tab")


def _all_are_reached(page: Page, place: str) -> None:
    """Tab comes to everything on the page that does something, and shows where it is."""
    wanted, met = set(page.evaluate(CONTROLS)), set()
    page.evaluate("document.querySelector('main').focus()")
    for _ in range(len(wanted) + 40):
        page.keyboard.press("Tab")
        met.add(page.evaluate(REACHED))
        if wanted <= met:
            return
    assert wanted <= met, (place, wanted - met)


@pytest.mark.soak(every=2)
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_each_page_is_gone_to_and_gone_through_by_keys_at_each_width(
    chrome: Browser, tmp_path: Path, scheme: str
) -> None:
    """The palette leads to each; every control is reached by Tab; what opens is opened by its row. Each page is seen
    dark or light, at one width; `make soak` takes every width of each, dark and light.
    """
    source = axe()
    with lived_home(tmp_path) as home:
        page = visit(chrome, home.link, color_scheme=scheme, reduced_motion="reduce")
        page.wait_for_selector(ROOMS["Overview"])
        for turn, (name, shows) in enumerate(ROOMS.items()):
            if not TIMES and turn % 2 == (scheme == "dark"):
                continue
            for width in WIDTHS if TIMES else [WIDTHS[turn % 3]]:
                page.set_viewport_size({"width": width, "height": 900 if width > 400 else 640})
                _go(page, "Keys" if name == "Overview" else "Overview")  # a page that is open already is gone to anew
                _go(page, name)
                _all_are_reached(page, name)
                if shows == ".rows a" and name != "Conversations":
                    page.evaluate("document.activeElement.blur()")
                    page.keyboard.press("j")
                    page.keyboard.press("o")
                    page.wait_for_selector(".detail h2")
                assert wider_than_its_window(page) == [], (name, width)
                assert barriers(page, source) == [], (name, width)
        leave(page)


def test_what_can_be_decided_is_decided_by_keys_alone(chrome: Browser, tmp_path: Path) -> None:
    """A question, a note, a skill, a schedule, a permission, a setting: each holds afterwards, in the home."""
    with lived_home(tmp_path) as home:
        page = visit(chrome, home.link, reduced_motion="reduce")
        page.wait_for_selector(ROOMS["Overview"])
        for room, act, told in (
            ("Notes", "Drop it", "Note dropped."), ("Skills", "Use it as it is now", "It may be used as it is now."), ("Schedule", "Pause", "Paused."), ("Grants", "Take it back", "Taken back."),
        ):  # fmt: skip
            _go(page, room)
            page.evaluate("document.activeElement.blur()")
            page.keyboard.press("j")
            page.keyboard.press("Enter")
            expect(page.locator(".detail .go"), room).to_contain_text(act)
            _tab_to(page, act)
            page.keyboard.press("Enter")
            expect(page.locator(".toast").last).to_contain_text(told)
        _go(page, "Settings")
        page.locator(".rows a", has_text="limits.max_cost").focus()
        page.keyboard.press("Enter")
        expect(page.locator(".detail h2")).to_have_text("limits.max_cost")
        page.locator("#setting-value").focus()
        page.keyboard.press("Control+a")
        page.keyboard.type("0.75")
        _tab_to(page, "Write it to the file")
        page.keyboard.press("Enter")
        expect(page.locator(".toast").last).to_contain_text("It is in the file")
        text = (tmp_path / "home" / "config.toml").read_text()
        assert "max_cost = 0.75  # enough for a morning" in text
        _go(page, "How much did each bed")
        page.wait_for_selector("#pen:focus")
        page.keyboard.type("Push it")
        page.keyboard.press("Enter")
        page.wait_for_selector(".ask[data-read]")
        page.wait_for_timeout(550)  # it is deaf for half a second
        page.keyboard.press("Control+.")
        page.keyboard.press("n")
        expect(page.locator(".log")).to_contain_text("Not allowed")
        leave(page)
