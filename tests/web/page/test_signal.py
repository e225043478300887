"""What parts of the page share: a change reaches whoever shows it, whenever it comes."""

import pytest
from playwright.sync_api import Browser

from tests.web.page.visits import blank

pytestmark = [pytest.mark.real("chromium"), pytest.mark.slow]

SHOWS_AND_SETS = """async () => {
  const { html, render } = await import("/js/html.js");
  const { Signal, useSignal } = await import("/js/signal.js");
  const signal = new Signal("before");
  const Shows = () => html`<p>${useSignal(signal)}</p>`;
  const Sets = () => (signal.set("after"), null);
  render(html`<${Shows} /><${Sets} />`, document.body);
}"""


def test_what_changes_after_it_was_drawn_and_before_it_is_watched_is_drawn_again(chrome: Browser) -> None:
    """A browser that is busy begins to watch a good while after it has drawn."""
    page = blank(chrome)
    page.evaluate(SHOWS_AND_SETS)
    assert page.locator("p", has_text="after").inner_text() == "after"
    page.close()
