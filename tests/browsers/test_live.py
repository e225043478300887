"""A page is watched from elsewhere, and taken over: pictures while it moves, mouse and keys, one hand at a time."""

import asyncio
import io
from collections.abc import Callable

import msgspec
import pytest
from PIL import Image

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.chromium.live_browser import LiveBrowser
from angelia.browsers.live import LiveFrame, LiveInput, LiveState, LiveTab, PointerPressed
from angelia.browsers.port import ActFailed, ActOutcome
from angelia.core.content import CallStatus
from angelia.testing.tools.harness import ToolHarness
from angelia.tools.browser.act_on_page import Step
from angelia.tools.browser.toolset import BrowserTools
from tests.browsers.site import Site
from tests.browsers.test_act import opened, text

pytestmark = [pytest.mark.anyio, pytest.mark.real("chromium")]

FORM = """<body style="margin:0;height:4000px"><input style="position:absolute;left:100px;top:100px;width:200px"
aria-label=Code oninput="out.textContent = 'has ' + value"><button style="position:absolute;left:100px;top:200px"
onclick="out.textContent = 'pressed'; document.body.style.background = 'red'">Go</button>
<p id=out style="position:fixed">nothing</p>
<script>onscroll = () => { if (scrollY == 900) out.textContent = 'at 900' }</script>"""


async def does(live: LiveBrowser, *events: str) -> None:
    """What a person does, as it comes over a wire."""
    for event in events:
        await live.send(msgspec.json.decode(event.encode(), type=LiveInput))


async def pictures(live: LiveBrowser, at_least: int = 1) -> list[LiveFrame]:
    found: list[LiveFrame] = []
    async with asyncio.timeout(20):
        while len(found) < at_least:
            if frame := (await live.see()).frame:
                found.append(frame)
    return found


async def stands(live: LiveBrowser, holds: Callable[[LiveState], bool]) -> LiveState:
    """What stands around the pictures, once this is true of it."""
    async with asyncio.timeout(20):
        while not holds(state := (await live.see()).state):
            pass
    return state


async def shows(browser: ChromiumBrowser, wanted: str) -> None:
    """Until these words stand on the page."""
    await browser.tab().wait_for(wanted, 10)


async def test_whoever_takes_it_over_clicks_types_and_scrolls(browser: ChromiumBrowser, site: Site) -> None:
    await opened(browser, site, FORM)
    live = await browser.watch()
    (first,) = await pictures(live)
    assert first.jpeg[:3] == b"\xff\xd8\xff"
    assert (first.width, first.taken > 1.7e9) == (1280, True)
    await live.take_over()
    await does(live, '{"do":"down","x":150,"y":110}', '{"do":"up","x":150,"y":110}')
    await does(live, '{"do":"type","text":"K7WQ"}', '{"do":"key","keys":"x"}')
    await shows(browser, "has K7WQx")
    await does(live, '{"do":"move","x":110,"y":210}', '{"do":"down","x":110,"y":210}', '{"do":"up","x":110,"y":210}')
    await shows(browser, "pressed")
    assert (await pictures(live))[0].jpeg != first.jpeg
    await does(live, '{"do":"wheel","x":500,"y":500,"down":900}')
    await shows(browser, "at 900")
    await live.close()


CHOICE = """<body style="margin:0"><style>select { width:200px; height:40px; appearance:none } option { height:40px }
body > * { position:absolute; top:100px; border:0 } select { left:100px } iframe { left:500px }</style>
<select aria-label=Bed onchange="out.textContent = 'chose ' + value"><option>South<option>North<option>East</select>
<iframe srcdoc="<style>select { width:200px; height:40px } option { height:40px }</style><body style='margin:0'>
<select onchange='parent.out.textContent = `framed ` + value'><option>One<option>Two</select>"></iframe>
<p id=out style="top:300px">nothing</p>"""


@pytest.mark.parametrize(("x", "told"), [(200, "chose North"), (600, "framed Two")])
async def test_the_options_of_a_field_are_drawn_and_one_is_chosen_by_hand(
    browser: ChromiumBrowser, site: Site, x: int, told: str
) -> None:
    """The browser's own list would be a window of the desktop's, which is in no picture and takes no press."""
    await opened(browser, site, CHOICE)
    live = await browser.watch()
    (before,) = await pictures(live)
    assert not _dark(before, x)
    await live.take_over()
    await does(live, f'{{"do":"down","x":{x},"y":120}}', f'{{"do":"up","x":{x},"y":120}}')
    async with asyncio.timeout(20):
        while not _dark((await pictures(live))[0], x):
            pass
    await does(live, f'{{"do":"down","x":{x},"y":200}}', f'{{"do":"up","x":{x},"y":200}}')
    await shows(browser, told)
    await live.close()


def _below(frame: LiveFrame, x: int) -> bytes:
    """How bright it is below a field at 100 x 100."""
    return Image.open(io.BytesIO(frame.jpeg)).convert("L").crop((x - 100, 142, x + 100, 250)).tobytes()


