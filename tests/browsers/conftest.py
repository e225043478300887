"""A real browser behind its real wall, and a site that it may reach."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.core.errors import PolicyDenied
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.testing.tools.harness import ToolHarness
from angelia.tools.browser.toolset import BrowserTools
from tests.browsers.desktop import DesktopHand, desktop
from tests.browsers.site import Site

PERMITTED = ("site.example", "other.example")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One event loop for a file, as a browser that lasts as long has it."""
    return "asyncio"


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[Site]:
    """A site that serves a file's tests, one after the other."""
    made = Site()
    async with await asyncio.start_server(made.serve, "127.0.0.1", 0) as listening:
        made.port = listening.sockets[0].getsockname()[1]
        yield made


@pytest.fixture
def site(served: Site) -> Site:
    """A site with no pages yet."""
    served.clear()
    return served


@pytest.fixture(scope="module")
async def running(served: Site) -> AsyncIterator[ChromiumBrowser]:
    """A browser that reaches the site by two names, and nothing else."""

    async def addresses(origin: str, host: str, port: int) -> Sequence[str]:
        if host not in PERMITTED or port != served.port:
            raise PolicyDenied(f"{origin} is not reached.", "No such place was permitted.")
        return ["127.0.0.1"]

    made = ChromiumBrowser(addresses)
    yield made
    await made.close()


@pytest.fixture
async def browser(running: ChromiumBrowser, site: Site) -> AsyncIterator[ChromiumBrowser]:
    """That browser, with no tab open."""
    yield running
    for name in list(running.tabs):
        await running.close_tab(name)
    running.refused()


@pytest.fixture
def screen() -> Iterator[str]:
    """A desktop of the test's own, by its name."""
    with desktop() as name:
        yield name


@pytest.fixture
def hand(screen: str) -> Iterator[DesktopHand]:
    """A person's hand on it."""
    with DesktopHand(screen) as made:
        yield made


@pytest.fixture
async def tools(site: Site, tmp_path: Path) -> AsyncIterator[ToolHarness]:
    """The tools, with a browser that reaches the site and nothing else."""

    async def addresses(origin: str, host: str, port: int) -> Sequence[str]:
        if not host.endswith((".example",)) or "forbidden" in host:
            raise PolicyDenied(f"{origin} is not reached.", "No such place was permitted.")
        return ["127.0.0.1"]

    (tmp_path / "w").mkdir()
    sandbox = LocalSandbox(tmp_path / "w", home=tmp_path / "home", state=tmp_path / "state")
    harness = ToolHarness(tmp_path / "w", sandbox, [BrowserTools()])
    harness.addresses = addresses
    await harness.open()
    yield harness
    await harness.close()
