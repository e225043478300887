"""One conversation on the page: what comes, what is cut, what is answered, what is written."""
# ruff: noqa: E501 - what runs in the page stands on one line

import re
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from tests.web.page.fake import FakeServer
from tests.web.page.garden import AT, QUESTION, SECOND, TALK, fact, reply, said
from tests.web.page.talks import streaming, talk
from tests.web.page.visits import leave, visit

pytestmark = [pytest.mark.real("chromium"), pytest.mark.slow]


def _words(page: Page) -> list[str]:
    return page.locator(".log .text").all_inner_texts()


def test_a_reply_grows_by_its_last_text_node_alone_and_becomes_the_fact(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    """Finished blocks stay the very nodes they were; then the entry takes the place of what was live."""
    page = talk(chrome, fake, address, [said(1, "Count.")])
    fake.push("live", {"kind": "writing", "text": "First part.\n\nSecond ", "call": ""})
    page.wait_for_selector(".growing p:nth-of-type(2)")
    page.evaluate(
        "window.first = document.querySelector('.growing p').firstChild; window.changed = []; new MutationObserver((all) => all.forEach((one) => window.changed.push(one.target === window.first))).observe(document.querySelector('.growing'), {subtree: true, characterData: true, childList: true})"
    )
    fake.push("live", {"kind": "writing", "text": "part, and\n```py", "call": ""})
    fake.push("live", {"kind": "writing", "text": "thon\nx = 1", "call": ""})
    expect(page.locator(".growing pre")).to_have_text("x = 1")
    assert page.locator(".growing p").all_inner_texts() == ["First part.", "Second part, and"]
    assert page.evaluate(
        "document.querySelector('.growing p').firstChild === window.first && !window.changed.includes(true)"
    )
    fake.append(TALK, reply(2, [["p", {}, ["First part."]], ["pre", {"lang": "python"}, ["x = 1"]]]))
    expect(page.locator(".growing")).to_have_count(0)
    expect(page.locator(".log li[data-key='2'] pre")).to_have_text("x = 1")
    leave(page)


def test_a_wait_names_what_is_waited_for_since_when_and_until_when(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    page = talk(chrome, fake, address, [said(1, "Count.")])
    fake.push("live", {"kind": "asked", "name": "vendor:model", "since": AT, "until": AT + 600_000})
    clock = "moment => new Date(moment).toLocaleTimeString('en-GB')"
    since, until = page.evaluate(clock, AT), page.evaluate(clock, AT + 600_000)
    expect(page.locator(".log .doing")).to_have_text(f"Waits for vendor:model since {since}, until {until} at most")
    expect(page.get_by_role("button", name="Stop this turn")).to_be_visible()
    fake.push("live", {"kind": "asked", "name": "vendor:model", "since": AT, "until": 0})
    expect(page.locator(".log .doing")).to_have_text(f"Waits for vendor:model since {since}")
    fake.push("live", {"kind": "writing", "text": "One", "call": ""})
    expect(page.locator(".growing")).to_have_text("One")
    assert page.locator(".doing").count() == 0
    leave(page)


def test_a_message_that_was_taken_back_says_so(chrome: Browser, fake: FakeServer, address: str) -> None:
    page = talk(chrome, fake, address, [said(1, "Count.")])
    fake.append(TALK, said(2, "In red.", heard_at_step=0, arrival="queue"))
    fake.append(TALK, fact(3, "MessageTakenBack", said=2, by="owner"))
    expect(page.locator(".log li[data-key='said:k2'] .fate")).to_have_text("taken back")
    assert _words(page) == ["Count.", "In red."]
    leave(page)


def test_a_message_for_the_next_step_is_taken_back_until_a_request_carries_it(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    log = [said(1, "Count."), said(2, "In red.", heard_at_step=0)]
    page = talk(chrome, fake, address, log, turn={"open": True, "since": AT, "waits": [2]})
    button = page.get_by_role("button", name="Take back this message", exact=True)
    expect(page.locator(".log li[data-key='said:k2']").get_by_role("button")).to_have_count(1)
    expect(button).to_have_count(1)
    assert page.locator(".log .fate").all_inner_texts() == ["", "stored; it is read at the next step"]
    button.click()
    assert [path for path, _ in fake.writes] == [f"/api/conversations/{TALK}/entries/2/take-back"]
    leave(page)


def test_a_message_that_waits_is_taken_back_into_an_empty_composer(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    """By its button, which is at no other message; a draft is not written over, and why it is not had is said."""
    log = [
        said(1, "Count.", arrival="queue"),
        said(2, "In red.", heard_at_step=0, arrival="queue"),
        said(3, "In blue.", heard_at_step=0, arrival="queue", who="telegram:4711"),
    ]
    page = talk(chrome, fake, address, log, turn={"open": True, "since": AT, "waits": [2, 3]})
    pen, told = page.locator("#pen"), page.get_by_role("region", name="What was just done")
    button = page.get_by_role("button", name="Take back this message", exact=True)
    expect(page.locator(".log li[data-key='said:k2']").get_by_role("button")).to_have_accessible_name(
        "Take back this message"
    )
    expect(button).to_have_count(1)
    assert page.locator(".log .fate").all_inner_texts() == ["", *["stored; it is read after this turn"] * 2]
    pen.fill("half a thought")
    button.press("Enter")
    expect(told).to_contain_text("Send what you are writing first")
    assert (pen.input_value(), fake.writes) == ("half a thought", [])
    pen.fill("")
    answers: list[tuple[int, object]] = [
        (409, {"error": {"what": "This message is read already.", "why": "", "then": "Stop the turn."}}),
        (200, {"text": "In red.", "files": ["beds.csv"]}),
    ]
    fake.act = lambda path, body: answers.pop(0) if path.endswith("/take-back") else None
    button.press("Enter")
    expect(told).to_contain_text("This message is read already. Stop the turn.")
    expect(pen).to_have_value("")
    button.dispatch_event("click", {"detail": 2})  # the second of two quick presses
    button.click()
    expect(told).to_contain_text("Taken back. Attach again: beds.csv")
    expect(pen).to_have_value("In red.")
    expect(pen).to_be_focused()
    assert [path for path, _ in fake.writes] == [f"/api/conversations/{TALK}/entries/2/take-back"] * 2
    fake.append(TALK, fact(4, "MessageTakenBack", said=2, by="owner"))
    expect(button).to_have_count(0)
    fate = page.locator(".log li[data-key='said:k2'] .fate")
    expect(fate).to_have_text("taken back")
    fake.append(TALK, fact(5, "ModelAsked", heard=[2], step=1))
    expect(fate).to_have_text("read at step 1")
    leave(page)


def test_after_a_cut_the_page_equals_the_log(chrome: Browser, fake: FakeServer, address: str) -> None:
    """Facts that came while nobody listened are asked for by the last place that was taken; none comes twice."""
    page = talk(chrome, fake, address, [said(1, "Count.")])
    for seq in range(2, 32):
        fake.entries[TALK].append(reply(seq, [["p", {}, [f"number {seq}"]]]))
        if seq % 3 == 0:
            fake.cut()
        else:
            fake.push("entry", fake.entries[TALK][-1], seq)
    fake.cut()
    expect(page.locator(".log")).to_contain_text("number 31")
    assert _words(page) == ["Count.", *(f"number {seq}" for seq in range(2, 32))]
    leave(page)


def test_what_arrives_does_not_move_who_reads_above(chrome: Browser, fake: FakeServer, address: str) -> None:
    """Following ends by a movement up, and begins again only at the end."""
    page = talk(chrome, fake, address, [reply(n, [["p", {}, [f"paragraph {n} " * 30]]]) for n in range(1, 60)])
    at_end = (
        "() => { const r = document.querySelector('.roll'); return r.scrollHeight - r.scrollTop - r.clientHeight < 2 }"
    )
    page.wait_for_function(at_end)
    page.mouse.move(700, 300)
    page.mouse.wheel(0, -900)
    page.wait_for_selector(".pill")
    page.wait_for_function(
        "() => { const r = document.querySelector('.roll'); return r.scrollHeight - r.scrollTop - r.clientHeight > 890 }"
    )
    top = "() => { const row = [...document.querySelectorAll('.log > li[data-key]')].find((e) => e.getBoundingClientRect().bottom > 100); return [row.dataset.key, Math.round(row.getBoundingClientRect().top)] }"
    before = page.evaluate(top)
    for seq in range(60, 70):
        fake.append(TALK, reply(seq, [["p", {}, [f"paragraph {seq} " * 30]]]))
    fake.push("live", {"kind": "writing", "text": "and more " * 400, "call": ""})
    expect(page.locator(".growing")).to_contain_text("and more")
    assert page.evaluate(top) == before
    page.evaluate("document.querySelector('.log > li[data-key]').style.paddingBottom = '300px'")  # a picture above, say
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate(top) == before
    page.get_by_role("button", name="To the end").click()
    page.wait_for_function(at_end)
    fake.push("live", {"kind": "writing", "text": "the last words " * 200, "call": ""})
    expect(page.locator(".growing")).to_contain_text("the last words")
    page.wait_for_function(at_end)
    assert page.locator(".pill").count() == 0
    leave(page)


def test_a_long_command_is_read_to_its_end_before_it_can_be_allowed(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    """Nothing of it is cut; until its end was in view the main button turns the page; then it is deaf for a moment."""
    command = "\n".join(f"step-{n} --with '{'x' * 90}'" for n in range(60))
    page = talk(chrome, fake, address, questions=[{**QUESTION, "whole": command, "marks": []}], width=390, height=700)
    assert page.locator(".ask .cmd").inner_text() == command
    main = page.locator(".ask .go .main")
    expect(main).to_have_text(re.compile("Read on"))
    box, window = main.bounding_box(), page.viewport_size
    assert box
    assert window
    assert box["y"] + box["height"] <= window["height"]
    page.locator(".ask").focus()
    page.keyboard.press("Enter")
    for _ in range(60):
        if "Read on" not in main.inner_text():
            break
        page.wait_for_timeout(20)
        page.keyboard.press("y")
    expect(main).to_have_text(re.compile("Allow once"))
    page.keyboard.press("y")
    assert not [path for path, _ in fake.writes if path.endswith("/answers")], "it was deaf"
    page.wait_for_timeout(550)
    page.keyboard.press("y")
    page.wait_for_function("() => document.querySelector('.toast')")
    assert [body for path, body in fake.writes if path.endswith("/answers")] == [
        {"call": "c9", "digest": "d9", "yes": True, "words": "", "scope": "once", "until": 0}
    ]
    leave(page)


def test_what_was_answered_elsewhere_is_one_calm_line(chrome: Browser, fake: FakeServer, address: str) -> None:
    """A press that comes second counts for nothing and alarms nobody; the log says who answered."""
    entries = [
        said(1, "Push."),
        reply(2, [], {"id": "c9", "name": "shell", "line": "$ git push", "arguments": {}}),
        fact(3, "ApprovalAsked", **{name: value for name, value in QUESTION.items() if name not in ("seq", "at")}),
    ]
    page = talk(chrome, fake, address, entries, questions=[QUESTION])
    fake.act = lambda path, body: (
        (409, {"error": {"what": "It is not open any more.", "why": "", "then": ""}})
        if path.endswith("/answers")
        else None
    )
    page.wait_for_selector(".ask[data-read]")
    page.wait_for_timeout(550)
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator(".toast")).to_have_text("It was answered elsewhere.")
    fake.append(TALK, fact(4, "ApprovalGiven", call="c9", by="owner", scope="once", answer="", door="telegram"))
    fake.push(
        "state", {"turn": {"open": True, "since": AT}, "questions": [], "work": [], "spent": {"cost": 1, "tokens": 1}}
    )
    expect(page.locator(".log .note.calm")).to_contain_text("by you on Telegram")
    expect(page.locator(".ask")).to_have_count(0)
    assert page.locator(".log .note.calm").inner_text().startswith("Allowed once")
    leave(page)


def test_a_draft_is_kept_for_its_conversation_as_it_was_typed(chrome: Browser, fake: FakeServer, address: str) -> None:
    """Going elsewhere, coming back and reading the page anew lose no letter."""
    page = talk(chrome, fake, address, [said(1, "Hello.")])
    page.locator("#pen").fill("half a thought,\n  indented")
    page.evaluate("location.hash = '#/receipts'")
    page.wait_for_selector(".ld")
    page.evaluate(f"location.hash = '#/c/{TALK}'")
    expect(page.locator("#pen")).to_have_value("half a thought,\n  indented")
    page.reload()
    page.wait_for_selector("#pen")
    assert page.locator("#pen").input_value() == "half a thought,\n  indented"
    leave(page)


def test_a_message_is_said_otherwise_by_its_pen_and_a_draft_is_not_written_over(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    page = talk(chrome, fake, address, [said(1, "Hello."), reply(2, [["p", {}, ["Hello."]]]), said(3, "Which bed?")])
    page.locator("#pen").fill("half a thought")
    pens = page.get_by_role("button", name="Say this otherwise")
    pens.last.click()
    expect(page.get_by_role("region", name="What was just done")).to_contain_text("Send what you are writing first")
    expect(page.locator("#pen")).to_have_value("half a thought")
    page.locator("#pen").fill("")
    pens.last.click()
    expect(page.locator("#pen")).to_have_value("/edit #3 Which bed?")
    pens.first.click()
    expect(page.locator("#pen")).to_be_focused()
    assert page.locator("#pen").input_value() == "/edit #1 Hello."
    leave(page)


def test_what_is_written_without_a_connection_is_sent_later_unchanged(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    """It stands there as not sent, the bar says since when nothing was heard, and the same key goes out again."""
    page = talk(chrome, fake, address, [said(1, "Hello.")])
    fake.away = True
    fake.cut()
    page.wait_for_selector(".since")
    assert "Nothing heard since" in page.locator(".since").inner_text()
    page.locator("#pen").fill("Water the beds.")
    page.keyboard.press("Enter")
    expect(page.locator(".log")).to_contain_text("not sent")
    key = page.evaluate("JSON.parse(localStorage.getItem('angelia.outbox'))[0].key")
    fake.away = False
    page.get_by_role("button", name="Try now").click()
    expect(page.locator(".since")).to_have_count(0)
    page.wait_for_function("() => !document.querySelector('.log').textContent.includes('not sent')")
    sent = [body for path, body in fake.writes if path.endswith("/messages")]
    assert [(body["text"], body["key"]) for body in sent] == [("Water the beds.", key)]
    assert len(key) > 20
    fake.append(TALK, said(2, "Water the beds.", key=sent[0]["key"]))
    expect(page.locator(".log .said")).to_have_count(2)
    assert page.evaluate("localStorage.getItem('angelia.outbox')") == "[]"
    leave(page)


def test_enter_steers_ctrl_enter_queues_and_composing_sends_nothing(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    """Half a word of an input method is never sent; Shift Enter is a line."""
    page = talk(chrome, fake, address, [said(1, "Hello.")])
    pen = page.locator("#pen")
    pen.fill("一")
    page.evaluate(
        "document.querySelector('#pen').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true}))"
    )
    pen.press("Shift+Enter")
    expect(pen).to_have_value("一\n")
    pen.fill("now")
    pen.press("Enter")
    expect(pen).to_have_value("")
    pen.fill("later")
    pen.press("Control+Enter")
    expect(pen).to_have_value("")
    page.wait_for_timeout(50)
    assert [(body["text"], body["arrival"]) for path, body in fake.writes if path.endswith("/messages")] == [
        ("now", "steer"),
        ("later", "queue"),
    ]
    leave(page)


def test_files_come_by_button_and_by_drop_and_go_with_the_message(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    """Each is stored first; what is too large says so and is not sent."""
    page = talk(chrome, fake, address, [said(1, "Hello.")])

    def act(path: str, body: object) -> tuple[int, object] | None:
        if path != "/api/uploads":
            return None
        if isinstance(body, bytes) and len(body) > 1000:
            return 413, {"error": {"what": "It is 1 kB, and at most 1 kB can be stored.", "why": "", "then": ""}}
        return 200, {
            "id": f"u{len(fake.writes)}",
            "name": "n",
            "size": 3,
            "kind": "document",
            "mime": "text/plain",
            "seconds": 0,
        }

    fake.act = act
    beds: FilePayload = {"name": "beds.csv", "mimeType": "text/csv", "buffer": b"a,b"}
    large: FilePayload = {"name": "large.bin", "mimeType": "application/octet-stream", "buffer": b"x" * 2000}
    page.locator("input[type=file]").set_input_files([beds, large])
    expect(page.locator(".uploads")).to_contain_text("3 bytes")
    expect(page.locator(".uploads .bad")).to_contain_text("at most 1 kB")
    page.evaluate(
        """() => { const data = new DataTransfer(); data.items.add(new File(["png"], "chart.png")); document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true})) }"""
    )
    expect(page.locator(".uploads")).to_contain_text("chart.png")
    page.wait_for_function("() => !document.querySelector('.uploads').textContent.includes('being stored')")
    page.locator("#pen").fill("Look at these.")
    page.keyboard.press("Enter")
    expect(page.locator(".uploads")).to_have_count(0)
    page.wait_for_timeout(50)
    assert [body["files"] for path, body in fake.writes if path.endswith("/messages")] == [["u1", "u3"]]
    leave(page)


def test_all_of_it_is_reached_by_the_keyboard_alone(chrome: Browser, fake: FakeServer, address: str) -> None:
    """Pages by G and a letter, rows by J and K, the palette, what waits, no key while typing."""
    page = visit(chrome, f"{address}/#/overview")
    page.wait_for_selector(".items")
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.wait_for_selector(".rows a")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("o")
    page.wait_for_function("() => location.hash.includes('receipts/')")
    page.keyboard.press("Control+k")
    page.wait_for_selector(".pal input")
    page.keyboard.type("harvest")
    page.keyboard.press("Enter")
    page.wait_for_selector(".ask")
    page.keyboard.type("gr")
    expect(page.locator("#pen")).to_have_value("gr")
    page.keyboard.press("Control+.")
    assert page.evaluate("document.activeElement.className").startswith("ask")
    page.wait_for_selector(".ask[data-read]")
    page.wait_for_timeout(550)
    page.keyboard.press("n")
    page.wait_for_selector(".toast")
    assert [body["yes"] for path, body in fake.writes if path.endswith("/answers")] == [False]
    leave(page)


def test_the_code_in_the_link_becomes_a_cookie_and_leaves_the_address(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    """A spent one shows how to get another; a pasted link works."""
    fake.act = lambda path, body: (
        (204, None)
        if body == {"code": "good"}
        else (401, {"error": {"what": "This link was used already.", "why": "", "then": "angelia web gives another."}})
    )
    page = visit(chrome, f"{address}/#code=good")
    page.wait_for_selector(".items")
    assert "code" not in page.url
    leave(page)
    page = visit(chrome, f"{address}/#code=spent")
    expect(page.locator("[role=alert]").first).to_contain_text("used already")
    page.locator("#code").fill(f"{address}/#code=good")
    page.keyboard.press("Enter")
    page.wait_for_selector(".items")
    leave(page)


def test_who_does_not_look_is_told_outside_of_the_page(chrome: Browser, fake: FakeServer, address: str) -> None:
    """Only where they allowed it, and only when more waits than before."""
    page = visit(chrome, f"{address}/#/keys", permissions=["notifications"])
    page.evaluate(
        "() => { window.told = []; window.Notification = class { static permission = 'granted'; static requestPermission = async () => 'granted'; constructor(title, { body }) { window.told.push(body) } } }"
    )
    page.get_by_label("Tell me outside").check()
    expect(page.get_by_label("Tell me outside")).to_be_checked()
    streaming(page, fake)
    page.evaluate("Object.defineProperty(document, 'visibilityState', {value: 'hidden'})")
    fake.answers["/api/questions"] = {"questions": [QUESTION, SECOND, QUESTION]}
    fake.push("home", {"changed": []})
    page.wait_for_function("() => window.told.length")
    assert page.evaluate("window.told") == ["6 things wait for you."]
    leave(page)


def test_a_name_is_chosen_behind_an_at_by_keys_and_by_mouse(chrome: Browser, fake: FakeServer, address: str) -> None:
    """What is offered is taken by Tab, Enter or a click; Enter after a whole name sends, and Escape leaves it be."""
    page = talk(chrome, fake, address, [said(1, "Count.")])
    fake.answers[f"/api/conversations/{TALK}/names"] = {
        "found": [
            {"path": "my harvest.csv", "mention": '@"my harvest.csv"', "size": 41},
            {"path": "shelf:beds/north", "mention": "@shelf:beds/north", "size": -1},
        ]
    }
    pen = page.locator("#pen")
    pen.press_sequentially("Look at @har")
    expect(page.locator("#names [role=option]")).to_have_count(2)
    assert pen.get_attribute("aria-activedescendant") == "n0"
    pen.press("ArrowDown")
    pen.press("Tab")
    expect(pen).to_have_value("Look at @shelf:beds/north ")
    pen.press_sequentially('and @"my')
    page.get_by_role("option", name="my harvest.csv").click()
    expect(pen).to_have_value('Look at @shelf:beds/north and @"my harvest.csv" ')
    expect(page.locator("#names")).to_have_count(0)
    pen.press_sequentially("@x")
    page.wait_for_selector("#names")
    pen.press("Escape")
    expect(page.locator("#names")).to_have_count(0)
    with page.expect_response(lambda one: one.url.endswith("/messages")):
        pen.press("Enter")
    expect(pen).to_have_value("")
    [written] = [body for path, body in fake.writes if path.endswith("/messages")]
    assert written["text"] == 'Look at @shelf:beds/north and @"my harvest.csv" @x'
    leave(page)
    fake.answers["POST /api/conversations"] = {"id": TALK}
    page = visit(chrome, f"{address}/#/new")
    page.locator("#pen").press_sequentially("Look at @har")
    page.get_by_role("option", name="my harvest.csv").click()
    expect(page.locator("#pen")).to_have_value('Look at @"my harvest.csv" ')
    page.locator("#pen").press("Enter")
    page.wait_for_function(f"() => location.hash === '#/c/{TALK}'")
    assert [path for path, _ in fake.writes].count("/api/conversations") == 1, (
        "the one that its names were looked for in"
    )
    leave(page)


def test_conversations_are_of_the_doors_and_folders_that_there_are(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    page = visit(chrome, f"{address}/#/conversations")
    page.wait_for_selector(".rows a")
    doors = page.get_by_role("group", name="Door").get_by_role("button")
    expect(doors).to_have_text(["All", "Terminal", "Telegram", "This page"])
    with page.expect_request(lambda request: "folder=" in request.url) as asked:
        page.get_by_label("Folder").select_option(index=1)
    chosen = page.get_by_label("Folder").input_value()
    assert quote_plus(chosen) in asked.value.url
    leave(page)
