"""What went out of a conversation, and what became of it, on the page."""

import pytest
from playwright.sync_api import Browser, expect

from tests.web.page.fake import FakeServer
from tests.web.page.garden import TALK, fact, reply, said
from tests.web.page.talks import talk
from tests.web.page.visits import leave

pytestmark = [pytest.mark.real("chromium"), pytest.mark.slow]


def test_a_failure_that_is_let_be_goes_where_its_row_told_of_nothing_else(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    """A file keeps its row, which says so, whatever the network tells later; so it does for who comes afterwards."""
    to, file = {"door": "telegram", "chat": "Ann", "thread": ""}, {"name": "a.txt", "media": "document", "size": 9}
    failures = [
        fact(2, "DeliveryQueued", id="d1", to=to, origin="notice", parts=[{"text": "The pump runs.", "nodes": []}]),
        fact(3, "DeliveryQueued", id="d2", to=to, origin="tool", parts=[{"ref": "3/0", **file}]),
        fact(4, "DeliverySettled", id="d1", status="failed", detail="The chat is gone."),
        fact(5, "DeliverySettled", id="d2", status="unknown", detail="No word."),
    ]
    page = talk(chrome, fake, address, [said(1, "Tell Ann."), *failures])
    fake.act = lambda path, body: (200, {})
    rows = page.locator(".receipt")
    expect(rows).to_have_count(2)
    for number, words in enumerate(("The pump runs.", "a.txt"), 1):
        row = rows.filter(has_text=words)
        row.get_by_role("button", name="Let it be").click()
        fake.append(TALK, fact(5 + number, "DeliveryLetBe", id=f"d{number}", status="let_be", by="owner"))
        expect(row.get_by_role("button", name="Let it be")).to_have_count(0)
    fake.append(TALK, fact(8, "DeliveryReached", id="d2", status="read"))
    fake.append(TALK, reply(9, [["p", {}, ["I wrote to Ann."]]]))
    expect(page.locator(".log")).to_contain_text("I wrote to Ann.")
    for _ in range(2):
        expect(rows).to_contain_text("Let be")
        assert rows.count() == 1
        page.reload()
    leave(page)
