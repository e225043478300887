"""Long ones on the page: many messages, many pieces, many cuts. `make soak` takes the full sizes."""

import random

import pytest
from playwright.sync_api import Browser, expect

from tests.examples import TIMES
from tests.web.page.fake import FakeServer
from tests.web.page.garden import TALK, reply, said, state
from tests.web.page.visits import leave, visit

pytestmark = [pytest.mark.real("chromium"), pytest.mark.slow]

MESSAGES = 5_000 if TIMES else 1_000
PIECES, CUTS = (10_000, 200) if TIMES else (500, 10)
KEPT = "() => [...document.querySelectorAll('.log > li[data-key]')].map((e) => e.dataset.key)"


@pytest.mark.soak
def test_a_long_conversation_keeps_few_rows_and_its_end(chrome: Browser, fake: FakeServer, address: str) -> None:
    """Whatever its length, what is in the document is what is near the view and the last thirty."""
    fake.entries[TALK] = [
        said(n, f"message {n}") if n % 2 else reply(n, [["p", {}, [f"answer {n} " * (n % 40)]]])
        for n in range(1, MESSAGES + 1)
    ]
    fake.answers[f"/api/conversations/{TALK}"] = state(questions=[], work=[])
    page = visit(chrome, f"{address}/#/c/{TALK}/2")
    page.wait_for_selector("li[data-key='2']")
    assert len(page.evaluate(KEPT)) < 120
    assert page.evaluate(KEPT)[-1] == str(MESSAGES)
    page.mouse.move(700, 300)
    for _ in range(20):
        page.mouse.wheel(0, 3000)
        page.wait_for_timeout(20)
        assert len(page.evaluate(KEPT)) < 120
    page.get_by_role("button", name="To the end").click()
    expect(page.locator(f"li[data-key='{MESSAGES}']")).to_be_in_viewport()
    leave(page)


def test_however_often_the_line_is_cut_the_page_equals_the_log(chrome: Browser, fake: FakeServer, address: str) -> None:
    """Pieces between the facts are lost with the line, the facts never."""
    fake.entries[TALK] = [said(1, "Count.")]
    fake.answers[f"/api/conversations/{TALK}"] = state(questions=[], work=[], turn={"open": False, "since": 0})
    page = visit(chrome, f"{address}/#/c/{TALK}")
    page.wait_for_selector("#pen")
    chance, each = random.Random(7), PIECES // CUTS
    for cut in range(CUTS):
        for n in range(each):
            fake.push("live", {"kind": "writing", "text": f"piece {n} ", "call": ""})
        words = " ".join(f"piece {n}" for n in range(each))
        fake.append(TALK, reply(cut + 2, [["p", {}, [f"{cut}: {words}"]]]))
        if chance.random() < 0.9:
            fake.cut()
        page.wait_for_timeout(chance.randrange(5))
    fake.cut()
    page.wait_for_selector(f"li[data-key='{CUTS + 1}']")
    expect(page.locator(".growing")).to_have_count(0)
    last = page.locator(".log .text").all_inner_texts()[-20:]
    log = fake.entries[TALK][-20:]
    assert last[-9:] == [entry["nodes"][0][2][0] for entry in log[-9:]]
    leave(page)
