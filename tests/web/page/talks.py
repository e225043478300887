"""The page at one conversation, as the claims about it begin."""

from typing import Any

from playwright.sync_api import Browser, Page

from tests.web.page.fake import FakeServer
from tests.web.page.garden import TALK, state
from tests.web.page.visits import visit


def talk(
    chrome: Browser, fake: FakeServer, address: str, entries: list[dict[str, Any]] | None = None, **more: Any
) -> Page:
    """The conversation with these entries; its stream is open when this returns."""
    size = {name: more.pop(name) for name in ("width", "height") if name in more}
    if entries is not None:
        fake.entries[TALK] = entries
    fake.answers[f"/api/conversations/{TALK}"] = state(**{"questions": [], "work": [], **more})
    page = visit(chrome, f"{address}/#/c/{TALK}", **size)
    page.wait_for_selector("#pen")
    streaming(page, fake)
    return page


def streaming(page: Page, fake: FakeServer) -> None:
    """Wait until its stream is open."""
    while not fake.streams:
        page.wait_for_timeout(5)
