"""Frames of other origins and closed shadow roots: looked into and acted in like the page itself."""

import pytest

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.chromium.tab import Tab
from angelia.browsers.port import ActFailed, ActOutcome
from tests.browsers.site import Site

pytestmark = pytest.mark.anyio

INNER = """<h2>Pay</h2><input aria-label=Card><select aria-label=Year><option>26<option>27</select>
<div id=pad>Pad</div><button onclick="out.textContent = 'paid ' + document.querySelector('input').value">Pay now
</button><p id=out></p><script>pad.addEventListener('click', () => out.textContent = 'padded')</script>"""


async def shop(browser: ChromiumBrowser, site: Site, frame: str) -> Tab:
    """A page with a frame, looked at."""
    site.pages["/"] = f"<h1>Shop</h1><div style='height:20px'></div>{frame}<p>After</p>"
    tab = await browser.opened()
    await tab.go(site.url())
    await tab.look()
    return tab


async def lines(tab: Tab) -> list[str]:
    """What is in view."""
    return [line.shown() for line in (await tab.look()).lines]


def frames(site: Site) -> dict[str, str]:
    """The same document in a process of its own, and in the page's process under another origin."""
    return {
        "another site": f"<iframe title=Till src='{site.url('/inner', 'other.example')}' height=260></iframe>",
        "sandboxed": "<iframe title=Till sandbox='allow-scripts' src=/inner height=260></iframe>",
    }


@pytest.mark.parametrize("kind", ["another site", "sandboxed"])
async def test_a_frame_of_another_origin_is_read_and_acted_in(browser: ChromiumBrowser, site: Site, kind: str) -> None:
    site.pages["/inner"] = INNER
    tab = await shop(browser, site, frames(site)[kind])
    of = site.url("", "other.example" if kind == "another site" else "site.example")
    assert await lines(tab) == [
        'heading "Shop" level 1',
        f'frame "Till" [e1] of {of}',
        'heading "Pay" level 2',
        'textbox "Card" [f1e1]',
        'combobox "Year" [f1e2] = "26" of "26" "27"',
        'div "Pad" [f1e3]',
        'button "Pay now" [f1e4]',
        "(end of the frame)",
        "After",
    ]
    await tab.fill("f1e1", "4711")
    await tab.press("0", "f1e1")
    await tab.choose("f1e2", "27")
    await tab.click("f1e4")
    assert "paid 47110" in await lines(tab)
    await tab.click("f1e3")
    assert "padded" in await lines(tab)
    assert tab.frames.origin_of("f1e4") == of
    assert len(await tab.picture(ref="f1e4")) > 100


async def test_a_frame_in_a_frame_below_the_view_is_scrolled_to(browser: ChromiumBrowser, site: Site) -> None:
    site.pages["/inner"] = INNER
    site.pages["/middle"] = (
        f"<div style='height:900px'>Middle</div><iframe src='{site.url('/inner')}' height=260></iframe>"
    )
    outer = (
        f"<div style='height:1500px'></div><iframe src='{site.url('/middle', 'other.example')}' height=300></iframe>"
    )
    tab = await shop(browser, site, outer)
    whole = [line.shown() for line in (await tab.look(whole=True)).lines]
    ref = next(line.partition("[")[2].partition("]")[0] for line in whole if "Pay now" in line)
    assert ref.startswith("f2")
    assert "Middle" in whole
    await tab.click(ref)
    assert "paid" in await lines(tab)
    assert not any("Card" in line for line in await lines(await shop(browser, site, outer))), "it is out of view"


