"""What only the person can do, at a terminal on a desktop: a window opens with the page in their hand."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.chromium.display import display_of
from angelia.browsers.chromium.page_window import HandedQuestion, page_window
from angelia.browsers.port import ActFailed
from angelia.testing.model.steps import Step, call, say
from tests.browsers.desktop import DesktopHand
from tests.browsers.served_folder import served
from tests.browsers.site import Site
from tests.faces.angelia import Place, Terminal, requests, serving

pytestmark = [pytest.mark.anyio, pytest.mark.real("window")]

RED, BLUE = 0xFF0000, 0x0000FF
PAGE = """<body style="margin:0;height:100vh;background:#f00" onmousedown="document.body.style.background = '#00f'">
<input id=code style="opacity:0" oninput="fetch('typed/' + value)"><p id=said style="opacity:0">Not yet.</p>
<script>onmouseup = () => { said.textContent = 'Confirmed.'; said.style.opacity = 1; code.focus() }</script>"""
POPUP = """<body style="margin:0;height:100vh;background:#f00" onmousedown="window.open('/signin')"><p id=said></p>"""
SIGNIN = """<body style="margin:0;height:100vh;background:#00f" onmousedown="opener.said.textContent =
prompt('Code?') + ' ' + confirm('Sure?'); window.close()">"""
ASKED = HandedQuestion("Please type the code.", ("Done", "I cannot"))


