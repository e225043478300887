"""A server's lists are read again when they change, and not without end where it says so of every listing."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from angelia.tools.mcp import listing_pace
from angelia.tools.mcp.server import Site, given
from tests.mcp.asking_server import Era, at_a_site
from tests.mcp.reached import only, reached
from tests.mcp.test_streams_cut import Bed, until

pytestmark = pytest.mark.anyio

LISTINGS = 3
"""The first, and two that wait for nothing."""


@pytest.fixture(autouse=True)
async def in_time(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Nothing here waits for ever; after two changes nobody asks again for an hour."""
    monkeypatch.setattr(listing_pace, "PAUSES", (0.0, 0.0, 3_600.0))
    async with asyncio.timeout(60):
        yield


class Restless(Bed):
    """Says with each listing that something else grows; `lists` counts them, `calls` what was called."""

    def __init__(self) -> None:
        super().__init__()
        self.lists = 0

    async def _list(self, context: Any, params: Any) -> types.ListToolsResult:
        self.lists += 1
        found = await super()._list(context, params)
        await self.tell()
        return found

    async def _call(self, context: Any, _: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[])


@pytest.mark.parametrize("era", ["old", "new"])
async def test_a_server_that_tells_of_a_change_with_every_listing_is_not_listed_without_end(
    tmp_path: Path, era: Era
) -> None:
    bed = Restless()
    async with (
        at_a_site(bed.server, era, bed.counting) as url,
        reached(tmp_path, Site(url, given({}))) as (servers, _),
    ):
        await until(lambda: bed.streams)
        await bed.tell()
        await until(lambda: bed.lists >= LISTINGS)
        for _ in range(50):
            await only(servers).call("rose", {}, lambda _: None)
        assert bed.lists == LISTINGS


async def test_after_a_while_without_one_a_change_is_the_first_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing_pace, "PAUSES", (0, 1, 2))
    pace = listing_pace.ListingPace()
    assert [pace.pause() for _ in range(4)] == [0, 1, 2, 2]
    monkeypatch.setattr(listing_pace, "QUIET_S", -1.0)
    assert pace.pause() == 0
