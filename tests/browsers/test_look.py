"""What is shown of a page: what a person could see, where something can be done, and nothing besides."""

import re

import pytest

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.port import ActFailed, ActOutcome
from angelia.browsers.snapshot import MOST, PageLine, PageLook, changes, found
from tests.browsers.site import Site

pytestmark = pytest.mark.anyio

FORM = """<title>Bistro</title><h1>Book a table</h1><p>Welcome to <b>our</b> place.</p>
<label>Name <input name=n></label><label>When <input type=date></label>
<input type=password aria-label=Code value=secret><select aria-label=Seats><option>1<option selected>2</select>
<label><input type=checkbox checked> By the window</label><textarea placeholder=Wishes></textarea>
<button disabled>Book</button><a href=/menu>Menu</a><img src=x alt="A plate">"""


async def shown(browser: ChromiumBrowser, site: Site, page: str, *, whole: bool = False) -> list[str]:
    """The lines of a page."""
    site.pages["/"] = page
    tab = await browser.opened()
    await tab.go(site.url())
    return [line.shown() for line in (await tab.look(whole=whole)).lines]


async def test_a_label_around_its_list_and_a_sign_that_says_what_it_is_for_are_names(
    browser: ChromiumBrowser, site: Site
) -> None:
    """As Django's admin has them."""
    page = """<label>Action: <select><option>Delete<option>Keep</select></label>
        <a href=/day><span style="display: inline-block; width: 9px; height: 9px" title="Choose a Date"></span></a>"""
    assert await shown(browser, site, page) == [
        'combobox "Action:" [e1] = "Delete" of "Delete" "Keep"',
        'link "Choose a Date" [e2]',
    ]


async def test_a_form_is_read_as_a_person_sees_it(browser: ChromiumBrowser, site: Site) -> None:
    assert await shown(browser, site, FORM) == [
        'heading "Book a table" level 1',
        "Welcome to our place.",
        'textbox "Name" [e1]',
        'textbox "When" [e2]',
        'textbox "Code" [e3] = •••',
        'combobox "Seats" [e4] = "2" of "1" "2"',
        'checkbox "By the window" [e5] checked',
        'textbox "Wishes" [e6]',
        'button "Book" [e7] disabled',
        'link "Menu" [e8]',
        'img "A plate"',
    ]


@pytest.mark.parametrize(
    "hidden",
    [
        "<p style='display:none'>ORDER</p>",
        "<p style='visibility:hidden'>ORDER</p>",
        "<p style='opacity:0'>ORDER</p>",
        "<p style='font-size:1px'>ORDER</p>",
        "<p style='color:white'>ORDER</p>",
        "<p style='color:#fefefe;background:#fff'>ORDER</p>",
        "<p style='color:transparent'>ORDER</p>",
        "<p style='background:#123;color:#133'>ORDER</p>",
        "<p style='color:#eee'>ORDER</p>",
        "<div style='background:#123;'><span style='color:#123'>ORDER</span></div>",
        "<p style='position:absolute;left:-9999px'>ORDER</p>",
        "<div style='width:1px;height:1px;overflow:hidden'>ORDER</div>",
        "<div style='height:0;overflow:hidden'><p>ORDER</p></div>",
        "<!-- ORDER --><script>/* ORDER */</script><template>ORDER</template><noscript>ORDER</noscript>",
        "<meta name=description content=ORDER><p title=ORDER>shown</p>",
    ],
)
async def test_words_that_nobody_can_see_are_not_told(browser: ChromiumBrowser, site: Site, hidden: str) -> None:
    lines = await shown(browser, site, f"<h1>Seen</h1>{hidden}", whole=True)
    assert 'heading "Seen" level 1' in lines
    assert "ORDER" not in "\n".join(lines)


@pytest.mark.parametrize("colours", ["color:#ddd", "background:#123;color:#246", "background:#fff;color:#ff9"])
async def test_words_that_are_only_pale_are_told(browser: ChromiumBrowser, site: Site, colours: str) -> None:
    assert await shown(browser, site, f"<p style='{colours}'>Pale</p>") == ["Pale"]


async def test_a_body_without_height_hides_nothing_that_stands_beside_it(browser: ChromiumBrowser, site: Site) -> None:
    """As that of JupyterLab: its overflow is the view's, and all that is on the page stands in absolute places."""
    body = "<body style='margin:0;overflow:hidden'><div style='position:absolute;top:100px'><button>Run</button></div>"
    page = f"<!doctype html>{body}"
    assert await shown(browser, site, page) == ['button "Run" [e1]']


