"""A schedule that is damaged stands still, which is told, and keeps no other from beginning."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.errors import StoreDamaged
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER
from angelia.core.timing import Cron, Watched, WatchKind
from angelia.service.schedule.clockwork import run_facts
from angelia.service.schedule.occurrences import milliseconds
from tests.schedule.virtual import CHAT, VirtualHome, alter_words, damage_first_entry, damage_words

HOUR = 3_600_000

pytestmark = pytest.mark.anyio


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[VirtualHome]:
    home = VirtualHome(tmp_path / "home", milliseconds(datetime(2025, 1, 1, tzinfo=UTC)))
    yield home
    home.close()


@pytest.mark.parametrize("watch", [None, Watched(WatchKind.PAGE, "https://example.org/")], ids=["by-time", "watched"])
async def test_one_whose_log_is_damaged_is_paused_and_told_and_keeps_no_other_from_beginning(
    home: VirtualHome, tmp_path: Path, watch: Watched | None
) -> None:
    damaged, whole = await home.add(Cron("0 8 * * *"), watch=watch), await home.add(Cron("0 8 * * *"))
    damage_first_entry(tmp_path / "home", damaged)
    home.now += 8 * HOUR
    await home.look(home.clockwork())
    assert [one.schedule for one in await home.schedules.ended(10)] == [whole]
    states = {one.id: (one.state, one.why) for one in await home.schedules.changed(0)}
    assert states[whole][0] is e.ScheduleState.ACTIVE
    assert states[damaged][0] is e.ScheduleState.PAUSED
    assert "is not what was stored" in states[damaged][1]
    told = [
        fact
        for entry in (await home.transcript.legible(damaged))[0]
        if isinstance(fact := entry.fact, e.DeliveryQueued)
    ]
    assert [fact.address for fact in told] == [CHAT]


@pytest.mark.parametrize(
    ("damage", "why"), [(damage_words, "cannot be read"), (alter_words, "is not what was stored there")]
)
async def test_one_whose_words_are_damaged_or_altered_stands_still_says_why_and_keeps_no_other_from_beginning(
    home: VirtualHome, tmp_path: Path, damage: Callable[[Path, ConversationId], None], why: str
) -> None:
    damaged, whole = await home.add(Cron("0 8 * * *")), await home.add(Cron("0 8 * * *"))
    damage(tmp_path / "home", damaged)
    home.now += 8 * HOUR
    await home.look(home.clockwork())
    assert [one.schedule for one in await home.schedules.ended(10)] == [whole]
    listed = {one.id: one for one in await home.schedules.visible(OWNER)}
    assert listed[damaged].state is e.ScheduleState.PAUSED
    assert f"Entry 2 of {damaged} {why}" in listed[damaged].why
    with pytest.raises(StoreDamaged, match="cannot begin"):
        await run_facts(home.transcript, listed[damaged], 0, 0, key="by hand")
    assert listed[whole].scheduled.text == "Look."