def _dark(frame: LiveFrame, x: int) -> bool:
    """Whether anything is drawn there."""
    return min(_below(frame, x)) < 128


async def test_it_goes_on_where_the_page_moves_to_another_site(browser: ChromiumBrowser, site: Site) -> None:
    tab = await opened(browser, site, FORM)
    live = await browser.watch()
    await pictures(live)
    site.pages["/there"] = "<h1 onmousedown='textContent = `pressed there`'>There</h1>"
    await tab.go(site.url("/there", host="other.example"))
    await pictures(live)
    await live.take_over()
    await live.send(PointerPressed(20, 40))
    await shows(browser, "pressed there")
    await live.close()
    assert not browser.control.held


async def test_nothing_is_drawn_for_who_does_not_fetch(browser: ChromiumBrowser, site: Site) -> None:
    """Of a page that never rests the browser makes a few pictures, and the next ones only as they are fetched."""
    moving = """<p id=out></p><p id=far></p><script>let n = 0; setInterval(() => {
      out.textContent = ++n; if (n == 200) far.textContent = 'far enough' }, 5)</script>"""
    tab = await opened(browser, site, moving)
    live = await browser.watch()
    await tab.wait_for("far enough", 20)
    assert live.unfetched <= 4
    await pictures(live, 10)
    await live.close()
    with pytest.raises(ActFailed, match="no longer watched"):
        await live.see()


async def test_who_fetches_late_sees_what_the_page_came_to(browser: ChromiumBrowser, site: Site) -> None:
    """The browser makes a few pictures until they are fetched, and leaves out those that come then."""
    changing = """<body style="background:white"><p id=out></p><script>let n = 0; const change = () => {
      document.body.style.background = ++n == 12 ? 'black' : n % 2 ? '#eee' : 'white'
      if (n < 12) setTimeout(change, 50); else out.textContent = 'at rest' }; setTimeout(change, 500)</script>"""
    tab = await opened(browser, site, changing)
    live = await browser.watch()
    await tab.wait_for("at rest", 20)
    seen = [_below(one, 600) for one in await pictures(live)]
    while max(seen[-1]) > 40:
        seen += [_below(one, 600) for one in await pictures(live)]
    assert len(seen) <= 3, "what waited, and then the page as it is"
    await live.close()


async def test_who_has_not_taken_it_over_does_nothing_to_it(browser: ChromiumBrowser, site: Site) -> None:
    tab = await opened(browser, site, FORM)
    one, two = await browser.watch(), await browser.watch()
    click = PointerPressed(110, 210)
    with pytest.raises(ActFailed, match="take it over first"):
        await one.send(click)
    async with browser.control.agent():
        taking = asyncio.ensure_future(one.take_over())
        await asyncio.sleep(0)
        assert not one.taken_over
    await taking
    with pytest.raises(ActFailed, match="elsewhere"):
        await two.take_over()
    with pytest.raises(ActFailed, match="take it over first"):
        await two.send(click)
    await one.close()
    await two.take_over()
    await two.close()
    assert "nothing" in await text(tab)
    assert not browser.control.held


async def test_a_tab_that_goes_tells_whoever_watches(browser: ChromiumBrowser, site: Site) -> None:
    tab = await opened(browser, site, FORM)
    live = await browser.watch()
    await pictures(live)
    await live.take_over()
    waiting = asyncio.ensure_future(live.see())
    await asyncio.sleep(0)
    await browser.close_tab(tab.name)
    with pytest.raises(ActFailed, match="closed") as told:
        await waiting
    assert told.value.outcome is ActOutcome.GONE
    assert not browser.control.held
    await live.close()


LOGIN = """<button style="position:absolute;left:100px;top:200px" onclick="window.open('/signin')">Log in</button>
<p id=out style="position:fixed">nobody</p>"""
SIGNIN = (
    """<body style="margin:0;background:#00f" onmousedown="opener.out.textContent = 'Ann'; window.close()">Sign in"""
)


async def test_whoever_has_it_in_hand_is_led_into_a_window_of_the_pages_own_and_back(
    browser: ChromiumBrowser, site: Site
) -> None:
    """And who watches is not, but sees that it is there, and what they choose."""
    tab = await opened(browser, site, LOGIN)
    site.pages["/signin"] = SIGNIN
    live, watching = await browser.watch(), await browser.watch()
    assert (await stands(live, lambda _: True)).shown == tab.name
    await pictures(live)
    await live.take_over()
    await does(live, '{"do":"down","x":110,"y":210}', '{"do":"up","x":110,"y":210}')
    opened_by = await stands(live, lambda state: state.shown != tab.name and bool(state.site))
    popup, at = opened_by.shown, site.url().removesuffix("/")
    assert opened_by.tabs == (LiveTab(tab.name, at), LiveTab(popup, at))
    await pictures(live)
    assert (await stands(watching, lambda state: len(state.tabs) == 2)).shown == tab.name
    watching.show(popup)
    assert (await stands(watching, lambda state: state.shown == popup)).tabs == opened_by.tabs
    await pictures(watching)
    await does(live, '{"do":"down","x":300,"y":300}')
    assert (await stands(live, lambda state: state.shown == tab.name)).tabs == opened_by.tabs[:1]
    await pictures(live)
    assert (await stands(watching, lambda state: state.shown == tab.name)).tabs == opened_by.tabs[:1]
    assert live.taken_over
    await tab.wait_for("Ann", 10)
    with pytest.raises(ActFailed, match=f"no tab {popup}"):
        watching.show(popup)
    await live.close()
    await watching.close()