CLIP = "height:20px;overflow:hidden"
AT = "left:0;top:200px"
PLACED = {
    "absolute, in one that is not positioned": (f"<div style='{CLIP}'><div style='position:absolute;{AT}'>", True),
    "absolute, in one that is": (f"<div style='position:relative;{CLIP}'><div style='position:absolute;{AT}'>", False),
    "absolute, within one that is, further in": (
        f"<div style='{CLIP}'><div style='position:relative'><div style='position:absolute;{AT}'>",
        False,
    ),
    "absolute, in a positioned one around": (
        f"<div style='position:relative;height:300px'><div style='{CLIP}'><div style='position:absolute;{AT}'>",
        True,
    ),
    "fixed": (f"<div style='position:relative;{CLIP}'><div style='position:fixed;{AT}'>", True),
    "fixed, in one that is moved": (f"<div style='transform:scale(1);{CLIP}'><div style='position:fixed;{AT}'>", False),
    "in the flow of an absolute one": (
        f"<div style='{CLIP}'><div style='position:absolute;{AT}'><div style='{CLIP}'><p style='margin:60px 0'>",
        False,
    ),
}


@pytest.mark.parametrize("kind", PLACED)
@pytest.mark.parametrize("whole", [False, True])
async def test_what_is_placed_by_a_box_further_out_is_not_cut_off(
    browser: ChromiumBrowser, site: Site, kind: str, whole: bool
) -> None:
    """A menu is often the child of a list that scrolls, and stands beside it (CSS Overflow 3, 2)."""
    page, seen = PLACED[kind]
    lines = await shown(browser, site, f"<h1>Seen</h1>{page}<button>Menu</button>", whole=whole)
    assert lines == ['heading "Seen" level 1', *(['button "Menu" [e1]'] if seen else [])]


async def test_what_is_placed_by_a_box_further_out_is_counted_out_of_view(browser: ChromiumBrowser, site: Site) -> None:
    site.pages["/"] = f"""<div style='{CLIP}'><button style='position:absolute;top:3000px'>Menu</button>
        <button style='position:relative;top:3000px'>Cut off</button></div>"""
    tab = await browser.opened()
    await tab.go(site.url())
    assert (await tab.look()).below == 1


async def test_what_listens_can_be_acted_on_though_no_tag_says_so(browser: ChromiumBrowser, site: Site) -> None:
    page = """<div id=a>One</div><div id=b>Two</div><div>Three</div><script>
    a.addEventListener('click', () => 0); b.addEventListener('mousedown', () => 0)</script>"""
    assert await shown(browser, site, page) == ['div "One" [e1]', 'div "Two" [e2]', "Three"]


async def test_what_listens_around_a_button_or_within_it_is_not_told_beside_it(
    browser: ChromiumBrowser, site: Site
) -> None:
    """As JupyterLab has it: of a hundred lines forty were such."""
    page = """<div class=l><div class=l aria-label=Save>
        <button aria-label=Save><span class=l><svg width=9 height=9></svg></span></button></div></div>
        <div class=l style='height:30px'></div>
        <div class=l>Named <button>In it</button></div>
        <h1>Title <i class=l style='display:inline-block;width:9px;height:9px'></i></h1>
        <script>document.querySelectorAll('.l').forEach((one) => one.addEventListener('click', () => 0))</script>"""
    lines = await shown(browser, site, page)
    assert [re.sub(r" \[e\d+\]", " [e]", line) for line in lines] == [
        'button "Save" [e]',
        "div [e]",
        "Named",
        'button "In it" [e]',
        'heading "Title" level 1',
        "i [e]",
    ]


async def test_shadow_roots_and_frames_are_part_of_the_page(browser: ChromiumBrowser, site: Site) -> None:
    page = """<my-x></my-x><iframe srcdoc="<p>Within</p><button>Deep</button>"></iframe><script>
    customElements.define('my-x', class extends HTMLElement { constructor() { super();
    this.attachShadow({ mode: 'open' }).innerHTML = '<button>In the shadow</button>' } })</script>"""
    lines = await shown(browser, site, page)
    assert lines[0] == 'button "In the shadow" [e1]'
    assert lines[2:] == ["Within", 'button "Deep" [e3]', "(end of the frame)"]


async def test_what_is_out_of_view_is_counted(browser: ChromiumBrowser, site: Site) -> None:
    site.pages["/"] = "<a href=/1>Top</a><div style='height:3000px'></div><a href=/2>Low</a><a href=/3>Lower</a>"
    tab = await browser.opened()
    await tab.go(site.url())
    look = await tab.look()
    assert ([line.name for line in look.lines], look.above, look.below) == (["Top"], 0, 2)
    assert "↓ 2 more below" in look.words()
    await tab.scroll(10)
    look = await tab.look()
    assert ([line.name for line in look.lines], look.above, look.below) == (["Low", "Lower"], 1, 0)
    assert [line.name for line in (await tab.look(whole=True)).lines] == ["Top", "Low", "Lower"]


