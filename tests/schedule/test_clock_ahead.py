"""A schedule that waits for the time of a clock that was ahead says so, and how it goes on."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.days import DAY_MS
from angelia.core.errors import BadInput
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER
from angelia.core.timing import Cron
from angelia.faces.web.api.waiting_routes import WaitingRoutes
from angelia.service.schedule.ahead import LASTS_MS
from tests.schedule.outside_home import NOW_S, OutsideHome, outside_home
from tests.schedule.virtual import VirtualHome

pytestmark = pytest.mark.anyio

DAY_S = 86_400


@pytest.fixture
async def virtual(tmp_path: Path) -> AsyncIterator[VirtualHome]:
    home = VirtualHome(tmp_path / "home", NOW_S * 1000)
    yield home
    home.close()


async def _next(home: OutsideHome) -> str:
    ((_, _, coming, _, _),) = await home.app.schedule_service.lines(OWNER)
    return coming


async def test_it_says_how_it_goes_on_and_goes_on(tmp_path: Path) -> None:
    async with outside_home(tmp_path, ["schedule.zone=UTC"]) as home:
        name = await home.schedule("every hour")
        service, first = home.app.schedule_service, await _next(home)
        ahead = int(home.now + 400 * DAY_S) * 1000
        waiting = WaitingRoutes(home.app)
        assert await waiting.schedules() == []
        await home.app.transcript.append(name, [e.OccurrencesMissed(ahead, ahead, 1, "its clock was put on")])
        ((state, why),) = [(one["state"], one["why"]) for one in await waiting.schedules()]
        assert (state, "since a clock was ahead" in str(why)) == ("waiting", True)
        assert f"since a clock was ahead; `angelia schedule resume {name[-8:]}` goes on from now" in await _next(home)
        assert f"next {first}" in await service.resume(await home.stored(name), OWNER)
        assert await _next(home) == first
        assert await waiting.schedules() == []
        with pytest.raises(BadInput, match="is active, not paused"):
            await service.resume(await home.stored(name), OWNER)


async def test_a_reminder_that_was_missed_before_its_time_says_so_and_comes(tmp_path: Path) -> None:
    async with outside_home(tmp_path, ["schedule.zone=UTC"]) as home:
        name = await home.schedule("in 3 days")
        first, ahead = await _next(home), int(home.now + 400 * DAY_S) * 1000
        await home.app.transcript.append(name, [e.OccurrencesMissed(ahead, ahead, 1, "its clock was put on")])
        assert "since a clock was ahead" in await _next(home)
        assert f"next {first}" in await home.app.schedule_service.resume(await home.stored(name), OWNER)
        assert await _next(home) == first


async def test_one_that_was_made_then_has_to_be_made_anew(tmp_path: Path) -> None:
    async with outside_home(tmp_path, ["schedule.zone=UTC"]) as home:
        home.now += 400 * DAY_S
        name = await home.schedule("every hour")
        home.now -= 400 * DAY_S
        assert "since it was made while a clock was ahead; remove it, and make it anew" in await _next(home)
        ((state, why),) = [(one["state"], one["why"]) for one in await WaitingRoutes(home.app).schedules()]
        assert (state, "make it anew" in str(why)) == ("waiting", True)
        with pytest.raises(BadInput, match="was made while a clock was ahead"):
            await home.app.schedule_service.resume(await home.stored(name), OWNER)


async def told(virtual: VirtualHome, schedule: ConversationId) -> list[str]:
    """What is told in the schedule's chat."""
    facts = [entry.fact for entry in await virtual.transcript.entries(schedule)]
    return [str(fact.parts) for fact in facts if isinstance(fact, e.DeliveryQueued)]


async def test_that_it_waits_for_the_time_of_a_clock_that_was_ahead_is_told_once_where_that_lasts(
    virtual: VirtualHome,
) -> None:
    name, right, steady = await virtual.add(Cron("0 8 * * *"), late=e.Late.SKIP), virtual.now, [0]
    for virtual.now in (right + 400 * DAY_MS, right):
        await virtual.look(virtual.clockwork())
    for _ in range(2):  # lives, one after the other
        clockwork = virtual.clockwork(steady=lambda: steady[0])
        for more in (0, LASTS_MS // 2, LASTS_MS // 2, LASTS_MS):
            steady[0] += more
            await virtual.look(clockwork)
    (words,) = await told(virtual, name)
    assert f"angelia schedule resume {name[-8:]}" in words
    assert "while a clock was ahead" in words


async def test_one_that_was_made_then_is_told_too(virtual: VirtualHome) -> None:
    right, steady = virtual.now, [0]
    virtual.now += 400 * DAY_MS
    name = await virtual.add(Cron("0 8 * * *"))
    virtual.now = right
    clockwork = virtual.clockwork(steady=lambda: steady[0])
    for _ in range(3):
        await virtual.look(clockwork)
        steady[0] += LASTS_MS
    (words,) = await told(virtual, name)
    assert "it was made while a clock was ahead. Remove it, and make it anew." in words


async def test_a_machine_whose_clock_is_behind_as_it_starts_tells_nothing(virtual: VirtualHome) -> None:
    name, right, steady = await virtual.add(Cron("0 8 * * *"), late=e.Late.SKIP), virtual.now, [0]
    virtual.now = right + 40 * DAY_MS
    await virtual.look(virtual.clockwork())
    clockwork = virtual.clockwork(steady=lambda: steady[0])
    for virtual.now in (right + DAY_MS, right + 40 * DAY_MS + 1, right + DAY_MS, right + 40 * DAY_MS + 2):
        steady[0] += LASTS_MS // 2
        await virtual.look(clockwork)
    assert await told(virtual, name) == []
