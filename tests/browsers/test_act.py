"""What is done on a page, and the closed list of what may come of it."""

import asyncio

import pytest

from angelia.browsers.chromium.browser import MOST_TABS, ChromiumBrowser
from angelia.browsers.chromium.launch import RunningChromium
from angelia.browsers.chromium.tab import Tab
from angelia.browsers.origins import origin
from angelia.browsers.port import ActFailed, ActOutcome, BrowserGone
from tests.browsers.site import Site

pytestmark = pytest.mark.anyio


async def opened(browser: ChromiumBrowser, site: Site, page: str) -> Tab:
    """A tab with this page, looked at once."""
    site.pages["/"] = page
    tab = await browser.opened()
    await tab.go(site.url())
    await tab.look()
    return tab


async def text(tab: Tab) -> str:
    """Everything that is to be read there."""
    return " | ".join(line.shown() for line in (await tab.look(whole=True)).lines)


async def test_a_form_is_filled_and_sent(browser: ChromiumBrowser, site: Site) -> None:
    form = """<form action=/done method=post><input name=a aria-label=A value=old><input name=d type=date aria-label=D>
    <select name=s aria-label=S><option value=x>One<option value=y>Two</select><input type=checkbox name=c aria-label=C>
    <textarea name=t aria-label=T></textarea><div contenteditable aria-label=E>was</div><button>Send</button></form>"""
    tab = await opened(browser, site, form)
    site.pages["/done"] = "<h1>Thanks</h1>"
    await tab.fill("e1", "Zoë & co")
    await tab.fill("e2", "2026-12-24")
    await tab.choose("e3", "Two")
    await tab.click("e4")
    await tab.fill("e5", "two\nlines")
    await tab.fill("e6", "is")
    assert "is" in await text(tab)
    await tab.click("e7")
    await tab.settled()
    assert "Thanks" in await text(tab)
    sent = site.bodies[-1].decode()
    assert sent == "a=Zo%C3%AB+%26+co&d=2026-12-24&s=y&c=on&t=two%0D%0Alines"


EDITORS = {
    "draws by itself": ("onbeforeinput='event.preventDefault(); textContent = `[${event.data}]`'", "[new]"),
    "leaves it to the browser": ("oninput='title = `heard ${textContent}`'", "heard new"),
}


@pytest.mark.parametrize("kind", EDITORS)
async def test_words_reach_an_editor_once(browser: ChromiumBrowser, site: Site, kind: str) -> None:
    script, wanted = EDITORS[kind]
    tab = await opened(browser, site, f"<div contenteditable {script}>old <b>words</b></div>")
    await tab.fill("e1", "new")
    shown = await text(tab)
    assert wanted in shown
    assert "newnew" not in shown
    assert "old" not in shown


async def test_words_do_not_go_to_what_takes_none(browser: ChromiumBrowser, site: Site) -> None:
    page = "<input aria-label=First autofocus><button>B</button><div tabindex=0>Pad</div><input type=checkbox>"
    tab = await opened(browser, site, page)
    for ref, kind in (("e2", "button"), ("e3", "div"), ("e4", "checkbox")):
        with pytest.raises(ActFailed, match=f"{ref} is a {kind}, which takes no words") as failed:
            await tab.fill(ref, "plum")
        assert failed.value.outcome is ActOutcome.UNFIT
    assert "plum" not in await text(tab)


async def test_keys_pointer_and_drag_arrive_as_a_persons_do(browser: ChromiumBrowser, site: Site) -> None:
    page = """<input aria-label=In onkeydown="out.textContent += event.key + ' '">
    <div id=d tabindex=0 ondblclick="out.textContent += 'double '" onmouseover="this.dataset.over = 1">Pad</div>
    <div id=from tabindex=0>From</div><div id=to tabindex=0 onmouseup="out.textContent += 'dropped '">To</div>
    <p>Out: <b id=out></b></p>"""
    tab = await opened(browser, site, page)
    await tab.press("a", "e1")
    for key in ("Enter", "Control+b"):
        await tab.press(key)
    await tab.click("e2", count=2)
    await tab.drag("e3", "e4")
    words = await text(tab)
    assert "a Enter Control b" not in words, "a held key is no key of its own"
    assert "a Enter b double dropped" in words


PAGES = {
    ActOutcome.COVERED: "<button>B</button><div style='position:fixed;inset:0' tabindex=0>Lid</div>",
    ActOutcome.DISABLED: "<button disabled>B</button>",
    ActOutcome.DIALOG_OPEN: "<button onclick=\"confirm('Sure?')\">B</button>",
}


@pytest.mark.parametrize("outcome", PAGES, ids=str)
async def test_a_click_that_is_none_says_why(browser: ChromiumBrowser, site: Site, outcome: ActOutcome) -> None:
    tab = await opened(browser, site, PAGES[outcome])
    with pytest.raises(ActFailed) as failed:
        await tab.click("e1")
    assert failed.value.outcome is outcome
    if outcome is ActOutcome.COVERED:
        assert "Lid" in str(failed.value)
    if outcome is ActOutcome.DIALOG_OPEN:
        assert "Sure?" in str(failed.value)
        await tab.answer(accept=True)
    assert '"B"' in await text(tab), "the next call works"


