"""Pages that go wrong while they are used: each comes to its named outcome within its time, and the next call works."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from msgspec import Struct

from angelia.browsers.chromium import tab as tabs
from angelia.browsers.chromium.browser import MOST_TABS
from angelia.browsers.port import ActFailed, ActOutcome
from angelia.browsers.snapshot import MOST
from angelia.core.content import CallStatus, Media
from angelia.testing.tools.harness import ToolHarness, text_of
from angelia.tools.browser.act_on_page import Step
from angelia.tools.browser.toolset import BrowserTools
from tests.browsers.site import Site
from tests.examples import TIMES

pytestmark = [pytest.mark.anyio, pytest.mark.real("chromium")]

WITHIN_S = 60.0
"""For a trouble with all that is said of it: where something is waited for that never comes it takes forever."""
NODES = 34_000 if TIMES else 8_000
DOWNLOAD = 200_000_000 if TIMES else 12_000_000


class Trouble(Struct, frozen=True):
    """A page, and what is done on it to what is shown as `B`; `outcome` is how that is told, with `words`."""

    page: str
    step: Step
    outcome: ActOutcome
    words: str = ""


CLICK = Step("click")
ENDLESS = "<button onclick='while (true) {}'>B</button>"
COVERED = "<button>B</button><div style='position:fixed;inset:0' tabindex=0>Lid</div>"
TROUBLES = {
    "an alert": Trouble(
        "<button onclick='alert(1)'>B</button>", CLICK, ActOutcome.DIALOG_OPEN, "The page asks (alert): 1"
    ),
    "a button that is covered": Trouble(COVERED, CLICK, ActOutcome.COVERED, 'by div "Lid"'),
    "a script without end": Trouble(ENDLESS, CLICK, ActOutcome.TIMED_OUT, "has not answered for 1 s"),
    "a button that is off": Trouble("<button disabled>B</button>", CLICK, ActOutcome.DISABLED, "takes nothing"),
    "words that never come": Trouble(
        "<button>B</button>", Step("wait", text="Never"), ActOutcome.TIMED_OUT, "within 1 s"
    ),
    "an option that there is none of": Trouble(
        "<select aria-label=B><option>One</select>", Step("choose", text="Two"), ActOutcome.UNFIT, "It has: One"
    ),
}


@pytest.fixture(autouse=True)
def _waiting_no_longer_than_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("angelia.tools.browser.act_on_page.MOST_WAIT", 1.0)


def ref_of(shown: str, name: str = "B") -> str:
    """The reference of what has this name."""
    found = re.search(rf'"{name}" \[(\w+)\]', shown)
    assert found, shown
    return found[1]


async def next_works(tools: ToolHarness, site: Site) -> None:
    """Another page opens, and something is done on it."""
    site.pages["/next"] = "<button onclick='this.textContent = `Clicked`'>Next</button>"
    opened = await tools.said("browser_open", url=site.url("/next"))
    acted = await tools.said("browser_act", steps=(Step("click", ref_of(opened, "Next")),))
    assert 'button "Clicked"' in acted


@pytest.mark.soak(every=2)
@pytest.mark.parametrize("kind", TROUBLES)
async def test_an_act_that_goes_wrong_is_told_by_name_and_the_next_call_works(
    tools: ToolHarness, site: Site, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trouble = TROUBLES[kind]
    if trouble.page == ENDLESS:
        monkeypatch.setattr(tabs, "ANSWER_S", 1.0)
    site.pages["/"] = trouble.page
    async with asyncio.timeout(WITHIN_S):
        opened = await tools.said("browser_open", url=site.url())
        step = trouble.step if trouble.step.do == "wait" else Step(trouble.step.do, ref_of(opened), trouble.step.text)
        acted = await tools.said("browser_act", CallStatus.ERROR, steps=(step,))
        shown = " ".join(word for word in (step.do, step.ref) if word)
        assert f"1. {shown}: {trouble.outcome}: " in acted
        assert trouble.words in acted
        if trouble.outcome is ActOutcome.DIALOG_OPEN:
            assert "1. dialog: done" in await tools.said("browser_act", steps=(Step("dialog", text="accept"),))
        await next_works(tools, site)


async def test_an_alert_while_a_page_loads_is_told_and_answered(tools: ToolHarness, site: Site) -> None:
    site.pages["/"] = "<script>alert('Boo')</script><button>B</button>"
    opened = await tools.said("browser_open", CallStatus.ERROR, url=site.url())
    assert "dialog open: The page asks (alert): Boo" in opened
    answered = await tools.said("browser_act", steps=(Step("dialog", text="accept"),))
    assert 'button "B"' in answered
    await next_works(tools, site)


async def test_an_element_that_is_swapped_between_look_and_act_is_gone_and_the_answer_names_the_new_one(
    tools: ToolHarness, site: Site
) -> None:
    """It is not clicked in its place: in a list, what has the same name there may be another row's."""
    site.pages["/"] = """<button id=b>B</button><script>const swap = () => b.replaceWith(b.cloneNode(true))</script>
        <p onclick='swap()'>Swap</p>"""
    opened = await tools.said("browser_open", url=site.url())
    before, swap = ref_of(opened), ref_of(opened, "Swap")
    steps = (Step("click", swap), Step("click", before))
    acted = await tools.said("browser_act", CallStatus.ERROR, steps=steps)
    assert f"2. click {before}: gone: {before} is not on the page any more" in acted
    assert f'+ button "B" [{(now := ref_of(acted))}]' in acted
    assert now != before
    assert f"1. click {now}: done" in await tools.said("browser_act", steps=(Step("click", now),))


