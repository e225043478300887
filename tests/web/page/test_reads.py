"""What the page asks the server for: each thing once, and again when something has changed."""
# ruff: noqa: E501 - what runs in the page stands on one line

import re
from collections import Counter
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.web.page.fake import FakeServer
from tests.web.page.garden import TALK
from tests.web.page.visits import leave, visit

pytestmark = [pytest.mark.real("chromium"), pytest.mark.slow]

OVERVIEW = {"/api/home", "/api/conversations", "/api/waiting", "/api/usage", "/api/schedules"}


def _counted(page: Page) -> Counter[str]:
    """What is asked from now on, by its path."""
    asked: Counter[str] = Counter()
    page.on("request", lambda request: asked.update([urlsplit(request.url).path]))
    return asked


def _later(page: Page, milliseconds: int) -> None:
    """The page's own clock goes on by that much, and what it asks then is answered."""
    page.clock.run_for(milliseconds)
    page.wait_for_load_state("networkidle")


@pytest.mark.parametrize("before", ["", f"c/{TALK}"])
def test_the_overview_reads_each_thing_once_and_again_on_news(
    chrome: Browser, fake: FakeServer, address: str, before: str
) -> None:
    """Whether it is the first page, or one comes from a conversation: what the stream tells first is no news."""
    page = visit(chrome, f"{address}/static/icon.svg")
    page.clock.install()
    if before:
        page.goto(f"{address}/#/{before}")
        page.wait_for_selector(".ask")
        _later(page, 2_000)
    asked = _counted(page)
    if before:
        page.evaluate("location.hash = '#/overview'")
    else:
        page.goto(f"{address}/#/overview")
    expect(page.get_by_role("heading", name="Money today")).to_be_visible()
    expect(page.locator(".days")).to_be_visible()
    _later(page, 2_000)
    assert {path: asked[path] for path in OVERVIEW} == dict.fromkeys(OVERVIEW, 1)
    fake.answers["/api/questions"] = {"questions": []}
    fake.push("home", {"changed": [TALK]})
    expect(page.locator(".items .go").filter(has_text="Allow once")).to_have_count(0)
    _later(page, 2_000)
    assert {path: asked[path] for path in OVERVIEW} == dict.fromkeys(OVERVIEW, 2)
    leave(page)


SHIFTS = """() => new Promise((done) => {
  new PerformanceObserver((list, own) => (own.disconnect(), done(list.getEntries().map((one) => `${one.value.toFixed(4)} ${one.sources.map(({ node, previousRect: a, currentRect: b }) => `${node?.outerHTML?.slice(0, 60)} ${a.y} ${b.y}`)}`)))).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done([]), 500);
})"""
"""What moved since the page was opened, and how far."""


@pytest.mark.parametrize("order", [("home", "schedules", "usage"), ("schedules", "usage", "home")])
def test_what_is_read_late_moves_nothing_on_the_overview(
    chrome: Browser, fake: FakeServer, address: str, order: tuple[str, ...]
) -> None:
    """On a phone, where all of it stands in one column."""
    page = visit(chrome, f"{address}/static/icon.svg", width=390)
    held: dict[str, Route] = {}
    page.route(
        re.compile("/api/(home|schedules|usage)"),
        lambda route: held.update({urlsplit(route.request.url).path.removeprefix("/api/"): route}),
    )
    page.goto(f"{address}/#/overview")
    for name in order:
        while name not in held:
            page.wait_for_timeout(5)
        with page.expect_response(f"**/api/{name}*"):
            held[name].continue_()
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(page.locator(".items:not(.runs), .days, .next")).to_have_count(3)
    assert page.evaluate(SHIFTS) == []
    leave(page)


def test_what_cannot_be_read_says_so_where_no_news_come_either(chrome: Browser, fake: FakeServer, address: str) -> None:
    page = visit(chrome, f"{address}/#/keys")
    page.wait_for_selector(".keys")
    fake.away = True
    fake.cut()
    page.evaluate("location.hash = '#/usage'")
    expect(page.locator(".since")).to_contain_text("Nothing heard since")
    expect(page.locator(".failure")).to_be_visible()
    assert page.locator(".failure p").first.inner_text() == "The server is away."
    leave(page)


def test_a_page_whose_stream_is_held_back_shows_what_it_reads(chrome: Browser, fake: FakeServer, address: str) -> None:
    page = visit(chrome, f"{address}/static/icon.svg")
    page.clock.install()
    page.route("**/api/events", lambda held: None)
    page.goto(f"{address}/#/receipts")
    page.wait_for_selector(".ld")
    assert page.locator(".rows a").count() == 0
    page.clock.run_for(5_000)
    expect(page.locator(".rows a").first).to_be_visible()
    leave(page)


def test_the_number_beside_the_overview_is_of_all_that_it_lists(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    """Questions, deliveries in doubt, schedules that stopped; in a conversation the number is the same."""
    page = visit(chrome, f"{address}/#/overview")
    expect(page.locator(".days")).to_be_visible()
    listed = page.locator(".items:not(.runs) > li").count()
    expect(page.get_by_role("heading", name=f"{listed} things wait for you")).to_be_visible()
    page.evaluate(f"location.hash = '#/c/{TALK}'")
    page.wait_for_selector(".ask")
    assert page.locator(".nav .count").inner_text().split() == [str(listed), "waiting"]
    kinds = fake.waiting().values()
    assert all(kinds)
    assert sum(map(len, kinds)) == listed
    leave(page)
