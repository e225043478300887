"""A conversation on a phone: what floats and what is said of the line lies within the window."""

from collections.abc import Sequence

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.page.fake import FakeServer
from tests.web.page.garden import CHART, QUESTION, Entry, call, finished, reply, said
from tests.web.page.talks import talk
from tests.web.page.visits import leave, visit

pytestmark = [pytest.mark.real("chromium"), pytest.mark.slow]

WIDTH, HEIGHT = 320, 640


def _talk(chrome: Browser, fake: FakeServer, address: str, later: Sequence[Entry] = (), **more: object) -> Page:
    return talk(chrome, fake, address, [said(1, "Count."), *later], width=WIDTH, height=HEIGHT, **more)


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


def test_a_dialog_has_the_whole_width_and_a_large_picture_the_middle(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    picture = finished(3, "c1", "", "1 picture", parts=[CHART])
    page = _talk(chrome, fake, address, [reply(2, [], call("shell", "$ draw", "c1")), picture], questions=[QUESTION])
    page.locator(".ask .in").evaluate("(asked) => asked.scrollTo(0, asked.scrollHeight)")
    page.wait_for_selector(".ask[data-read=yes]")
    page.get_by_role("button", name="Allow for longer…").click()
    box = page.locator("dialog.longer[open]").bounding_box()
    assert box
    assert (box["x"], box["width"], box["y"] + box["height"]) == (0, WIDTH, HEIGHT)
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog.longer", state="detached")
    page.locator(".pic button").first.press("Enter")
    large = page.locator("dialog.large[open] img")
    expect(large).to_have_js_property("complete", value=True)
    box = page.locator("dialog.large[open]").bounding_box()
    assert box
    assert abs(box["y"] - (HEIGHT - box["y"] - box["height"])) <= 1, "as much above as below"
    leave(page)


@pytest.mark.parametrize("width", [WIDTH, 1440])
def test_no_key_in_their_list_is_broken_in_two(chrome: Browser, address: str, width: int) -> None:
    page = visit(chrome, f"{address}/#/keys", width=width)
    page.wait_for_selector(".keys")
    lines = page.locator(".keys kbd").evaluate_all("(all) => all.map((one) => one.getClientRects().length)")
    assert set(lines) == {1}
    leave(page)
