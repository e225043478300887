"""A page that is not all there yet: what is shown of it says so, and for how long."""

import asyncio
import re
from collections import Counter

import pytest

from angelia.browsers.chromium import loading
from angelia.browsers.chromium import tab as tabs
from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.chromium.launch import RunningChromium
from angelia.browsers.port import ActFailed, ActOutcome
from angelia.browsers.snapshot import PageLine, PageLook, changes
from angelia.core.content import CallStatus
from angelia.testing.tools.harness import ToolHarness
from angelia.tools.browser.act_on_page import Step
from tests.browsers.site import Site

pytestmark = [pytest.mark.anyio, pytest.mark.real("chromium")]

LOADING = re.compile(r"still loading after \d+\.\d s")
AWAITED = re.compile(r"not loaded: \S+/never is still loading, and has shown nothing for \d+\.\d s")


@pytest.fixture(autouse=True)
def _waiting_no_longer_than_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabs, "SETTLED_S", 0.3)
    monkeypatch.setattr(tabs, "LOADED_S", 0.5)
    monkeypatch.setattr(loading, "LONGEST_S", 1.0)


async def test_an_empty_view_of_a_page_that_is_still_coming_says_so(tools: ToolHarness, site: Site) -> None:
    site.pages["/"] = f"<title>Shop</title>{' ' * 4000}<h1>There</h1>"
    site.held["/"] = arrives = asyncio.Event()
    opened = await tools.said("browser_open", url=site.url())
    assert LOADING.search(opened)
    assert "(nothing to see yet)" in opened
    arrives.set()
    said = await tools.said("browser_act", steps=(Step("wait", text="There"),))
    assert "There" in said
    looked = await tools.said("browser_look")
    assert "loading" not in looked
    assert 'heading "There"' in looked


async def test_a_page_that_does_not_answer_is_said_to_be_awaited_and_the_next_one_opens(
    tools: ToolHarness, site: Site
) -> None:
    site.pages["/"] = site.pages["/never"] = "<p>Words</p>"
    site.unanswered["/never"] = asyncio.Event()
    refused = await tools.said("browser_open", CallStatus.ERROR, url=site.url("/never"))
    assert f"timed out: {site.url('/never')} has shown nothing within 0.5 s, and is still awaited" in refused
    looked = await tools.said("browser_look", CallStatus.ERROR)
    assert AWAITED.search(looked)
    assert site.url("/never") in looked
    opened = await tools.said("browser_open", url=site.url())
    assert "Words" in opened
    assert "loading" not in opened


async def test_a_click_that_leads_to_a_page_which_does_not_answer_says_what_is_awaited(
    tools: ToolHarness, site: Site
) -> None:
    site.pages["/"], site.pages["/never"] = "<a href=/never>On</a>", "<p>Words</p>"
    site.unanswered["/never"] = arrives = asyncio.Event()
    await tools.said("browser_open", url=site.url())
    acted = await tools.said("browser_act", steps=(Step("click", "e1"),))
    assert "1. click e1: done" in acted
    assert AWAITED.search(acted)
    arrives.set()
    assert "Words" in await tools.said("browser_act", steps=(Step("wait", text="Words"),))


@pytest.mark.parametrize("answer", ["nothing", "a file"])
async def test_an_answer_that_is_no_page_leaves_none_awaited(browser: ChromiumBrowser, site: Site, answer: str) -> None:
    site.pages["/"], site.pages["/other"] = "<p>Here</p>", "" if answer == "nothing" else "x"
    tab = await browser.opened()
    await tab.go(site.url())
    if answer == "nothing":
        site.statuses["/other"] = "204 No Content"
    else:
        site.headers["/other"] = "content-disposition: attachment; filename=x.bin\r\n"
    with pytest.raises(ActFailed) as failed:
        await tab.go(site.url("/other"))
    assert failed.value.outcome is ActOutcome.NOT_LOADED
    look = await tab.look()
    assert look.loading == 0


async def test_a_page_has_a_process_and_nothing_has_one_for_later(browser: ChromiumBrowser, site: Site) -> None:
    """Of the empty page that it begins with, and for a page that may come: each takes 12 MB, in each conversation. Nor
    has what speaks to the network, which takes 10.
    """
    site.pages["/"] = "<p>Here</p>"
    await (await browser.opened()).go(site.url())
    assert isinstance(browser._running, RunningChromium)
    kinds = Counter({"renderer": 2})
    async with asyncio.timeout(20):  # one that is left by its page ends a moment later
        while kinds["renderer"] > 1:
            told = await browser._running.cdp.call("SystemInfo.getProcessInfo")
            kinds = Counter(one["type"] for one in told["processInfo"])
    assert kinds == {"browser": 1, "GPU": 1, "renderer": 1}


def test_what_has_changed_says_that_more_may_come() -> None:
    line = (PageLine("One"),)
    before = PageLook("http://a.example/", "A", line)
    after = PageLook("http://a.example/", "A", line, loading=2.04)
    assert changes(before, after) == "Nothing in view has changed. (The page is still loading after 2.0 s: look again.)"
    assert after.head().endswith(", still loading after 2.0 s")
    assert "loading" not in changes(before, before)
