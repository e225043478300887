"""A browser that looks at the page and notes whatever its rules for content refused."""
# ruff: noqa: E501 - what runs in the page stands on one line

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, Route, expect, sync_playwright

from angelia.browsers.chromium.program import find_chromium
from tests.npm import installed
from tests.web.page.fake import STATIC

REFUSALS = """
window.refused = [];
addEventListener("securitypolicyviolation", (event) => window.refused.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""
PATIENCE_MS = 15_000
"""How long a page is waited for, beside a whole suite."""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's own browser; pages are kept apart by contexts."""
    found = find_chromium()
    assert found is not None
    expect.set_options(PATIENCE_MS)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(found.path), args=["--no-sandbox"])
        yield browser
        browser.close()


def visit(browser: Browser, address: str, width: int = 1440, height: int = 900, **more: Any) -> Page:
    """A page of its own at that address; an error in its code fails the test that closes it by `leave`."""
    context = browser.new_context(viewport={"width": width, "height": height}, **more)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.add_init_script(REFUSALS)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.errors = errors  # type: ignore[attr-defined]  # what `leave` looks at
    page.goto(address)
    return page


def leave(page: Page) -> None:
    """Close it: nothing was refused by its rules for content, and its code raised nothing."""
    refused = page.evaluate("window.refused")
    errors = page.errors  # type: ignore[attr-defined]  # kept by `visit`
    page.context.close()
    assert (refused, errors) == ([], []), (refused, errors)


def blank(browser: Browser) -> Page:
    """A page with nothing in it, which can import the page's own modules, each by itself."""
    page = browser.new_page()
    page.route("http://page.test/**", _source)
    page.goto("http://page.test/")
    return page


def _source(route: Route) -> None:
    path = urlsplit(route.request.url).path
    if path == "/":
        route.fulfill(body="<!doctype html>", content_type="text/html")
    else:
        route.fulfill(body=(STATIC / path[1:]).read_text(), content_type="text/javascript")


def axe() -> str:
    """The source of axe-core, as npm has it."""
    cache = installed("page", Path(__file__).parent / "package.json")
    return (cache / "node_modules" / "axe-core" / "axe.min.js").read_text()


def barriers(page: Page, source: str) -> list[str]:
    """What axe-core finds on the page as it stands: the rule and the element."""
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(source)
    options = json.dumps({"runOnly": RULES, "resultTypes": ["violations"]})
    found = page.evaluate(f"axe.run(document, {options})")["violations"]
    return [
        f"{one['id']}: {node['html'][:160]} {node['failureSummary'][:200]}" for one in found for node in one["nodes"]
    ]


def wider_than_its_window(page: Page) -> list[str]:
    """Elements that make the page scroll sideways."""
    found: list[str] = page.evaluate(
        """() => document.documentElement.scrollWidth <= innerWidth ? [] :
        [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 120))"""
    )
    return found
