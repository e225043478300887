"""MiniWoB++, 130 pages that nobody here wrote: each is seen, what can be clicked is known, and tasks are solved.

Its authors' reward says whether a task is solved (https://miniwob.farama.org). Small in `make test`, whole in a soak.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from angelia.browsers.chromium.tab import Tab
from tests.browsers.accessibility import differing
from tests.browsers.oracles import ORACLES
from tests.browsers.served_folder import served, tab_at
from tests.examples import TIMES

pytestmark = [pytest.mark.anyio, pytest.mark.real("chromium")]

FOLDER = Path(str((find_spec("miniwob") or pytest.skip("miniwob is not installed", allow_module_level=True)).origin))
PAGES = sorted(path.stem for path in (FOLDER.parent / "html/miniwob").glob("*.html"))
WHOLE = TIMES > 0
SOME = PAGES if WHOLE else PAGES[::13]
SEEDS = range(10) if WHOLE else range(1)
KINDS = sorted(ORACLES) if WHOLE else sorted(ORACLES)[::6]

WATCHED = {"chase-circle", "click-pie", "hover-shape"}
"""Pages that only watch where the pointer is, or listen for a whole drawing: nothing there is known to be clicked."""

NATIVE = "a[href], button, input:not([type=hidden]), select, textarea, [onclick], [contenteditable], [tabindex]"
MISSED = """((refs) => { const known = refs.map(angeliaPage.element);
  const seen = { visibilityProperty: true, opacityProperty: true };
  const sized = (one) => one.checkVisibility(seen) && one.getClientRects()[0]?.width > 1
    && one.getClientRects()[0].right > 0;
  return { known: known.filter((one) => !one.closest("#query, #reward-display")).length,
    missed: [...document.querySelectorAll("#area, .ui-dialog")].flatMap((area) => [...area.querySelectorAll(NATIVE)])
      .filter((one) => sized(one) && !known.includes(one)).map((one) => one.outerHTML.slice(0, 200)) } })"""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Where its pages are."""
    with served(FOLDER.parent / "html") as port:
        yield port


@pytest.fixture(scope="module")
async def tab(port: int) -> AsyncIterator[Tab]:
    """A tab in which they are opened one after the other."""
    async with tab_at("miniwob.example", port) as tab:
        yield tab


async def begun(tab: Tab, port: int, page: str, seed: int) -> str:
    """A page with its task begun; what is to be done."""
    await tab.go(f"http://miniwob.example:{port}/miniwob/{page}.html")
    await said(tab, f"Math.seedrandom('{seed}'); core.EPISODE_MAX_TIME = 1e7; core.startEpisodeReal()")
    return str(await said(tab, "document.querySelector('#query').innerText.replace(/\\s+/g, ' ').trim()"))


async def said(tab: Tab, expression: str) -> Any:
    """What something comes to in the page's own world."""
    asked = {"expression": expression, "returnByValue": True}
    return (await tab._call("Runtime.evaluate", asked))["result"].get("value")


@pytest.mark.parametrize("page", SOME)
async def test_a_page_is_seen_and_all_that_can_be_clicked_is_named(tab: Tab, port: int, page: str) -> None:
    await begun(tab, port, page, 1)
    look = await tab.look(whole=True)
    lines = [line for line in look.lines if line.ref]
    script = MISSED.replace("NATIVE", json.dumps(NATIVE))
    found = await tab.frames.evaluate(tab.frames.page, f"{script}({json.dumps([line.ref for line in lines])})")
    assert not found["missed"]
    assert found["known"] or page in WATCHED
    assert await differing(tab, lines) == []


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_task_is_solved_by_what_is_seen(tab: Tab, port: int, kind: str, seed: int) -> None:
    task = await begun(tab, port, kind, seed)
    await ORACLES[kind](tab, task)
    async with asyncio.timeout(20):
        while not await said(tab, "WOB_DONE_GLOBAL"):
            await tab._news_or(0.05)
    assert await said(tab, "WOB_RAW_REWARD_GLOBAL") == 1, task
