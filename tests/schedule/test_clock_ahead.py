"""A schedule that waits for the time of a clock that was ahead says so, and how it goes on."""

from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from tests.schedule.outside_home import OutsideHome, outside_home

pytestmark = pytest.mark.anyio

DAY_S = 86_400


async def _next(home: OutsideHome) -> str:
    ((_, _, coming, _, _),) = await home.app.schedule_service.lines(OWNER)
    return coming


async def test_it_says_how_it_goes_on_and_goes_on(tmp_path: Path) -> None:
    async with outside_home(tmp_path, ["schedule.zone=UTC"]) as home:
        name = await home.schedule("every hour")
        service, first = home.app.schedule_service, await _next(home)
        ahead = int(home.now + 400 * DAY_S) * 1000
        await home.app.transcript.append(name, [e.OccurrencesMissed(ahead, ahead, 1, "its clock was put on")])
        assert f"since a clock was ahead; `angelia schedule resume {name[-8:]}` goes on from now" in await _next(home)
        assert f"next {first}" in await service.resume(await home.stored(name), OWNER)
        assert await _next(home) == first
        with pytest.raises(BadInput, match="is active, not paused"):
            await service.resume(await home.stored(name), OWNER)


async def test_one_that_was_made_then_has_to_be_made_anew(tmp_path: Path) -> None:
    async with outside_home(tmp_path, ["schedule.zone=UTC"]) as home:
        home.now += 400 * DAY_S
        name = await home.schedule("every hour")
        home.now -= 400 * DAY_S
        assert "resume" not in await _next(home)
        with pytest.raises(BadInput, match="is active, not paused"):
            await home.app.schedule_service.resume(await home.stored(name), OWNER)
