"""Every page and state, narrow and wide, dark and light: nothing refused, no barrier, no sideways scroll."""
# ruff: noqa: E501 - a place and what shows it stand on one line

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.examples import TIMES
from tests.web.page.fake import FakeServer
from tests.web.page.garden import CHART, SECOND, TALK, reply, said, state
from tests.web.page.visits import axe, barriers, leave, visit, wider_than_its_window

pytestmark = [pytest.mark.real("chromium"), pytest.mark.real("npm"), pytest.mark.slow]

PLACES = {
    "overview": ".items", "conversations": ".rows a", "conversations/find/seed": ".rows mark", f"receipts/{TALK}/d2": ".trail", "schedule/s2": ".trail", "notes/4": ".big", "skills/letters": ".code.whole", "skills/beds": ".note.wait", "channels/matrix": ".note",
    "servers/weather": ".detail h2", "grants/1": ".detail h2", "audit/812": ".detail h2", "usage": ".days", "settings/limits.max_cost": ".f2", "doctor": ".checks",
    "keys": ".keys", "more": ".morelist", "new": "#pen", f"c/{TALK}": ".ask", f"c/{TALK}/1": ".ask", "channels": ".rows a",
}  # fmt: skip
WIDTHS = (320, 768, 1440)


def _look(page: Page, source: str, place: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900 if width > 400 else 640})
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert wider_than_its_window(page) == [], (place, width)
    assert barriers(page, source) == [], (place, width)


@pytest.mark.soak(every=2)
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_every_page_has_no_barrier_and_no_sideways_scroll(chrome: Browser, address: str, scheme: str) -> None:
    """Each place dark or light, at one width of three, in turn; `make soak` takes all of them."""
    source = axe()
    page = visit(chrome, f"{address}/#/overview", color_scheme=scheme, reduced_motion="reduce")
    for turn, (place, shows) in enumerate(PLACES.items()):
        if not TIMES and turn % 2 == (scheme == "dark"):
            continue
        page.evaluate(f"location.hash = '#/{place}'")
        page.wait_for_selector(shows, state="attached")
        for width in WIDTHS if TIMES else [WIDTHS[turn % 3]]:
            _look(page, source, place, width)
    leave(page)


@pytest.mark.soak
def test_what_floats_and_what_is_wrong_has_no_barrier(chrome: Browser, fake: FakeServer, address: str) -> None:
    """Palette, dialog, sheet, a picture large, an opened call, a lost line, a failure, nothing at all, logging in."""
    source = axe()
    page = visit(chrome, f"{address}/#/c/{TALK}", reduced_motion="reduce", color_scheme="dark")
    page.wait_for_selector(".ask[data-read]")
    page.keyboard.press("Control+k")
    page.wait_for_selector(".pal [role=option]")
    _look(page, source, "palette", 1440)
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.querySelector('.ask').getAttribute('data-read') === 'yes'")
    page.get_by_role("button", name="Allow for longer…").click()
    page.wait_for_selector("dialog.longer[open]")
    _look(page, source, "for longer", 320)
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog.longer", state="detached")
    page.locator(".pic button").first.press("Enter")  # wherever it moves to while the page settles
    page.wait_for_selector("dialog.large[open]")
    _look(page, source, "large", 768)
    page.keyboard.press("Escape")
    page.locator(".strip").click()
    page.wait_for_selector("dialog.sheet[open]")
    _look(page, source, "sheet", 768)
    page.keyboard.press("Escape")
    page.get_by_text("pip install matplotlib").first.click()
    page.get_by_role("button", name="Mode: edit").click()
    _look(page, source, "opened", 768)
    fake.answers["/api/conversations"] = {"conversations": [], "more": ""}
    fake.answers["/api/questions"] = {"questions": []}
    fake.answers |= {"/api/receipts": {"receipts": [], "more": ""}, "/api/schedules": {"schedules": []}}
    fake.answers.pop("/api/usage")
    fake.failures["/api/usage"] = {"what": "`usage` cannot be read.", "why": "", "then": "Run `angelia doctor`."}
    for place, shows in {
        "overview": "text=Nothing waits for you",
        "usage": ".failure",
        "conversations": ".empty",
    }.items():
        page.evaluate(f"location.hash = '#/{place}'")
        page.wait_for_selector(shows)
        _look(page, source, place, 320)
        if place == "usage":
            expect(page.locator(".failure")).to_contain_text("Run angelia doctor.")
            assert page.locator(".failure code").all_inner_texts() == ["usage", "angelia doctor"]
    leave(page)