BUSY = """<body onmousedown="const asks = new XMLHttpRequest(); asks.open('GET', '/pressed', false); asks.send();
while (true);">"""


async def test_a_press_by_which_its_tab_goes_is_done_though_nobody_answers_it(
    browser: ChromiumBrowser, site: Site
) -> None:
    tab = await opened(browser, site, FORM)
    site.pages |= {"/busy": BUSY, "/pressed": ""}
    going = await browser.opened("new")
    await going.go(site.url("/busy"))
    live = await browser.watch()
    await pictures(live)
    await live.take_over()
    pressing = asyncio.create_task(does(live, '{"do":"down","x":300,"y":300}'))
    async with asyncio.timeout(20):
        while "GET /pressed HTTP/1.1" not in site.asked:
            await asyncio.wait([pressing], timeout=0.01)
    await browser.close_tab(going.name)
    await pressing
    assert (await stands(live, lambda state: state.shown == tab.name)).tabs == (LiveTab(tab.name, site.url("")),)
    assert live.taken_over
    await live.close()


async def test_who_watches_sees_the_tab_that_the_agent_uses(browser: ChromiumBrowser, site: Site) -> None:
    first = await opened(browser, site, FORM)
    live = await browser.watch()
    await pictures(live)
    second = await browser.opened("new")
    await second.go(site.url(host="other.example"))
    assert (await stands(live, lambda state: "other" in state.site)).shown == second.name
    await pictures(live)
    live.show(first.name)
    await stands(live, lambda state: state.shown == first.name)
    browser.tab(first.name)
    browser.tab(second.name)
    live.show(second.name)  # the agent's: it is followed again
    await stands(live, lambda state: state.shown == second.name)
    await pictures(live)
    browser.tab(first.name)
    await stands(live, lambda state: state.shown == first.name)
    await live.close()


async def test_what_a_page_asks_before_it_goes_on_is_shown_and_answered(browser: ChromiumBrowser, site: Site) -> None:
    asks = """<body onmousedown="document.title = prompt('Which <b>code</b>?'); out.textContent = document.title +
    confirm('Really?')"><p id=out>-</p>"""
    tab = await opened(browser, site, asks)
    live = await browser.watch()
    await live.take_over()
    await does(live, '{"do":"down","x":300,"y":300}', '{"do":"key","keys":"x"}')
    asked = await stands(live, lambda state: bool(state.asks))
    assert (asked.asks, asked.takes_words) == ("The page asks (prompt): Which <b>code</b>?", True)
    await live.answer(accept=True, text="K7WQ")
    asked = await stands(live, lambda state: "Really" in state.asks)
    assert not asked.takes_words
    live.give_back()
    with pytest.raises(ActFailed, match="take it over first"):
        await live.answer(accept=True)
    await live.take_over()
    await live.answer(accept=False)
    await tab.wait_for("K7WQfalse", 10)
    assert not (await stands(live, lambda state: not state.asks)).takes_words
    await live.close()


async def test_while_a_person_has_the_page_the_agent_neither_acts_nor_looks(tools: ToolHarness, site: Site) -> None:
    site.pages["/"] = FORM
    await tools.run("browser_open", url=site.url())
    (toolset,) = tools.toolsets
    assert isinstance(toolset, BrowserTools)
    assert toolset.browser is not None
    live = await toolset.browser.watch()
    await live.take_over()
    does: dict[str, dict[str, object]] = {
        "browser_open": {"url": site.url()},
        "browser_look": {},
        "browser_act": {"steps": (Step("click", "e2"),)},
        "browser_script": {"code": "document.body.remove()"},
    }
    for name, arguments in does.items():
        await tools.effects(name, **arguments)
        told = await tools.said(name, CallStatus.ERROR, **arguments)
        assert "The user has taken the browser over" in told, name
    live.give_back()
    assert "nothing" in await tools.said("browser_look")
    await live.take_over()
    await tools.effects("browser_hand_over", why="Please confirm it.")
    assert "The user answered: yes" in await tools.said("browser_hand_over", why="Please confirm it.")
    assert "nothing" in await tools.said("browser_look"), "whoever answers has handed it back, wherever they did"
    await live.close()