async def test_a_reference_lives_as_long_as_its_element(browser: ChromiumBrowser, site: Site) -> None:
    site.pages["/"] = "<button id=a>A</button><button id=b>B</button>"
    tab = await browser.opened()
    await tab.go(site.url())
    assert [line.ref for line in (await tab.look()).lines] == ["e1", "e2"]
    await tab.frames.evaluate(tab.frames.page, "{ document.body.prepend(b); b.textContent = 'Bee'; 1 }")
    assert [(line.name, line.ref) for line in (await tab.look()).lines] == [("Bee", "e2"), ("A", "e1")]
    await tab.frames.evaluate(tab.frames.page, "{ a.remove(); 1 }")
    with pytest.raises(ActFailed) as gone:
        await tab.click("e1")
    assert gone.value.outcome is ActOutcome.GONE
    await tab.move("reload")
    assert {line.ref for line in (await tab.look()).lines}.isdisjoint({"e1", "e2"}), "no reference is given twice"


async def test_a_huge_page_is_bounded_and_all_of_it_can_be_found(browser: ChromiumBrowser, site: Site) -> None:
    rows = "".join(f"<tr><td>Thing {number}<td><button>Buy {number}</button>" for number in range(3000))
    site.pages["/"] = f"<table>{rows}</table>"
    tab = await browser.opened()
    await tab.go(site.url())
    look = await tab.look()
    assert len(look.words()) < 4000
    assert look.below > 2900
    whole = await tab.look(whole=True)
    assert len(whole.words()) <= MOST
    assert "Thing 2777" in found(whole, r"thing 2777\b")
    assert "Buy 2777" in found(whole, r"thing 2777\b"), "with its neighbours"


def look(*names: str, url: str = "http://a.example/") -> PageLook:
    """A page of buttons."""
    return PageLook(url, "A", tuple(PageLine(role="button", name=name, ref=f"e{n}") for n, name in enumerate(names)))


def test_what_has_changed_is_told_and_no_more() -> None:
    before = look("One", "Two")
    assert changes(before, before) == "Nothing in view has changed."
    told = changes(before, look("One", "Three"))
    assert '+ button "Three" [e1]' in told
    assert "1 line that was in view before" in told
    assert "One" not in told
    assert "One" in changes(before, look("One", url="http://b.example/")), "another page is told whole"


def test_nothing_found_says_how_much_was_looked_through() -> None:
    assert "(2 lines looked through)" in found(look("One", "Two"), "three")
    assert 'button "One (" [e0]' in found(look("One ("), "One ("), "no regular expression: taken as words"


async def test_a_page_outlives_being_looked_at(browser: ChromiumBrowser, site: Site) -> None:
    """What is asked about listeners in a world of ours ended its process, once garbage was collected."""
    site.pages["/"] = "<div id=cover onclick='1'>Begin</div><script>document.body.onclick = () => 1</script>"
    tab = await browser.opened()
    garbage = {"expression": "(() => { let at = []; for (let i = 0; i < 3e6; i++) at = [i, {}]; return 0 })()"}
    for _ in range(3):
        await tab.go(site.url())
        for _ in range(2):
            before = [line.ref for line in (await tab.look(whole=True)).lines]
            await tab._call("Runtime.evaluate", garbage)
            await tab._call("Runtime.evaluate", {**garbage, "contextId": tab.frames.page.world})
        assert [line.ref for line in (await tab.look(whole=True)).lines] == before


async def test_all_that_scrolling_within_a_page_would_show_is_found(browser: ChromiumBrowser, site: Site) -> None:
    """And what floats in a list that listens has its clicks, though the list itself has no height."""
    rows = "".join(f"<li style='float:left;width:90px;height:60px'>Row {number}</li>" for number in range(20))
    site.pages["/"] = f"""<div style='height:100px;width:200px;overflow-y:scroll'><ul id=list>{rows}</ul></div>
        <div style='height:20px;overflow:hidden'><p style='margin-top:60px'>Cut off</p></div>
        <script>list.addEventListener('mousedown', () => 1)</script>"""
    tab = await browser.opened()
    await tab.go(site.url())
    assert "Row 19" not in (await tab.look()).words()
    whole = [line.shown() for line in (await tab.look(whole=True)).lines]
    assert any(line.startswith('li "Row 19" [') for line in whole)
    assert "Cut off" not in whole