def test_what_was_just_done_is_told_within_a_landmark_and_commands_in_it_as_such(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    refused = {"what": "It cannot be dropped.", "why": "", "then": "See `angelia notes`."}
    fake.act = lambda path, body: (422, {"error": refused}) if path.startswith("/api/notes/") else None
    page = visit(chrome, f"{address}/#/notes", reduced_motion="reduce")
    page.locator(".rows a").first.click()
    page.get_by_role("button", name="Drop it").click()
    told = page.get_by_role("region", name="What was just done")
    expect(told).to_contain_text("It cannot be dropped. See angelia notes.")
    assert told.locator("code").all_inner_texts() == ["angelia notes"]
    expect(page.get_by_role("alert").last).to_have_text("It cannot be dropped. See angelia notes.")
    assert barriers(page, axe()) == []
    page.context.close()


def test_a_choice_and_an_ended_turn_have_no_barrier(chrome: Browser, fake: FakeServer, address: str) -> None:
    """A question with choices; a turn that ended without an answer; a message that waits, and can be taken back."""
    question = {
        **SECOND,
        "asks": "choice",
        "choices": ["The south bed", "The north bed"],
        "whole": "",
        "pattern": "",
        "picture": CHART,
    }
    fake.answers[f"/api/conversations/{TALK}"] = state(questions=[question])
    sentence = "anthropic:sonnet-5.5 did not answer after 4 tries. Your message is kept."
    fake.entries[TALK].append(
        {
            "seq": 31,
            "at": 0,
            "kind": "TurnClosed",
            "ending": "ModelUnavailable",
            "sentence": sentence,
            "tone": "warning",
        }
    )
    fake.entries[TALK].append(said(32, "And in red.", heard_at_step=0, arrival="queue"))
    source = axe()
    page = visit(chrome, f"{address}/#/c/{TALK}", reduced_motion="reduce", color_scheme="light")
    page.wait_for_selector(".ask >> text=The south bed")
    expect(page.locator(".ask .pic img")).to_have_js_property("complete", value=True)
    _look(page, source, "choice", 320)
    page.get_by_role("button", name="The north bed").wait_for()
    expect(page.get_by_role("button", name="Take back this message")).to_be_attached()
    leave(page)


def test_what_is_a_string_in_code_has_its_colour_and_is_not_struck_out(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    code = ["pre", {"lang": "python"}, ["open(", ["s", {}, ['"a.csv"']], ")"]]
    fake.entries[TALK] = [reply(1, [code, ["p", {}, [["s", {}, ["gone"]]]]])]
    page = visit(chrome, f"{address}/#/c/{TALK}", reduced_motion="reduce")
    page.wait_for_selector(".log s")
    assert page.locator(".log .code .s").all_inner_texts() == ['"a.csv"']
    assert page.locator(".log s").all_inner_texts() == ["gone"]
    leave(page)


def test_a_skill_of_a_server_is_read_before_it_can_be_said_yes_to(
    chrome: Browser, fake: FakeServer, address: str
) -> None:
    """Why it cannot be read stands there; once it was, all of it is shown, and the yes is to that version."""
    about = {
        "key": "tea",
        "name": "garden:tea",
        "of": "a server",
        "state": "new",
        "said": "new",
        "does": "Makes tea.",
        "unseen": True,
        "path": "garden:skill://tea/SKILL.md",
        "allowed": [],
        "remarks": [],
    }
    listed = {**about, "digest": "", "files": []}
    shown = {
        **about,
        "digest": "5b0f62aa91c2",
        "files": [
            {
                "path": "SKILL.md",
                "size": 96,
                "executable": False,
                "sha256": "ab12",
                "state": "whole",
                "text": "Use PEAR leaves.",
            }
        ],
    }
    fake.answers |= {"/api/skills": {"skills": [listed]}, "/api/skills/tea": listed}
    away = {
        "error": {
            "what": "No skill 'garden:tea' can be had now.",
            "why": "The server garden did not answer.",
            "then": "",
        }
    }
    fake.act = lambda path, body: (404, away) if path.endswith("/read") else None
    source = axe()
    page = visit(chrome, f"{address}/#/skills/tea", reduced_motion="reduce", color_scheme="dark")
    read = page.get_by_role("button", name="Read its files")
    expect(read).to_be_visible()
    expect(page.get_by_role("button", name="Use it as it is now")).to_have_count(0)
    read.click()
    expect(page.locator(".detail .cannot")).to_contain_text("The server garden did not answer.")
    _look(page, source, "a server that is away", 320)
    fake.act = lambda path, body: (200, shown) if path.endswith("/read") else None
    read.click()
    expect(page.locator(".code.whole")).to_contain_text("Use PEAR leaves.")
    _look(page, source, "a served skill", 320)
    page.get_by_role("button", name="Use it as it is now").click()
    page.wait_for_selector(".toast >> text=It may be used as it is now.")
    assert fake.writes[-1] == ("/api/skills/tea/pin", {"digest": "5b0f62aa91c2"})
    leave(page)
