"""Every occurrence has exactly one fact: the beginning of its turn, or why there was none."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.errors import StoreBusy, StoreDamaged, StoreError, StoreFull
from angelia.core.ids import ConversationId, new_conversation
from angelia.core.principal import OWNER
from angelia.core.timing import Cron, Every, OneTime, When
from angelia.sandboxes.port import Unreachable
from angelia.service.schedule.clockwork import GRACE_MS, MOST_SINGLE
from angelia.service.schedule.occurrences import milliseconds
from angelia.service.schedule.stuck_turns import FAILURES
from angelia.service.settings.config import PersonSettings
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.sql import upkeep
from angelia.store.tables.schedules import Schedules, StoredSchedule
from tests.examples import TIMES
from tests.schedule.virtual import CHAT, VirtualHome

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
START = milliseconds(datetime(2025, 1, 1, tzinfo=UTC))

pytestmark = pytest.mark.anyio


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[VirtualHome]:
    home = VirtualHome(tmp_path / "home", START)
    yield home
    home.close()


ZONES = {
    "Europe/Berlin": 2025,
    "Australia/Lord_Howe": 2025,
    "Asia/Kathmandu": 2025,
    "America/Sao_Paulo": 2018,
    "Africa/Casablanca": 2025,
    "Pacific/Apia": 2011,
}
"""Six zones, and the first of two years in which they changed their clocks or their rules."""
HERE = ZONES if TIMES else ("Australia/Lord_Howe",)
"""Half an hour in summer; `make soak` goes through all of them."""

DAYS = 731 if TIMES else 430
"""Past the time that comes only once; two years in `make soak`."""

LINES: tuple[When, ...] = (
    *(Cron(f"{minute} {hour} * * {day}") for minute in (0, 30) for hour in (1, 2, 3) for day in ("0",)),
    *(Cron(f"15 {hour} {day} * *") for hour in ("*/8", 0) for day in ("1", "L")),
    Every(7 * 3600),
    Cron("30 2 29 2 *"),
)


def _drawn_lines(drawn: random.Random) -> list[When]:
    """Hundreds in `make soak`, most of them in the hours in which clocks change."""

    def line() -> str:
        at = f"{drawn.randrange(60)} {drawn.choice((0, 1, 2, 2, 3, drawn.randrange(24)))}"
        days = (f"{drawn.randrange(1, 32)} * *", f"* * {drawn.randrange(7)}", f"* {drawn.randrange(1, 13)} 0")
        return f"{at} {drawn.choice(days)}"

    return [Cron(line()) for _ in range(200 if TIMES else 0)]


@pytest.mark.slow
@pytest.mark.parametrize("zone", HERE)
@pytest.mark.soak
async def test_years_of_sleep_and_clocks_set_wrong_leave_each_occurrence_with_one_fact(
    tmp_path: Path, zone: str
) -> None:
    drawn = random.Random(zone)
    home = VirtualHome(tmp_path / "home", milliseconds(datetime(ZONES[zone], 1, 1, tzinfo=UTC)))
    end_at = home.now + DAYS * DAY
    for when in (*LINES, *_drawn_lines(drawn), OneTime(datetime(ZONES[zone] + 1, 3, 3, 3, 3).isoformat())):  # noqa: DTZ001 - wall time
        await home.add(when, zone, drawn.choice(list(e.Late)))
    stores = [home.store(), home.store()]
    processes = [home.clockwork(db=db) for db in stores]
    while home.now < end_at:
        due = await home.look(drawn.choice(processes))
        match drawn.randrange(20):
            case 0:  # the machine sleeps
                home.now += drawn.randrange(12 * HOUR)
            case 1:
                home.now += drawn.randrange(6 * DAY)
            case 2:  # somebody sets the clock back, and it goes on from there
                home.now -= drawn.randrange(2 * DAY)
            case 3:
                which = drawn.randrange(2)
                processes[which] = home.clockwork(db=stores[which])
            case 4:  # killed around one of its commits
                home.now = max(home.now, due or end_at)
                which = drawn.randrange(2)
                await home.look_and_die(processes[which], drawn.randrange(4))
                processes[which] = home.clockwork(db=stores[which])
            case _:
                home.now = max(home.now, due or end_at) + drawn.randrange(2000)
    for one in processes:
        await home.look(one)
    assert await home.instants() == await home.due()
    assert any(isinstance(fact, e.OccurrencesMissed) for _, fact in await home.facts())
    assert home.deaths
    home.close()


async def test_lateness_awake_is_what_the_clock_says(home: VirtualHome) -> None:
    await home.add(Cron("0 * * * *"))
    clockwork = home.clockwork()
    due = await home.look(clockwork)
    assert due == START + HOUR
    home.now = due - 1
    assert await home.look(clockwork) == due
    assert not await home.facts()
    home.now = due
    await home.look(clockwork)
    assert [fact.due for _, fact in await home.facts()] == [due]


async def test_what_was_due_while_the_machine_slept_begins_within_30_seconds_of_waking(
    home: VirtualHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Timers stop while a machine sleeps, so that no timer may be longer than it may be late."""
    slept = []
    real = asyncio.timeout

    def sleeping(seconds: float) -> asyncio.Timeout:
        slept.append(seconds)
        home.now += DAY  # the lid was closed
        return real(0)

    monkeypatch.setattr(asyncio, "timeout", sleeping)
    await home.add(Cron("0 8 * * *"))
    clockwork = home.clockwork()
    running = asyncio.create_task(clockwork.run())
    await home.began.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await clockwork.close()
    assert slept[0] <= 30


