"""Rows about the browser: first page, looks in time and tokens, acts and their results, beside others."""

import asyncio
import functools
import http.server
import os
import shutil
import statistics
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec import Struct

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.chromium.program import find_chromium
from angelia.browsers.chromium.tab import Tab
from angelia.browsers.snapshot import PageLook
from angelia.context.tokens import text_tokens
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.testing.tools.harness import ToolHarness, text_of
from angelia.tools.browser.act_on_page import Step
from angelia.tools.browser.toolset import BrowserTools
from angelia.tools.registry import Registry
from bench.browser_peers import Measured, memory_of, peers
from bench.rows import Row, Yardstick, row
from bench.runs import Benchmark

TIMES = 15
NODES = 34_000
_FURTHER = 5
"""Browsers beside the first; what the second shares with it was the first's own until then."""
_SETTLED_S = 2.0
_EVERY = 4
"""Of MiniWoB++'s 130 pages each fourth is opened."""
_BEGIN = "Math.seedrandom('1'); core.EPISODE_MAX_TIME = 1e7; core.startEpisodeReal(); null"
_DOCS, _SHOP, _BUTTONS = "Python's os page", "34,000 nodes", "buttons"


class Pages(Struct, frozen=True):
    """Paths below a folder that is served: pages by their names, and those of MiniWoB++."""

    named: dict[str, str]
    episodes: tuple[str, ...]


def rows(bench: Benchmark) -> Iterator[Row]:
    """A shop of 34,000 nodes, a page of a few buttons, and pages that nobody here wrote."""
    if find_chromium() is None or shutil.which("bwrap") is None:
        yield Row("the browser", "s", note="no Chromium or bubblewrap here")
        return
    folder = bench.place("browser")
    pages = laid_out(folder)
    with served(folder) as port:
        ours = asyncio.run(measured(folder, port, pages))
        here = {name: f"http://127.0.0.1:{port}/{path}" for name, path in pages.named.items()}
        episodes = [f"http://127.0.0.1:{port}/{path}" for path in pages.episodes]
        others = asyncio.run(peers(here, episodes, _BEGIN))
    yield from beside(ours, others)
    if missing := [name for name in (_DOCS,) if name not in pages.named]:
        yield Row(f"a look at {missing[0]}", "ms", note="python3-doc is not installed")