def shows(hand: DesktopHand, colour: int) -> bool:
    """Whether there is a window, and in its middle the page in this colour; JPEG is not exact."""
    for x, y, width, height in hand.windows():
        seen = hand.colour(x + width // 2, y + height // 2)
        return all(abs((seen >> bits & 255) - (colour >> bits & 255)) < 20 for bits in (0, 8, 16))
    return False


def asks_in_the_window(hand: DesktopHand) -> bool:
    """Whether what a page asks stands above it, as it does in a colour of its own."""
    return any(hand.colour(x + 18, y + down) == 0xFFD866 for x, y, _, _ in hand.windows() for down in range(20, 300, 4))


def presses_the_page(hand: DesktopHand) -> None:
    """In the middle of the window."""
    ((x, y, width, height),) = hand.windows()
    hand.clicks(x + width // 2, y + height // 2)


async def until(holds: Callable[[], bool], window: "asyncio.Task[str]") -> None:
    """Wait until something is true, for as long as the window is there."""
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.wait([window], timeout=0.02)
            assert not window.done(), window


@asynccontextmanager
async def handed(
    browser: ChromiumBrowser, site: Site, screen: str, hand: DesktopHand, page: str = PAGE
) -> AsyncIterator["asyncio.Task[str]"]:
    """A page that is handed over and stands in its window."""
    site.pages["/"] = page
    tab = await browser.opened()
    await tab.go(site.url())
    window = asyncio.create_task(page_window(browser, ASKED, display_of({"DISPLAY": screen})))
    try:
        await until(lambda: shows(hand, RED), window)
        yield window
    finally:
        window.cancel()
        await asyncio.gather(window, return_exceptions=True)
    assert not browser.control.held


async def test_what_is_pressed_and_typed_reaches_the_page_before_the_answer(
    browser: ChromiumBrowser, site: Site, screen: str, hand: DesktopHand
) -> None:
    async with handed(browser, site, screen, hand) as window:
        presses_the_page(hand)
        await until(lambda: shows(hand, BLUE), window)
        with pytest.raises(ActFailed, match="taken the browser over"):
            async with browser.control.agent():
                pass
        hand.presses("q")
        hand.presses("t")
        hand.presses("Escape")
        hand.presses("Enter")
        assert await asyncio.wait_for(window, 30) == "Done"
        await browser.tab().wait_for("Confirmed.", 10)
        async with asyncio.timeout(10):
            while "GET /typed/qt HTTP/1.1" not in site.asked:
                await asyncio.wait([window], timeout=0.01)


@pytest.mark.soak
async def test_a_window_that_the_page_opens_and_what_it_asks_are_in_it_too(
    browser: ChromiumBrowser, site: Site, screen: str, hand: DesktopHand
) -> None:
    """The page opens a second one (as many logins do), which asks, and closes with the answer."""
    async with handed(browser, site, screen, hand, POPUP) as window:
        site.pages["/signin"] = SIGNIN
        presses_the_page(hand)
        await until(lambda: shows(hand, BLUE), window)
        presses_the_page(hand)
        await until(lambda: asks_in_the_window(hand), window)
        hand.presses("q")
        hand.presses("t")
        hand.presses("Enter")
        await until(
            lambda: len(browser.tabs) == 1 or "Sure?" in str(browser.tab(list(browser.tabs)[-1]).dialog), window
        )
        while len(browser.tabs) > 1:
            hand.presses("Enter")
            await asyncio.wait([window], timeout=0.2)
        await until(lambda: shows(hand, RED), window)
        hand.presses("Escape")
        hand.presses("Enter")
        assert await asyncio.wait_for(window, 30) == "Done"
        await browser.tab().wait_for("qt true", 10)


@pytest.mark.soak
async def test_words_are_an_answer_too(browser: ChromiumBrowser, site: Site, screen: str, hand: DesktopHand) -> None:
    async with handed(browser, site, screen, hand) as window:
        hand.presses("Escape")
        hand.presses("Tab")
        hand.presses("Tab")
        hand.presses("o")
        hand.presses("p")
        hand.presses("Enter")
        assert await asyncio.wait_for(window, 30) == "op"
        assert not [line for line in site.asked if "typed" in line]


@pytest.mark.soak
async def test_who_closes_the_window_says_nothing_and_hands_back(
    browser: ChromiumBrowser, site: Site, screen: str, hand: DesktopHand
) -> None:
    async with handed(browser, site, screen, hand) as window:
        hand.presses("Control", "w")
        assert await asyncio.wait_for(window, 30) == ""
        assert not hand.windows()


async def test_a_page_that_goes_leaves_the_question(
    browser: ChromiumBrowser, site: Site, screen: str, hand: DesktopHand
) -> None:
    async with handed(browser, site, screen, hand) as window:
        await browser.close_tab(browser.current)
        presses_the_page(hand)
        hand.presses("Escape")
        hand.presses("Tab")
        hand.presses("Enter")
        assert await asyncio.wait_for(window, 30) == "I cannot"


# -- at a terminal ------------------------------------------------------------------------------------------------


def script(port: int) -> list[Step]:
    return [
        call("browser_open", {"url": f"http://127.0.0.1:{port}/"}),
        call("browser_hand_over", {"why": "Please confirm it."}),
        say("You are in."),
    ]


@contextmanager
def asked_in_chat(tmp_path: Path, **more: str) -> Iterator[tuple[Place, Terminal]]:
    """A conversation in a terminal whose model hands a page over."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text(PAGE)
    with served(folder) as port, serving(tmp_path, script(port)) as place:
        place.home.mkdir(exist_ok=True)
        (place.home / "config.toml").write_text('[policy]\nallow_ranges = ["127.0.0.0/8"]\n[sandbox]\nnetwork = "on"\n')
        with place.chat(**more) as terminal:
            terminal.types("Log in.")
            terminal.sees("Please confirm it.")
            yield place, terminal


def test_the_model_goes_on_with_what_was_done_in_the_window(tmp_path: Path, screen: str, hand: DesktopHand) -> None:
    with asked_in_chat(tmp_path, DISPLAY=screen) as (place, terminal):
        terminal.until(lambda: shows(hand, RED))
        presses_the_page(hand)
        terminal.until(lambda: shows(hand, BLUE))
        hand.presses("Escape")
        hand.presses("Enter")
        terminal.sees("You are in.")
        terminal.until(lambda: not hand.windows())
        told = str(requests(place)[2])
        assert "The user answered: Done" in told
        assert "+ Confirmed." in told


@pytest.mark.soak
def test_an_answer_at_the_terminal_closes_the_window(tmp_path: Path, screen: str, hand: DesktopHand) -> None:
    with asked_in_chat(tmp_path, DISPLAY=screen) as (place, terminal):
        terminal.until(lambda: shows(hand, RED))
        terminal.types("it says K7WQ")
        terminal.sees("You are in.")
        terminal.until(lambda: not hand.windows())
        assert "The user answered: it says K7WQ" in str(requests(place)[2])


@pytest.mark.soak
def test_a_window_that_is_closed_leaves_the_question_at_the_terminal_and_opens_again(
    tmp_path: Path, screen: str, hand: DesktopHand
) -> None:
    with asked_in_chat(tmp_path, DISPLAY=screen) as (place, terminal):
        terminal.until(lambda: shows(hand, RED))
        terminal.types("/window")
        terminal.sees("The window is open already")
        hand.presses("Control", "w")
        terminal.sees("The window is closed")
        terminal.until(lambda: not hand.windows())
        terminal.types("/window")
        terminal.until(lambda: shows(hand, RED))
        presses_the_page(hand)
        terminal.until(lambda: shows(hand, BLUE))
        hand.presses("Control", "w")
        terminal.until(lambda: not hand.windows())
        terminal.types("2")
        terminal.sees("You are in.")
        told = str(requests(place)[2])
        assert "The user answered: I cannot" in told
        assert "+ Confirmed." in told
        terminal.types("/window")
        terminal.sees("No page is handed over to you now.")


def test_without_a_desktop_it_is_said_what_to_do(tmp_path: Path) -> None:
    with asked_in_chat(tmp_path) as (place, terminal):
        terminal.sees("There is no desktop here on which a window could be opened.")
        terminal.sees("Answer here, by a number or in words.")
        terminal.types("1")
        terminal.sees("You are in.")
        assert "The user answered: Done" in str(requests(place)[2])


@pytest.mark.soak
def test_a_killed_conversation_leaves_no_window_and_asks_still(tmp_path: Path, screen: str, hand: DesktopHand) -> None:
    with asked_in_chat(tmp_path, DISPLAY=screen) as (place, terminal):
        terminal.until(lambda: shows(hand, RED))
        terminal.kill()
        terminal.until(lambda: not hand.windows())
        with place.chat("--continue", DISPLAY=screen) as again:
            again.sees("Please confirm it.")
            again.sees("The page of this question is gone with its browser")
            again.types("1")
            again.sees("You are in.")
            assert not hand.windows()
