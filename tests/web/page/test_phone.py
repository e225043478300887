"""A conversation on a phone: what floats and what is said of the line lies within the window."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.page.fake import FakeServer
from tests.web.page.garden import QUESTION, said
from tests.web.page.talks import talk
from tests.web.page.visits import leave

pytestmark = [pytest.mark.real("chromium"), pytest.mark.slow]

WIDTH, HEIGHT = 320, 640


def _talk(chrome: Browser, fake: FakeServer, address: str, **more: object) -> Page:
    return talk(chrome, fake, address, [said(1, "Count.")], width=WIDTH, height=HEIGHT, **more)


def test_the_choice_of_a_mode_is_within_the_window_and_left_by_escape(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    """From its button, too, where the focus is when it opens; the turn goes on, and nothing is said of it."""
    page = _talk(chrome, fake, address)
    page.get_by_role("button", name="Mode: edit").click()
    menu = page.get_by_role("group", name="Mode")
    box = menu.bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= WIDTH
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    expect(page.locator(".toast")).to_have_count(0)
    leave(page)


def test_what_is_said_when_the_line_is_lost_leaves_what_one_writes_in_view(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    """Beside a question that waits, too: it is the question that scrolls."""
    page = _talk(chrome, fake, address, questions=[QUESTION])
    page.wait_for_selector(".ask")
    fake.away = True
    fake.cut()
    for name in ("Try now", "Send"):
        box = page.get_by_role("button", name=name, exact=True).bounding_box()
        assert box
        assert box["x"] + box["width"] <= WIDTH
        assert box["y"] + box["height"] <= HEIGHT
    leave(page)