@pytest.mark.parametrize("killed", ["chrome://crash", "between two calls"])
async def test_a_page_whose_process_is_killed_is_told_and_the_next_one_opens(
    tools: ToolHarness, site: Site, killed: str
) -> None:
    site.pages["/"] = "<button>B</button>"
    ref = ref_of(await tools.said("browser_open", url=site.url()))
    if killed == "chrome://crash":
        said = await tools.said("browser_open", CallStatus.ERROR, url=killed)
        assert said.startswith(("not loaded: chrome://crash", "crashed: "))
    else:
        toolset = tools.toolsets[0]
        assert isinstance(toolset, BrowserTools)
        assert toolset.browser is not None
        tab = toolset.browser.tab()
        with suppress(ActFailed):
            await tab._call("Page.crash")
        acted = await tools.said("browser_act", CallStatus.ERROR, steps=(Step("click", ref),))
        assert f"1. click {ref}: crashed: " in acted
    await next_works(tools, site)


async def test_windows_that_a_page_opens_without_end_are_only_so_many_and_the_rest_is_told(
    tools: ToolHarness, site: Site
) -> None:
    site.pages["/"] = "<button>B</button><script>for (let i = 0; i < 40; i++) window.open(`/window${i}`)</script>"
    opened = await tools.said("browser_open", url=site.url())
    toolset = tools.toolsets[0]
    assert isinstance(toolset, BrowserTools)
    assert toolset.browser is not None
    async with asyncio.timeout(WITHIN_S):
        while toolset.browser._attaching:
            await asyncio.wait(set(toolset.browser._attaching))
    assert len(toolset.browser.tabs) == MOST_TABS
    looked = await tools.said("browser_look")
    assert f"a window of its own: {MOST_TABS} tabs are open" in opened + looked
    await next_works(tools, site)


async def test_a_page_without_end_is_read_as_far_as_it_is_there_and_left(
    tools: ToolHarness, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tabs, "SETTLED_S", 0.5)

    async def rows(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<!doctype html><button>B</button>")
        while True:
            writer.write(b"<p>More and more</p>")
            await writer.drain()
            await asyncio.sleep(0.02)  # the pace of the page

    async with served(rows) as port, asyncio.timeout(WITHIN_S):
        opened = await tools.said("browser_open", url=f"http://endless.example:{port}/")
        assert "still loading after" in opened
        acted = await tools.said("browser_act", steps=(Step("click", ref_of(opened)),))
        assert "1. click e1: done" in acted
        await next_works(tools, site)


async def test_a_page_whose_way_breaks_off_or_is_refused_in_the_middle_is_read_as_far_as_it_came(
    tools: ToolHarness, site: Site
) -> None:
    # Chromium drops what came and was not read yet as a connection breaks off: it breaks off when that was read.
    site.pages["/cut"] = f"<h1>First half</h1><script>fetch('/read')</script>{' ' * 3000}<h1>Second half</h1>"
    site.cut.add("/cut")
    site.held["/cut"] = site.signals["/read"] = asyncio.Event()
    cut = await tools.said("browser_open", url=site.url("/cut"))
    assert 'heading "First half"' in cut
    assert "Second half" not in cut
    site.pages["/mid"] = """<h1>Top</h1><script src=http://forbidden.example/a.js></script>
        <iframe src=http://forbidden.example/f></iframe><h1>End</h1>"""
    refused = await tools.said("browser_open", url=site.url("/mid"))
    assert "Its wall held back: http://forbidden.example" in refused
    assert 'heading "End"' in refused
    await next_works(tools, site)


async def test_thousands_of_nodes_are_a_view_of_them_and_all_can_be_found(tools: ToolHarness, site: Site) -> None:
    items = "".join(f"<li><a href=#{n}>Item {n}</a> <b>{n} €</b></li>" for n in range(NODES // 3))
    site.pages["/"] = f"<title>Shop</title><h1>Shop</h1><ul>{items}</ul>"
    async with asyncio.timeout(WITHIN_S):
        opened = await tools.said("browser_open", url=site.url())
        assert len(opened) < MOST // 2
        assert "more below" in opened
        found = await tools.said("browser_look", find=rf"Item {NODES // 3 - 1}\b")
        assert f'link "Item {NODES // 3 - 1}"' in found
        await next_works(tools, site)


async def test_a_large_download_arrives_whole_and_is_counted_on_the_way(tools: ToolHarness, site: Site) -> None:
    piece = bytes(range(256)) * 4096
    whole = hashlib.sha256()

    async def file(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        fields = f"content-disposition: attachment; filename=large.bin\r\ncontent-length: {DOWNLOAD}\r\n"
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n{fields}\r\n".encode())
        left = DOWNLOAD
        while left:
            part = piece[:left]
            whole.update(part)
            writer.write(part)
            await writer.drain()
            left -= len(part)

    async with served(file) as port:
        site.pages["/"] = f"<a href='http://files.example:{port}/large.bin'>B</a>"
        opened = await tools.said("browser_open", url=site.url())
        outcome = await tools.run("browser_act", steps=(Step("download", ref_of(opened), "large.bin"),))
    assert outcome.status is CallStatus.OK, text_of(outcome)
    (media,) = [part for part in outcome.parts if isinstance(part, Media)]
    assert (media.blob.size, media.blob.sha256) == (DOWNLOAD, whole.hexdigest())
    assert (tools.root / "large.bin").stat().st_size == DOWNLOAD
    await next_works(tools, site)


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], object]


@asynccontextmanager
async def served(serve: Serve) -> AsyncIterator[int]:
    """A server that does this with each connection, by its port."""

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await serve(reader, writer)  # type: ignore[misc] # a coroutine's
        writer.close()

    async with await asyncio.start_server(one, "127.0.0.1", 0) as listening:
        yield listening.sockets[0].getsockname()[1]