async def test_a_press_in_a_frame_waits_until_the_pointer_is_on_its_element(
    browser: ChromiumBrowser, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The browser sends it to where things were before they were scrolled, for a moment."""
    site.pages["/inner"] = INNER
    tab = await shop(browser, site, f"<iframe src='{site.url('/inner', 'other.example')}' height=260></iframe>")
    point, before = tab._point, [(1.0, 1.0), (1.0, 1.0)]

    async def late(ref: str, held: str = "") -> tuple[float, float]:
        there = await point(ref, held)
        return before.pop() if before else there

    monkeypatch.setattr(tab, "_point", late)
    await tab.click("f1e4")
    assert "paid" in await lines(tab)


async def test_what_covers_a_frame_covers_what_is_in_it(browser: ChromiumBrowser, site: Site) -> None:
    site.pages["/inner"] = INNER
    frame = f"<iframe src='{site.url('/inner', 'other.example')}' height=260></iframe>"
    tab = await shop(browser, site, f"{frame}<div style='position:fixed;inset:0' tabindex=0>Lid</div>")
    with pytest.raises(ActFailed, match="Lid") as failed:
        await tab.click("f1e4")
    assert failed.value.outcome is ActOutcome.COVERED


async def test_a_frame_that_moves_on_is_another_document_and_keeps_its_number(
    browser: ChromiumBrowser, site: Site
) -> None:
    site.pages["/inner"] = f"<a href='{site.url('/next', 'site.example')}'>Next</a>"
    site.pages["/next"] = "<button>There</button>"
    tab = await shop(browser, site, f"<iframe src='{site.url('/inner', 'other.example')}'></iframe>")
    await tab.click("f1e1")
    await tab.wait_for("There", 10)
    words = await lines(tab)
    assert 'button "There" [e2]' in words, "it is of the page's own origin now"
    with pytest.raises(ActFailed) as gone:
        await tab.click("f1e1")
    assert gone.value.outcome is ActOutcome.GONE
    await tab.go(site.url())
    assert any("[f2e" in line for line in await lines(tab)), "no reference is given twice"


async def test_a_dialog_of_a_frame_and_a_frame_that_dies(browser: ChromiumBrowser, site: Site) -> None:
    site.pages["/inner"] = "<button onclick=\"alert('Hello')\">Ask</button>"
    tab = await shop(browser, site, f"<iframe src='{site.url('/inner', 'other.example')}'></iframe>")
    with pytest.raises(ActFailed, match="Hello") as asked:
        await tab.click("f1e1")
    assert asked.value.outcome is ActOutcome.DIALOG_OPEN
    await tab.answer(accept=True)
    session = tab.frames.of("f1e1").session
    with pytest.raises(ActFailed) as died:
        await tab._call("Page.crash", session=session)
    assert died.value.outcome is ActOutcome.CRASHED
    words = await lines(tab)
    assert "After" in words, "the page goes on"
    assert any("not shown: crashed" in line for line in words)


FOCUSED = {
    "in the page": "<iframe src='{till}'></iframe>",
    "in a closed shadow root": """<div id=host></div><script>const root = host.attachShadow({{mode: 'closed'}});
        root.innerHTML = "<div id=d></div>"; const deep = root.firstChild.attachShadow({{mode: 'closed'}});
        deep.innerHTML = "<iframe src='{till}'></iframe>"</script>""",
    "in a frame of the page's own": "<iframe srcdoc=\"<iframe src='{till}'></iframe>\"></iframe>",
}
TILL = """<input onkeydown="out.textContent = 'heard ' + event.key"><p id=out>Till</p>"""


@pytest.mark.parametrize("place", FOCUSED)
async def test_keys_for_the_page_do_not_go_to_a_frame_of_another_site(
    browser: ChromiumBrowser, site: Site, place: str
) -> None:
    site.pages["/till"] = TILL
    tab = await shop(browser, site, FOCUSED[place].format(till=site.url("/till", "other.example")))
    (field,) = [line.ref for line in (await tab.look()).lines if line.ref.startswith("f1e")]
    await tab.press("a", field)
    assert "heard a" in await lines(tab)
    with pytest.raises(ActFailed, match=r"in a frame of http://other\.example") as refused:
        await tab.press("b")
    assert refused.value.outcome is ActOutcome.REFUSED
    assert "heard b" not in await lines(tab)


async def test_words_for_a_field_do_not_go_to_a_frame_that_takes_the_focus(
    browser: ChromiumBrowser, site: Site
) -> None:
    site.pages["/till"] = "<input aria-label=Card>"
    page = f"""<input aria-label=Word onfocus="document.querySelector('iframe').focus()">
        <iframe src='{site.url("/till", "other.example")}'></iframe>"""
    tab = await shop(browser, site, page)
    with pytest.raises(ActFailed, match="taken the focus away from e1") as refused:
        await tab.fill("e1", "plum")
    assert refused.value.outcome is ActOutcome.REFUSED
    assert "plum" not in (await tab.look()).words()


async def test_words_for_a_frame_do_not_go_to_the_page_that_takes_the_focus(
    browser: ChromiumBrowser, site: Site
) -> None:
    """Whenever it does: words go into the field in its own document, and not to where the focus is."""
    site.pages["/till"] = "<input aria-label=Card>"
    page = f"""<input id=own aria-label=Own><iframe src='{site.url("/till", "other.example")}'></iframe>
        <script>own.focus(); addEventListener('blur', () => setInterval(() => own.focus(), 1))</script>"""
    tab = await shop(browser, site, page)
    for word in ("plum", "pear"):
        (field,) = [line.ref for line in (await tab.look()).lines if line.name == "Card"]
        await tab.fill(field, word)
        shown = {line.name: line.state for line in (await tab.look()).lines if line.role == "textbox"}
        assert shown["Card"][0] == f'= "{word}"'
        assert not any(word in one for one in shown["Own"])


async def test_keys_for_a_frame_do_not_go_to_a_page_that_takes_the_focus(browser: ChromiumBrowser, site: Site) -> None:
    """Whenever it does, between the look at the focus and the key included: they go to the frame's own process."""
    site.pages["/till"] = TILL
    page = f"""<input id=own aria-label=Own><iframe src='{site.url("/till", "other.example")}'></iframe>"""
    tab = await shop(browser, site, page)
    (field,) = [line.ref for line in (await tab.look()).lines if line.ref.startswith("f1e")]
    session = await tab.frames.keys_go_to("")
    assert await pressed(tab, field) == "a"
    look_at_focus = tab.frames.keys_go_to

    async def then_it_is_taken(ref: str) -> str:
        theirs = await look_at_focus(ref)
        assert theirs != session
        await tab.script("own.focus()")
        return theirs

    tab.frames.keys_go_to = then_it_is_taken  # type: ignore[method-assign] # the instant between the two
    await tab.press("b", field)
    shown = {line.name: line.state for line in (await tab.look()).lines if line.role == "textbox"}
    assert not any("b" in one for one in shown["Own"] if one.startswith("="))


async def pressed(tab: Tab, field: str) -> str:
    """What stands in a field after a key was pressed there."""
    await tab.press("a", field)
    (shown,) = [line.state for line in (await tab.look()).lines if line.ref == field]
    return next(one for one in shown if one.startswith("=")).strip('= "')


CLOSED = """<my-card></my-card><div id=plain></div><script>
customElements.define('my-card', class extends HTMLElement { constructor() { super();
  const root = this.attachShadow({ mode: 'closed' });
  root.innerHTML = '<p>Secret garden</p><div id=d></div><button>Water</button>';
  root.querySelector('button').onclick = () => root.querySelector('p').textContent = 'Watered';
  root.getElementById('d').attachShadow({ mode: 'closed' }).innerHTML = '<button>Deeper</button>' } });
plain.attachShadow({ mode: 'closed' }).innerHTML = '<button>In a plain one</button>'</script>"""


async def test_closed_shadow_roots_are_part_of_the_page(browser: ChromiumBrowser, site: Site) -> None:
    tab = await shop(browser, site, CLOSED)
    seen = (await tab.look()).lines
    assert [line.text or line.name for line in seen] == [
        "Shop", "Secret garden", "Deeper", "Water", "In a plain one", "After",
    ]  # fmt: skip
    await tab.click(seen[3].ref)
    assert "Watered" in await lines(tab)