async def test_what_is_covered_in_part_is_clicked_where_it_is_free(browser: ChromiumBrowser, site: Site) -> None:
    page = """<button style='width:200px;height:40px' onclick='this.textContent = "Clicked"'>B</button>
        <div style='position:fixed;left:0;top:0;width:160px;height:200px' tabindex=0>Lid</div>"""
    tab = await opened(browser, site, page)
    await tab.click("e1")
    assert "Clicked" in await text(tab)


async def test_a_page_that_asks_while_it_loads_is_answered(browser: ChromiumBrowser, site: Site) -> None:
    site.pages["/"] = "<script>document.title = prompt('Who?')</script><p>There</p>"
    tab = await browser.opened()
    with pytest.raises(ActFailed, match="Who") as asked:
        await tab.go(site.url())
    assert asked.value.outcome is ActOutcome.DIALOG_OPEN
    await tab.answer(accept=True, text="Me")
    await tab.settled()
    look = await tab.look()
    assert (look.title, [line.text for line in look.lines]) == ("Me", ["There"])


@pytest.mark.parametrize("url", ["http://nowhere.example/", "http://site.example:1/", "nonsense://x"])
async def test_what_cannot_be_loaded_says_so(browser: ChromiumBrowser, site: Site, url: str) -> None:
    tab = await browser.opened()
    try:
        await tab.go(url)
    except ActFailed as failed:
        assert failed.outcome is ActOutcome.NOT_LOADED  # noqa: PT017 - the proxy's refusal is a page, and no failure
    else:
        assert any("nowhere.example" in one or "site.example" in one for one in browser.refused())
    await tab.go(site.url())


async def test_a_page_whose_process_dies_is_told_and_another_opens(browser: ChromiumBrowser, site: Site) -> None:
    tab = await opened(browser, site, "<p>Alive</p>")
    with pytest.raises(ActFailed) as failed:
        await tab._call("Page.crash")
    assert failed.value.outcome is ActOutcome.CRASHED
    with pytest.raises(ActFailed, match="ended"):
        await tab.look()
    other = await browser.opened()
    assert other.name != tab.name, "its references are not those of the one that died"
    await other.go(site.url())
    assert "Alive" in await text(other)


async def test_a_browser_that_dies_fails_what_waits_and_is_begun_anew(browser: ChromiumBrowser, site: Site) -> None:
    tab = await opened(browser, site, "<p>Alive</p>")
    waiting = asyncio.create_task(tab.wait_for("Never", 60.0))
    assert isinstance(browser._running, RunningChromium)
    browser._running._process.kill()
    with pytest.raises(BrowserGone):
        await waiting
    again = await browser.opened()
    await again.go(site.url())
    assert "Alive" in await text(again)


async def test_a_window_that_a_page_opens_is_a_tab(browser: ChromiumBrowser, site: Site) -> None:
    tab = await opened(browser, site, "<a href=/more target=_blank>More</a>")
    site.pages["/more"] = "<h1>More</h1>"
    await tab.click("e1")
    async with asyncio.timeout(20):
        while len(browser.tabs) < 2:
            await tab.settled()
    name = next(name for name in browser.tabs if name != tab.name)
    other = browser.tab(name)
    assert origin(other.url) == origin(site.url()), "what is done in it is judged by where it is, from the first moment"
    await other.settled()
    assert "More" in await text(other)
    await browser.close_tab(name)
    assert list(browser.tabs) == [tab.name]
    with pytest.raises(ActFailed, match=f"no tab {name}"):
        browser.tab(name)


async def test_words_are_waited_for_as_they_are_told(browser: ChromiumBrowser, site: Site) -> None:
    """Gradio writes a size with a space that breaks no line."""
    tab = await opened(browser, site, "<p>9.0&nbsp;B&nbsp;⇣</p><pre>one\ntwo</pre>")
    for told in [line.shown() for line in (await tab.look()).lines]:
        await tab.wait_for(told, 10)
    with pytest.raises(ActFailed, match="did not appear"):
        await tab.wait_for("9.0 kB", 0.2)


async def test_there_are_only_so_many_tabs(browser: ChromiumBrowser) -> None:
    for _ in range(MOST_TABS):
        await browser.opened("new")
    with pytest.raises(ActFailed, match="close one first"):
        await browser.opened("new")


@pytest.mark.parametrize(("keys", "why"), [("Hyper+a", "held"), ("Nonsense", "no key")])
async def test_a_key_that_there_is_none_of(browser: ChromiumBrowser, site: Site, keys: str, why: str) -> None:
    tab = await opened(browser, site, "<p>Here</p>")
    with pytest.raises(ActFailed, match=why) as failed:
        await tab.press(keys)
    assert failed.value.outcome is ActOutcome.UNFIT
