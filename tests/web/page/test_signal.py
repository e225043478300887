"""What parts of the page share: a change reaches whoever shows it, whenever it comes."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Route

from tests.web.page.fake import STATIC

pytestmark = [pytest.mark.real("chromium"), pytest.mark.slow]

SHOWS_AND_SETS = """async () => {
  const { html, render } = await import("/js/html.js");
  const { Signal, useSignal } = await import("/js/signal.js");
  const signal = new Signal("before");
  const Shows = () => html`<p>${useSignal(signal)}</p>`;
  const Sets = () => (signal.set("after"), null);
  render(html`<${Shows} /><${Sets} />`, document.body);
}"""


def _source(route: Route) -> None:
    """The page's own modules, each by itself, and a page with nothing in it."""
    path = urlsplit(route.request.url).path
    if path == "/":
        route.fulfill(body="<!doctype html>", content_type="text/html")
    else:
        route.fulfill(body=(STATIC / path[1:]).read_text(), content_type="text/javascript")


def test_what_changes_after_it_was_drawn_and_before_it_is_watched_is_drawn_again(chrome: Browser) -> None:
    """A browser that is busy begins to watch a good while after it has drawn."""
    page = chrome.new_page()
    page.route("http://page.test/**", _source)
    page.goto("http://page.test/")
    page.evaluate(SHOWS_AND_SETS)
    assert page.locator("p", has_text="after").inner_text() == "after"
    page.close()
