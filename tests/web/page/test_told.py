"""What the page tells of things that did not go well, or of which little is known."""

from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from angelia.faces.web.conversations.markdown_nodes import nodes
from tests.web.page.fake import FakeServer
from tests.web.page.garden import TALK, fact, reply, said, state
from tests.web.page.talks import streaming, talk
from tests.web.page.visits import leave, visit

pytestmark = [pytest.mark.real("chromium"), pytest.mark.slow]


def test_the_overview_quotes_what_did_not_arrive_and_what_may_have(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    """So that no words of it read as ours."""
    failed, unknown = (
        {**one, "words": words, "files": []}
        for one, words in zip(fake.waiting()["deliveries"], ("33 kg.", "It rains."), strict=True)
    )
    fake.answers["/api/receipts"] = {"receipts": [failed, unknown], "more": ""}
    page = visit(chrome, f"{address}/#/overview")
    expect(page.get_by_role("heading", name="“33 kg.” did not arrive", exact=True)).to_be_visible()
    titles = page.locator(".items h3").all_inner_texts()
    assert "“It rains.” may have arrived" in titles
    leave(page)


def test_an_end_of_a_helper_whose_price_nobody_knows_says_so(chrome: Browser, fake: FakeServer, address: str) -> None:
    """And one that is known in part tells what is known; nothing that was paid is told as such."""
    ends = {"h1": (0, 3), "h2": (20_000, 1), "h3": (0, 0)}
    begun = [fact(seq, "WorkStarted", call=own, work="child", what=f"task of {own}") for seq, own in enumerate(ends, 2)]
    over = [
        fact(
            seq,
            "WorkEnded",
            call=own,
            status="ok",
            parts=[],
            child={"ending": "Answered", "steps": 3, "cost": cost, "unpriced": unpriced},
        )
        for seq, (own, (cost, unpriced)) in enumerate(ends.items(), 5)
    ]
    page = talk(chrome, fake, address, [said(1, "Ask them."), *begun, *over])
    told = page.locator(".work p")
    expect(told).to_have_count(3)
    assert [line.split(" · ")[2] for line in told.all_inner_texts()] == ["Price unknown", "At least $0.02", "$0.00"]
    leave(page)


def test_what_a_thing_does_not_have_is_no_row_of_its_details(chrome: Browser, fake: FakeServer, address: str) -> None:
    """A skill that a server serves lies in no folder."""
    skill: Any = fake.answers["/api/skills/letters"]
    fake.answers["/api/skills/letters"] = {**skill, "path": ""}
    page = visit(chrome, f"{address}/#/skills/letters")
    names = page.locator(".detail dl dt")
    expect(names.first).to_be_visible()
    assert names.all_inner_texts() == ["State", "Of", "Tools", "Version"]
    leave(page)


def test_a_list_shows_its_first_row_and_nothing_that_comes_or_goes_puts_another_in_its_place(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    found: Any = fake.answers["/api/notes"]
    notes = found["notes"]
    newer = {**notes[0], "number": 9, "text": "Water at noon."}
    page = visit(chrome, f"{address}/#/notes")
    expect(page.locator(".detail .big")).to_contain_text("Always order from")
    for there, first in (([newer, *notes], "Water at noon."), (notes[1:], "The south bed")):
        expect(page.locator(".rows a[aria-current]")).to_contain_text("Always order from")
        fake.answers["/api/notes"] = {"notes": there}
        fake.push("home", {})
        expect(page.locator(".rows a").first).to_contain_text(first)
    expect(page.locator(".detail")).to_be_empty()
    fake.answers["/api/notes"] = {"notes": []}
    fake.push("home", {})
    expect(page.locator(".empty")).to_contain_text("No notes yet")
    assert page.get_by_label("Find in notes").count() == 0
    leave(page)


def test_on_a_phone_a_list_stands_alone_until_one_is_chosen(chrome: Browser, address: str) -> None:
    page = visit(chrome, f"{address}/#/notes", 390)
    expect(page.locator(".rows a")).to_have_count(2)
    assert not page.locator(".detail .big").is_visible()
    page.locator(".rows a").last.click()
    expect(page.locator(".detail .big")).to_contain_text("The south bed")
    leave(page)


def test_a_conversation_is_called_by_its_first_message_as_soon_as_it_has_one(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    listed: Any = fake.answers["/api/conversations"]
    first = {**listed["conversations"][0], "title": ""}
    fake.answers["/api/conversations"] = {"conversations": [first], "more": ""}
    fake.answers[f"/api/conversations/{TALK}"] = state(title="", turn={"open": False})
    page = visit(chrome, f"{address}/#/c/{TALK}")
    title = page.locator(".top h1")
    expect(title).to_have_text("New conversation")
    streaming(page, fake)
    fake.answers["/api/conversations"] = {"conversations": [{**first, "title": "Which bed?"}], "more": ""}
    fake.push("state", {"turn": {"open": True, "since": 0}})
    expect(title).to_have_text("Which bed?")
    assert page.title() == "Which bed? · Angelia"
    leave(page)


def test_what_is_written_from_right_to_left_begins_at_the_right(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    words = list(nodes("שלום.\n\n- אחת\n- שתיים\n\nHello."))
    page = talk(chrome, fake, address, [said(1, "مرحبا."), reply(2, words)])
    page.locator("#pen").fill("مرحبا")
    read = "all => all.map((one) => getComputedStyle(one).direction)"
    assert page.locator(".said p, .text p, .text ul, #pen").evaluate_all(read) == [*["rtl"] * 3, "ltr", "rtl"]
    leave(page)


def test_on_a_phone_a_cell_of_a_table_is_wide_enough_to_be_read(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    table = f"| bed | crop | kg | remarks |\n|-|-|-|-|\n| south | beans | 14.5 | {'some words ' * 10}|"
    page = talk(chrome, fake, address, [said(1, "Which?"), reply(2, [*nodes(table)])], width=320, height=640)
    cell = page.locator("td").last.bounding_box()
    assert cell is not None
    assert cell["width"] > 160
    leave(page)


def test_a_turn_that_nobody_works_on_says_so_and_why_and_is_gone_on_with_or_stopped(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    turn, why = {"open": True, "since": 0, "steps": 0}, "The process that did has ended before it was done."
    page = talk(chrome, fake, address, [said(1, "Count the beds.")], turn=turn, trouble=why)
    told = page.locator(".live", has_text="Nobody works on this now.")
    expect(told).to_contain_text(why)
    assert page.locator(".doing").count() == 0
    for name, path in (("Go on", "resume"), ("Stop the turn", "stop")):
        with page.expect_request(f"**/api/conversations/{TALK}/{path}"):
            told.get_by_role("button", name=name).click()
    leave(page)