def laid_out(folder: Path) -> Pages:
    """Write the pages of ours, and link to those of others that are here."""
    items = "".join(f"<li><a href=#{n}>Item {n}</a> <b>{n} €</b></li>" for n in range(NODES // 3))
    (folder / "shop.html").write_text(f"<title>Shop</title><h1>Shop</h1><ul>{items}</ul>")
    buttons = "".join(f"<button onclick='this.title = {n}'>Button {n}</button>" for n in range(10))
    (folder / "buttons.html").write_text(f"<title>Buttons</title>{buttons}")
    named = {_BUTTONS: "buttons.html", _SHOP: "shop.html"}
    if docs := sorted(Path("/usr/share/doc").glob("python3.*/html/library/os.html")):
        (folder / "docs").symlink_to(docs[0].parents[1])
        named[_DOCS] = "docs/library/os.html"
    episodes: list[str] = []
    if (spec := find_spec("miniwob")) and spec.origin:
        html = Path(spec.origin).parent / "html"
        (folder / "wob").symlink_to(html)
        episodes = sorted(f"wob/miniwob/{page.name}" for page in (html / "miniwob").glob("*.html"))[::_EVERY]
    return Pages(named, tuple(episodes))


class Ours(Struct):
    """What `Measured` has of others, with what only we are held to."""

    measured: Measured
    first: list[float] = []
    looks: dict[str, list[float]] = {}
    act: Row | None = None
    further: list[float] = []
    result: float = 0.0


async def measured(folder: Path, port: int, pages: Pages) -> Ours:
    """Ours, in browsers that reach the folder and nothing else."""
    ours = Ours(Measured("Angelia"))

    async def addresses(origin: str, host: str, wanted: int) -> Sequence[str]:
        return ["127.0.0.1"]

    at = f"http://site.example:{port}"
    for _ in range(5):
        browser = ChromiumBrowser(addresses)
        start = time.perf_counter()
        tab = await browser.opened()
        await tab.go(f"{at}/{pages.named[_BUTTONS]}")
        await tab.look()
        ours.first.append(time.perf_counter() - start)
        await browser.close()
    before = memory_of(os.getpid())
    browser, *others = (ChromiumBrowser(addresses) for _ in range(1 + _FURTHER))
    tab = await browser.opened()
    await tab.go(f"{at}/{pages.named[_BUTTONS]}")
    ours.act = await acting(tab)
    steps = [before, await settled_memory()]
    for other in others:
        await (await other.opened()).go(f"{at}/{pages.named[_BUTTONS]}")
        steps.append(await settled_memory())
    ours.measured.memory, *ours.further = (after - earlier for earlier, after in pairwise(steps))
    for other in others:
        await other.close()
    for name, path in pages.named.items():
        await tab.go(f"{at}/{path}")
        look = await tab.look()
        ours.measured.tokens[name] = text_tokens(as_read(look))
        ours.looks[name] = [await timed(tab) for _ in range(TIMES)]
        ours.measured.seconds[name] = statistics.median(ours.looks[name])
    await browser.close()
    await tools(folder, at, pages.episodes, ours)
    return ours


async def settled_memory() -> float:
    """Bytes of all that this process has begun, some time after: a page that is there lets go of more."""
    await asyncio.sleep(_SETTLED_S)
    return memory_of(os.getpid())


def as_read(look: PageLook) -> str:
    """All that a model reads of a look."""
    return f"{look.head()}\n{look.words()}"


async def timed(tab: Tab) -> float:
    """Seconds of a look."""
    start = time.perf_counter()
    await tab.look()
    return time.perf_counter() - start


async def acting(tab: Tab) -> Row:
    """A click by reference, beside the three calls that a pointer takes in any case."""
    ours, bare = list[float](), list[float]()
    (ref, *_) = [line.ref for line in (await tab.look()).lines if line.ref]
    for _ in range(TIMES):
        start = time.perf_counter()
        await tab.click(ref)
        between = time.perf_counter()
        await tab._mouse("mouseMoved", 20, 20)
        await tab._mouse("mousePressed", 20, 20, button="left", clickCount=1)
        await tab._mouse("mouseReleased", 20, 20, button="left", clickCount=1)
        bare.append(time.perf_counter() - between)
        ours.append(between - start)
    above = [one - other for one, other in zip(ours, bare, strict=True)]
    calls = Yardstick("bare calls", sorted(bare)[len(bare) // 2])
    return row("a click by reference, above the bare calls", "ms", above, 0.005, yardstick=calls)


async def tools(folder: Path, at: str, episodes: Sequence[str], ours: Ours) -> None:
    """What a model reads: of the tools themselves, of MiniWoB++'s pages, and of what a click came to there."""
    async with harness(folder) as tools:
        specs = Registry.of(tools.toolsets).specs()
        ours.measured.schemas = text_tokens(msgspec.json.encode(specs).decode())
        seen, results = list[int](), list[int]()
        for path in episodes:
            await tools.run("browser_open", url=f"{at}/{path}")
            assert isinstance(tools.toolsets[0], BrowserTools)
            assert tools.toolsets[0].browser is not None
            tab = tools.toolsets[0].browser.tab()
            await tab._call("Runtime.evaluate", {"expression": _BEGIN})
            look = await tab.look()
            seen.append(text_tokens(as_read(look)))
            if refs := [line.ref for line in look.lines if line.ref]:
                acted = await tools.run("browser_act", steps=(Step("click", refs[0]),))
                results.append(text_tokens(text_of(acted)))
        if seen and results:
            ours.measured.tokens["episodes"] = statistics.median(seen)
            ours.result = statistics.median(results)


@asynccontextmanager
async def harness(folder: Path) -> AsyncIterator[ToolHarness]:
    """The browser's tools as a conversation has them."""

    async def addresses(origin: str, host: str, wanted: int) -> Sequence[str]:
        return ["127.0.0.1"]

    workspace = folder / "workspace"
    workspace.mkdir()
    sandbox = LocalSandbox(workspace, home=folder / "home", state=folder / "state")
    tools = ToolHarness(workspace, sandbox, [BrowserTools()])
    tools.addresses = addresses
    await tools.open()
    try:
        yield tools
    finally:
        await tools.close()


def beside(ours: Ours, others: Sequence[Measured]) -> Iterator[Row]:
    """A row for each figure of ours, and one more for each of the others that has it, too."""
    mine = ours.measured
    name = "first page, from nothing to what is in view"
    yield from compared(name, "s", ours.first, 0.6, {one.name: one.first for one in others})
    yield from compared(
        "memory of a browser with a page", "MB", [mine.memory], 230e6, {one.name: one.memory for one in others}
    )
    yield row("memory of one more conversation's browser", "MB", ours.further, 60e6, note=_SHARES)
    if ours.act is not None:
        yield ours.act
    for page, most_s, most in ((_DOCS, 0.02, 1000), (_SHOP, 0.25, 1000)):
        if page in ours.looks:
            seconds = {one.name: one.seconds.get(page, 0.0) for one in others}
            yield from compared(f"a look at {page}", "ms", ours.looks[page], most_s, seconds)
            tokens = {one.name: one.tokens.get(page, 0.0) for one in others}
            yield from compared(f"tokens of a look at {page}", "", [mine.tokens[page]], most, tokens)
    if "episodes" in mine.tokens:
        tokens = {one.name: one.tokens.get("episodes", 0.0) for one in others}
        yield from compared(
            "tokens of a look at a page of MiniWoB++, median", "", [mine.tokens["episodes"]], 60, tokens
        )
        yield row("tokens of what a click there came to, median", "", ours.result, 150)
    yield from compared("tokens of the tools", "", [mine.schemas], 1500, {one.name: one.schemas for one in others})


_SHARES = "a browser for each conversation: no two share a process, a network or a wall"


def compared(name: str, unit: str, values: Sequence[float], most: float, others: Mapping[str, float]) -> Iterator[Row]:
    """A figure of ours, once beside each of the others that has it."""
    if not all(values):
        yield Row(name, unit, note="this system does not say")
        return
    yardsticks: list[Yardstick | None] = [Yardstick(other, value) for other, value in others.items() if value]
    for yardstick in yardsticks or [None]:
        yield row(name, unit, values, most, yardstick=yardstick)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, and says nothing."""

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextmanager
def served(folder: Path) -> Iterator[int]:
    """The port of this machine at which a folder is served meanwhile."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