async def test_what_was_missed_asleep_is_made_up_for_once_and_told(home: VirtualHome) -> None:
    name = await home.add(Cron("0 8 * * *"))
    home.now += 5 * DAY + 10 * HOUR
    await home.look(home.clockwork())
    facts = [fact for _, fact in await home.facts()]
    missed = [fact for fact in facts if isinstance(fact, e.OccurrencesMissed)]
    (began,) = (fact for fact in facts if isinstance(fact, e.Occurred))
    assert [fact.why for fact in missed] == ["no clock was running"] * 5
    assert "Missed before: 5 times;" in str(began.parts)
    assert began.key == f"{name}:{began.due}"


async def test_a_schedule_that_skips_begins_nothing_late(home: VirtualHome) -> None:
    await home.add(Cron("0 8 * * *"), late=e.Late.SKIP)
    clockwork = home.clockwork()
    home.now += 8 * HOUR + GRACE_MS
    await home.look(clockwork)
    home.now += DAY + 1
    await home.look(clockwork)
    facts = [type(fact) for _, fact in await home.facts()]
    assert sorted(facts, key=str) == [e.Occurred, e.OccurrencesMissed]


async def test_of_many_missed_there_is_one_fact_for_all(home: VirtualHome) -> None:
    await home.add(Cron("* * * * *"), late=e.Late.SKIP)
    home.now += 3 * DAY + GRACE_MS * 2
    await home.look(home.clockwork())
    facts = [fact for _, fact in await home.facts()]
    assert sum(isinstance(fact, e.Occurred) for fact in facts) == 1  # the last minute is not late
    assert len(facts) < MOST_SINGLE
    assert await home.instants() == await home.due()


