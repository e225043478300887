"""A real browser behind its real wall, and a site that it may reach."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.core.errors import PolicyDenied
from tests.browsers.site import Site

PERMITTED = ("site.example", "other.example")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """A site with no pages yet."""
    made = Site()
    async with await asyncio.start_server(made.serve, "127.0.0.1", 0) as listening:
        made.port = listening.sockets[0].getsockname()[1]
        yield made


@pytest.fixture
async def browser(site: Site) -> AsyncIterator[ChromiumBrowser]:
    """A browser that reaches the site by two names, and nothing else."""

    async def addresses(origin: str, host: str, port: int) -> Sequence[str]:
        if host not in PERMITTED or port != site.port:
            raise PolicyDenied(f"{origin} is not reached.", "No such place was permitted.")
        return ["127.0.0.1"]

    made = ChromiumBrowser(addresses)
    yield made
    await made.close()