async def test_nothing_begins_while_the_turn_before_goes_on(home: VirtualHome) -> None:
    await home.add(Every(HOUR // 1000))
    clockwork, home.ending = home.clockwork(), None
    home.now += HOUR
    await home.look(clockwork)
    home.now += HOUR
    await home.look(clockwork)
    assert [getattr(fact, "why", "") for _, fact in await home.facts()] == ["the turn before was still going on", ""]
    await clockwork.close()


async def test_a_turn_that_a_process_left_open_is_gone_on_with_and_begun_only_once(home: VirtualHome) -> None:
    await home.add(Cron("0 8 * * *"))
    clockwork, home.ending = home.clockwork(), None
    home.now += 8 * HOUR
    await home.look(clockwork)
    await clockwork.close()  # as if killed: its turn is open in the log
    home.ending = end.Answered()
    home.now += 5
    await home.look(home.clockwork())
    (one,) = await home.schedules.history((await home.schedules.changed(0))[0].id, 10)
    assert one.ending == "Answered"


async def test_three_failures_in_a_row_pause_it_and_it_is_told(home: VirtualHome) -> None:
    name = await home.add(Cron("0 8 * * *"))
    clockwork, home.ending = home.clockwork(), end.LoginNeeded("m")
    for _ in range(FAILURES + 2):
        home.now += DAY
        await home.look(clockwork)
    (one,) = await home.schedules.changed(0)
    assert one.state is e.ScheduleState.PAUSED
    assert "3 turns in a row have failed, the last one as LoginNeeded" in one.why
    told = [entry.fact for entry in await home.transcript.entries(name) if isinstance(entry.fact, e.DeliveryQueued)]
    assert [fact.address for fact in told] == [CHAT]
    assert sum(isinstance(fact, e.Occurred) for _, fact in await home.facts()) == FAILURES
    await home.transcript.append(name, [e.ScheduleChanged(e.ScheduleState.ACTIVE, OWNER)])
    home.now += 1
    await home.look(clockwork)  # makes up for what it missed: a failure counts anew
    assert (await home.schedules.changed(0))[0].state is e.ScheduleState.ACTIVE


async def test_a_turn_that_cannot_be_driven_pauses_it_and_is_told_once(
    home: VirtualHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("angelia.service.schedule.stuck_turns.AGAIN_S", 0.0)
    name = await home.add(Cron("0 8 * * *"))
    clockwork, home.faults = home.clockwork(), FAILURES + 3
    home.now += DAY
    await home.look(clockwork)
    (one,) = await home.schedules.changed(0)
    assert one.state is e.ScheduleState.PAUSED
    assert "cannot go on: No model is configured" in one.why
    told = [entry.fact for entry in await home.transcript.entries(name) if isinstance(entry.fact, e.DeliveryQueued)]
    assert [fact.address for fact in told] == [CHAT]
    closed = [fact for _, fact in await home.facts() if isinstance(fact, e.Occurred)]
    assert len(closed) == 1
    assert not await home.schedules.open(), "it was gone on with"


async def test_a_turn_that_a_fault_of_ours_stops_pauses_it_as_well(
    home: VirtualHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("angelia.service.schedule.stuck_turns.AGAIN_S", 0.0)
    await home.add(Cron("0 8 * * *"))
    clockwork, home.faults, home.fault = home.clockwork(), FAILURES, OSError("no such folder")
    home.now += DAY
    await home.look(clockwork)
    (one,) = await home.schedules.changed(0)
    assert one.why == (
        "Its turn was begun and cannot go on: Something went wrong inside Angelia; the log file says more."
    )
    assert not await home.schedules.open(), "it was gone on with"


async def test_a_full_disk_while_its_turn_runs_pauses_nothing(
    home: VirtualHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("angelia.service.schedule.stuck_turns.AGAIN_S", 0.0)
    await home.add(Cron("0 8 * * *"))
    clockwork, home.faults, home.fault = home.clockwork(), FAILURES + 3, StoreFull("The disk is full.")
    home.now += DAY
    await home.look(clockwork)
    (one,) = await home.schedules.changed(0)
    assert (one.state, home.driven) == (e.ScheduleState.ACTIVE, FAILURES + 4)
    assert not await home.schedules.open(), "it was gone on with"


async def test_a_clock_that_ends_is_not_held_up_by_a_turn_that_fails_as_it_is_cut_off(home: VirtualHome) -> None:
    await home.add(Cron("0 8 * * *"))
    home.ending = None
    clockwork = home.clockwork()

    async def fails_as_it_is_left(*_: object) -> None:
        home.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise Unreachable("The machine does not answer.")

    clockwork._drive = fails_as_it_is_left
    home.now += DAY
    await home.look(clockwork)
    await home.began.wait()
    closing = asyncio.create_task(clockwork.close())
    done, _ = await asyncio.wait([closing], timeout=10)
    assert done == {closing}
    assert len(await home.schedules.open()) == 1


async def test_a_time_that_could_not_be_stored_is_due_still(home: VirtualHome, monkeypatch: pytest.MonkeyPatch) -> None:
    await home.add(Cron("0 8 * * *"))
    clockwork = home.clockwork()
    home.now += 8 * HOUR
    failing = [StoreError("The disk is full.")]
    append = Transcript.append

    async def sometimes(self: Transcript, *given: Any, **more: Any) -> list[e.Entry]:
        if failing:
            raise failing.pop()
        return await append(self, *given, **more)

    monkeypatch.setattr(Transcript, "append", sometimes)
    with pytest.raises(StoreError):
        await home.look(clockwork)
    await home.look(clockwork)
    assert [type(fact) for _, fact in await home.facts()] == [e.Occurred]


async def test_silence_is_no_failure(home: VirtualHome) -> None:
    await home.add(Cron("0 8 * * *"))
    clockwork, home.ending = home.clockwork(), end.StayedSilent("nothing new")
    for _ in range(FAILURES + 2):
        home.now += DAY
        await home.look(clockwork)
    assert (await home.schedules.changed(0))[0].state is e.ScheduleState.ACTIVE


async def test_over_the_cap_of_whose_it_is_it_begins_nothing(home: VirtualHome) -> None:
    name = await home.add(Every(HOUR // 1000))
    home.people = {"owner": PersonSettings(day_cost=0.0001)}
    other = new_conversation()
    await home.transcript.append(other, [e.ConversationOpened("terminal", "/work")])
    await home.transcript.append(other, [e.ModelSaid("m", (), e.StopReason.END, cost=150)])
    clockwork = home.clockwork()
    home.now += HOUR
    await home.look(clockwork)
    missed = (await home.schedules.history(name, 1))[0]
    assert (missed.ending, missed.why[:41]) == ("missed", "The cost of owner today is $0.0001, and t")
    home.now += DAY
    await home.look(clockwork)
    assert (await home.schedules.history(name, 1))[0].ending == "Answered"


async def test_over_its_cap_for_a_day_it_begins_nothing(home: VirtualHome) -> None:
    name = await home.add(Every(HOUR // 1000))
    clockwork = home.clockwork(day_cost=100)
    home.now += HOUR
    await home.look(clockwork)
    ran = next(fact for _, fact in await home.facts())
    assert isinstance(ran, e.Occurred)
    where = (await home.schedules.history(name, 1))[0].conversation
    await home.transcript.append(where, [e.ModelSaid("m", (), e.StopReason.END, cost=150)])
    home.now += HOUR
    await home.look(clockwork)
    assert "the cap is $0.0001" in (await home.schedules.history(name, 1))[0].why
    home.now += DAY
    await home.look(clockwork)
    assert (await home.schedules.history(name, 1))[0].ending == "Answered"


async def test_one_that_goes_on_with_a_conversation_is_paused_when_that_is_deleted(home: VirtualHome) -> None:
    chat = ConversationId("0" * 26)
    await home.transcript.append(chat, [e.ConversationOpened("telegram", "/work"), e.UserSaid(())])
    await home.add(Cron("0 8 * * *"), into=chat)
    clockwork = home.clockwork()
    home.now += 8 * HOUR
    await home.look(clockwork)
    entries = await home.transcript.entries(chat)
    assert [type(entry.fact) for entry in entries[2:]] == [e.Occurred, e.TurnClosed]
    await home.add(Cron("0 9 * * *"), into="1" * 26)
    home.now += HOUR
    await home.look(clockwork)
    paused = [one for one in await home.schedules.changed(0) if one.state is e.ScheduleState.PAUSED]
    assert [one.scheduled.into for one in paused] == ["1" * 26]


async def test_what_has_ended_or_is_paused_begins_nothing_more(home: VirtualHome) -> None:
    clockwork = home.clockwork()
    for state in (e.ScheduleState.ENDED, e.ScheduleState.PAUSED):
        name = await home.add(Cron("0 8 * * *"))
        await home.look(clockwork)  # it is in the heap, and another process changes it
        await home.transcript.append(name, [e.ScheduleChanged(state, OWNER)])
        late = e.Occurred((), schedule=name, due=home.now + DAY, key=f"{name}:x")
        opened = e.ConversationOpened("schedule", "/work")
        assert not await home.transcript.append(ConversationId(f"{state}"), [opened, late])
    home.now += 3 * DAY
    await home.look(clockwork)
    assert not await home.facts()


async def test_what_a_clock_that_was_ahead_dealt_with_comes_again_once_it_is_resumed(
    home: VirtualHome, tmp_path: Path
) -> None:
    name = await home.add(Cron("0 8 * * *"), late=e.Late.SKIP)
    clockwork = home.clockwork()
    right = home.now
    home.now += 400 * DAY
    await home.look(clockwork)
    home.now = right
    due = await home.look(clockwork)
    assert due is not None
    assert due >= right + 400 * DAY  # a machine whose clock is behind looks the same
    await home.transcript.append(name, [e.ScheduleChanged(e.ScheduleState.ACTIVE, OWNER)])
    due = await home.look(clockwork)
    assert due is not None
    assert right < due <= right + DAY
    before = await home.schedules.changed(0)
    await upkeep.rebuild(home.store(), BlobStore(tmp_path / "home"))
    assert await home.schedules.changed(0) == before
    home.now = due
    await home.look(clockwork)
    (begun,) = [fact for _, fact in await home.facts() if isinstance(fact, e.Occurred)]
    assert begun.due == due


async def test_the_tables_of_schedules_are_a_function_of_the_log(home: VirtualHome, tmp_path: Path) -> None:
    name = await home.add(Cron("0 8 * * *"))
    clockwork = home.clockwork()
    for pause in (DAY, 4 * DAY, 2 * HOUR, DAY):
        home.now += pause
        await home.look(clockwork)
    await home.transcript.append(name, [e.ScheduleChanged(e.ScheduleState.PAUSED, OWNER, "by owner")])
    before = (await home.schedules.changed(0), await home.schedules.history(name, 100))
    await upkeep.rebuild(home.store(), BlobStore(tmp_path / "home"))
    assert (await home.schedules.changed(0), await home.schedules.history(name, 100)) == before


async def test_what_has_its_fact_is_absorbed_whoever_tells_it_again(home: VirtualHome) -> None:
    name = await home.add(Cron("0 8 * * *"))
    home.now += 2 * DAY
    await home.look(home.clockwork())
    before = await home.facts()
    for due in (await home.due())[name]:
        opened = e.ConversationOpened("schedule", "/work")
        again = e.Occurred((), address=e.Address("another"), schedule=name, due=due, key="another key")
        assert not await home.transcript.append(ConversationId(f"{due}"), [opened, again])
        assert not await home.transcript.append(name, [e.OccurrencesMissed(due, due, 1, "again")])
    assert await home.facts() == before


async def test_a_store_that_was_busy_as_schedules_were_read_is_asked_again_though_nothing_is_written(
    home: VirtualHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    await home.add(Every(3600))
    clockwork, changed, asked = home.clockwork(), Schedules.changed, list[int]()

    async def busy_once(self: Schedules, after: int) -> list[StoredSchedule]:
        asked.append(after)
        if len(asked) == 1:
            raise StoreBusy("Another process holds the database.")
        return await changed(self, after)

    monkeypatch.setattr(Schedules, "changed", busy_once)
    with pytest.raises(StoreBusy):
        await clockwork.look()
    assert await clockwork.look() == START + HOUR


async def test_a_log_that_cannot_be_read_keeps_the_clock_from_nothing(
    home: VirtualHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    await home.add(Every(3600))
    home.now += HOUR
    before = home.clockwork()
    await home.look(before)
    await before.close()
    asked = list[ConversationId]()

    async def damaged(self: Transcript, conversation: ConversationId) -> Sequence[e.Entry]:
        asked.append(conversation)
        raise StoreDamaged("An entry is not what was stored.")

    monkeypatch.setattr(Transcript, "entries", damaged)
    assert await home.clockwork().look() == START + 2 * HOUR
    assert asked, "nobody looked"
