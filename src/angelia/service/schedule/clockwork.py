"""Keeps time: what is due begins, what was missed is noted, and nothing is looked at before something is due.

The log decides. An occurrence is committed as the beginning of its turn or as missed, and the store absorbs what is not
later than the last one that has a fact: a second process, a restart and a clock set back change nothing. A clock is
only looked at; it is slept on for at most `LONGEST_SLEEP_S`, since a machine that sleeps stops the timers too.

What a schedule watches is looked at before anything is committed, beside the clock, since a look may take a minute. One
that a crash cut short is made again; no two are made at once here, and of two processes' the first commit counts.
"""

import asyncio
import heapq
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice, takewhile

from msgspec import Struct
from msgspec.structs import replace

from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.counts import counted
from angelia.core.crash import crash_point
from angelia.core.errors import AngeliaError, CodecError, NotFound, StoreDamaged, passes
from angelia.core.ids import Clock, ConversationId, PlaceId, delivery_id, new_conversation, short, steady_clock
from angelia.core.text import one_line
from angelia.core.timing import OneTime, Watched
from angelia.engine.background import BackgroundWork
from angelia.service.keep_running import keep_running
from angelia.service.people.budgets import Budgets
from angelia.service.schedule.ahead import AheadOfClock
from angelia.service.schedule.day_caps import cap_reached
from angelia.service.schedule.occurrences import following, upcoming
from angelia.service.schedule.stuck_turns import FAILURES, FAULT, StuckTurns
from angelia.service.schedule.when import shown
from angelia.store.log.transcript import Transcript
from angelia.store.tables.schedules import UNREADABLE, UNSEEN, Occurrence, Schedules, StoredSchedule

GRACE_MS = 60_000
"""How late an occurrence may begin and still count as on time."""
LONGEST_SLEEP_S = 20.0
"""Seconds until the clock is looked at again: it may have been set, and the machine may have slept."""
MOST_SINGLE = 50
"""Missed occurrences that have a fact each; of more there is one for all."""
_MOST_AT_ONCE = 500
"""Occurrences that are found in one go: some 10 ms."""
_LOOKED_BACK = 200
"""Occurrences whose helpers are looked for at the start, the newest."""
_WELL = frozenset({"Answered", "StayedSilent", "Cancelled", ""})

Drive = Callable[[Occurrence, StoredSchedule | None], Awaitable[None]]
"""Drives the turn of an occurrence until it is closed."""


class Looked(Struct, frozen=True):
    """What a look at something watched brought. Equal digests mean that nothing has changed; `shown` is what was seen,
    of bounded length. `fault` says why nothing could be seen, and is empty otherwise.
    """

    digest: str = ""
    shown: str = ""
    fault: str = ""


Look = Callable[[StoredSchedule, Watched], Awaitable[Looked]]
"""Looks at what a schedule watches; it never fails but by what it says."""

logger = logging.getLogger("angelia.schedule")


class ClockworkDeps(Struct, frozen=True):
    """What time is kept with."""

    transcript: Transcript
    schedules: Schedules
    clock: Clock
    version: Callable[[], Awaitable[int]]
    look: Look
    budgets: Budgets
    steady: Clock = steady_clock


class Clockwork:
    """One process's hold on all schedules of a home. What it knows is in memory only as a heap of what is due next."""

    def __init__(self, deps: ClockworkDeps, drive: Drive) -> None:
        self._deps, self._drive = deps, drive
        self._began = deps.clock()
        self._known: dict[ConversationId, StoredSchedule] = {}
        self._heap: list[tuple[int, ConversationId, int]] = []
        self._seen, self._version = 0, -1
        self._stuck = StuckTurns(self._pause)
        self._driven: dict[tuple[ConversationId, int], asyncio.Task[None]] = {}
        self._looking: dict[ConversationId, asyncio.Task[None]] = {}
        self._looked_back = False
        self._ahead = AheadOfClock(deps.transcript, deps.steady)
        self.woken = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled. A store that fails is looked at again later."""
        while True:
            seconds = LONGEST_SLEEP_S
            try:
                due = await self.look()
                if due is not None:
                    seconds = min(max((due - self._deps.clock()) / 1000, 0.0), seconds)
            except AngeliaError as error:
                logger.warning("what is scheduled cannot be looked at: %s", error)
            end_if_cancelled()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.woken.wait()
            self.woken.clear()

    async def close(self) -> None:
        """Let go of the turns that are driven here: they stay open in the log."""
        await cancel_and_wait(*self._driven.values(), *self._looking.values())

    async def look(self) -> int | None:
        """Begin and note what is due now; returns when the next one is, Unix milliseconds, None for never."""
        while True:
            await self._learn()
            now = self._deps.clock()
            while self._heap and self._is_old(self._heap[0]):
                heapq.heappop(self._heap)
            if not self._heap or self._heap[0][0] > now:
                await self._ahead.look(self._known.values(), now)
                return self._heap[0][0] if self._heap else None
            item = heapq.heappop(self._heap)
            schedule = self._known[item[1]]
            try:
                await self._due(schedule, now)
            except (NotFound, StoreDamaged, CodecError) as error:  # or it would keep those behind it from beginning
                await self._pause(schedule, _why_never(error))
            except AngeliaError:  # the store is not to be had now: it is due still
                heapq.heappush(self._heap, item)
                raise

    async def _learn(self) -> None:
        """Take in what is new about schedules, and go on with the turns that nobody drives here."""
        if (version := await self._deps.version()) == self._version:
            return
        self._version = version
        try:
            await self._take_in(await self._deps.schedules.changed(self._seen))
        except AngeliaError:
            self._version = -1  # it is read again, though nothing more may be written
            raise

    async def _take_in(self, changed: Sequence[StoredSchedule]) -> None:
        for schedule in changed:
            self._seen = schedule.changed
            self._known[schedule.id] = schedule
            if schedule.state is e.ScheduleState.ACTIVE:
                said = schedule.scheduled
                due = following(said.when, said.zone, said.since, schedule.upto)
                if due is not None:
                    heapq.heappush(self._heap, (due, schedule.id, schedule.changed))
        if changed or not self._driven:
            for occurrence in await self._deps.schedules.open():
                self._go_on_with(occurrence)
        if not self._looked_back:
            for occurrence in await self._left_at_work():
                self._go_on_with(occurrence)
            self._looked_back = True

    async def _left_at_work(self) -> list[Occurrence]:
        """Those whose turn has ended, and whose helpers had not when an earlier life of a clock ended: nobody else goes
        on with them. Where somebody has spoken since, the conversation is theirs.
        """
        ended = {one.conversation: one for one in reversed(await self._deps.schedules.ended(_LOOKED_BACK))}
        found = []
        for conversation in await self._deps.transcript.unfinished(list(ended)):
            try:
                log = await self._deps.transcript.entries(conversation)
            except AngeliaError as error:
                if passes(error):
                    raise
                logger.warning("whether helpers are at work in %s cannot be seen: %s", conversation, error)
                continue
            spoken = any(isinstance(entry.fact, e.UserSaid) for entry in log[ended[conversation].seq :])
            if not spoken and any(work.child for work in BackgroundWork().now(log)):
                found.append(ended[conversation])
        return found

    def _is_old(self, item: tuple[int, ConversationId, int]) -> bool:
        return self._known[item[1]].changed != item[2]

    # -- what is due --------------------------------------------------------------------------------------------------

    async def _due(self, schedule: StoredSchedule, now: int) -> None:
        self._version = -1  # whatever becomes of it, it is read again
        said = schedule.scheduled
        times = upcoming(said.when, said.zone, said.since, schedule.upto)
        instants = list(islice(takewhile(lambda at: at <= now, times), _MOST_AT_ONCE + 1))
        if len(instants) > _MOST_AT_ONCE:  # whatever is missed so far is not the last one
            await self._miss(schedule, instants[:-1], self._why_late(instants[0]))
            return
        late = now - instants[-1] > GRACE_MS
        if late and said.late is e.Late.SKIP:
            await self._miss(schedule, instants, self._why_late(instants[0]))
            return
        if instants[:-1] and not await self._miss(schedule, instants[:-1], self._why_late(instants[0])):
            return
        if why := await self._obstacle(schedule, now):
            await self._miss(schedule, instants[-1:], why)
        elif said.watch:
            self._look_first(schedule, instants[-1], said.watch)
        else:
            await self._begin(schedule, instants[-1])

    def _why_late(self, due: int) -> str:
        return "no clock was running" if due < self._began else "this machine slept, or its clock was put on"

    async def _miss(self, schedule: StoredSchedule, instants: list[int], why: str) -> bool:
        if len(instants) <= MOST_SINGLE:
            missed = [e.OccurrencesMissed(at, at, 1, why) for at in instants]
        else:
            missed = [e.OccurrencesMissed(instants[0], instants[-1], len(instants), why)]
        crash_point("schedule.before_commit")
        added = await self._deps.transcript.append(schedule.id, missed)
        crash_point("schedule.committed")
        return bool(added)

    async def _obstacle(self, schedule: StoredSchedule, now: int) -> str:
        """Why nothing can begin now; empty if it can."""
        if any(one.schedule == schedule.id for one in await self._deps.schedules.open()):
            return "the turn before was still going on"
        return await cap_reached(self._deps.schedules, self._deps.budgets, schedule, now)

    async def _begin(self, schedule: StoredSchedule, due: int, seen: Looked | None = None) -> None:
        missed = await self._deps.schedules.missed_since_a_turn(schedule.id)
        facts = await run_facts(self._deps.transcript, schedule, due, missed, seen=seen)
        crash_point("schedule.before_commit")
        await self._deps.transcript.append(facts.conversation, facts.facts)
        crash_point("schedule.committed")

    # -- what is watched ----------------------------------------------------------------------------------------------

    def _look_first(self, schedule: StoredSchedule, due: int, watch: Watched) -> None:
        """It is due again only once this has its fact."""
        self._looking[schedule.id] = task = asyncio.create_task(self._begin_if_changed(schedule, due, watch))
        task.add_done_callback(lambda _: self._looking.pop(schedule.id, None))

    async def _begin_if_changed(self, schedule: StoredSchedule, due: int, watch: Watched) -> None:
        looked: Looked | None = None
        while True:
            try:
                looked = looked or await self._looked(schedule, watch)
                await self._note_look(schedule, due, watch, looked)
            except (NotFound, StoreDamaged, CodecError) as error:
                await self._pause(schedule, _why_never(error))
            except AngeliaError as error:  # the store is not to be had now
                end_if_cancelled()
                logger.warning("what a look at %s brought cannot be kept: %s", schedule.id, error)
                await asyncio.sleep(LONGEST_SLEEP_S)
                continue
            break
        self._version = -1
        self.woken.set()

    async def _looked(self, schedule: StoredSchedule, watch: Watched) -> Looked:
        try:
            looked = await self._deps.look(schedule, watch)
        except Exception:
            logger.exception("what the schedule %s watches could not be looked at", schedule.id)
            looked = Looked(fault=FAULT)
        end_if_cancelled()  # what failed as it was cut off says nothing of what is watched
        return looked

    async def _note_look(self, schedule: StoredSchedule, due: int, watch: Watched, looked: Looked) -> None:
        before = await self._deps.schedules.dealt_with(schedule.id) or watch.digest
        if not looked.fault and looked.digest != before:
            await self._begin(schedule, due, looked)
            return
        crash_point("schedule.looked")
        await self._deps.transcript.append(schedule.id, [e.WatchChecked(due, looked.digest, looked.fault)])
        crash_point("schedule.committed")
        if looked.fault:
            last = await self._deps.schedules.looked(schedule.id, FAILURES)
            if len(last) == FAILURES and all(one.ending == UNSEEN for one in last):
                await self._pause(schedule, f"What it watches could not be looked at {FAILURES} times: {looked.fault}")

    # -- what was begun -----------------------------------------------------------------------------------------------

    def _go_on_with(self, occurrence: Occurrence) -> None:
        key = (occurrence.conversation, occurrence.seq)
        if key not in self._driven:
            name = f"the turn of {occurrence.conversation}"
            task = asyncio.create_task(keep_running(name, partial(self._to_its_end, occurrence)))
            self._driven[key] = task
            task.add_done_callback(lambda _: self._driven.pop(key, None))

    async def _to_its_end(self, occurrence: Occurrence) -> None:
        schedule = self._known.get(occurrence.schedule)
        await self._stuck.tried(occurrence, schedule, lambda: self._drive(occurrence, schedule))
        if schedule:
            await self._look_back(schedule)
        self._version = -1
        self.woken.set()

    async def _look_back(self, schedule: StoredSchedule) -> None:
        """Pause what has failed too often; whoever it is for is told."""
        last = await self._deps.schedules.counted(schedule.id, FAILURES)
        if len(last) == FAILURES and not any(one.ending in _WELL for one in last):
            await self._pause(schedule, f"{FAILURES} turns in a row have failed, the last one as {last[0].ending}.")

    async def _pause(self, schedule: StoredSchedule, why: str) -> None:
        logger.warning("schedule %s is paused: %s", schedule.id, why)
        self._version = -1
        with suppress(NotFound):  # it was deleted itself
            await self._deps.transcript.append(schedule.id, pause_facts(schedule, why))


def _why_never(error: NotFound | StoreDamaged | CodecError) -> str:
    """The conversation that it goes on with, or its own, was deleted; or a log cannot be read."""
    return f"What it goes on with is gone: {error.what}" if isinstance(error, NotFound) else f"It cannot begin: {error}"


def pause_facts(schedule: StoredSchedule, why: str) -> list[e.AnyFact]:
    """A pause that nobody asked for, told where the schedule is told."""
    facts: list[e.AnyFact] = [e.ScheduleChanged(e.ScheduleState.PAUSED, why=why)]
    said = schedule.scheduled
    if said.address.chat:
        words = f"Paused: “{said.text}”. {why} To go on: `angelia schedule resume {schedule.id[-8:]}`."
        name = delivery_id(schedule.id, f"paused{schedule.changed}")
        facts.append(e.DeliveryQueued(name, said.address, (Text(words),), "notice"))
    return facts


class Beginning(Struct, frozen=True):
    """What begins a turn, and in which conversation it is committed."""

    conversation: ConversationId
    facts: list[e.AnyFact]


async def run_facts(
    transcript: Transcript, schedule: StoredSchedule, due: int, missed: int, key: str = "", seen: Looked | None = None
) -> Beginning:
    """What begins a turn of a schedule; `due` is 0 for one that somebody asks for, under a `key` of its own. `seen` is
    what has changed, None where nothing is watched.

    Raises:
        StoreDamaged: what the schedule says is not what was stored, or cannot be read.
    """
    said = schedule.scheduled
    if said is UNREADABLE:
        raise StoreDamaged(f"The schedule {short(schedule.id)} cannot begin.", schedule.why)
    occurred = e.Occurred(
        _opening_words(schedule, due, missed),
        said.by,
        said.address,
        key or f"{schedule.id}:{due}",
        e.Arrival.QUEUE,
        schedule=schedule.id,
        due=due,
    )
    if seen and said.watch:
        words = Text(_changed_words(said.watch, seen.shown))
        occurred = replace(occurred, parts=(*occurred.parts, words), forwarded=True, digest=seen.digest)
    if said.into:
        return Beginning(said.into, [occurred])
    first = await transcript.opening(schedule.id)
    opened = e.ConversationOpened(
        first.door, first.workspace, first.sandbox, first.owner, first.preset, PlaceId(schedule.id)
    )
    return Beginning(new_conversation(), [opened, occurred])


def _opening_words(schedule: StoredSchedule, due: int, missed: int) -> tuple[Text, ...]:
    said = schedule.scheduled
    at = f"{shown(due, said.zone)} ({said.zone})" if due else "now, asked for by hand"
    late = f" Missed before: {counted(missed, 'time')}; this is for all of them." if missed else ""
    quiet = "" if isinstance(said.when, OneTime) else " If there is nothing worth telling, call stay_silent."
    return (Text(f"[Scheduled for {at}.{late}{quiet}]"), Text(said.text))


def _changed_words(watch: Watched, shown: str) -> str:
    from angelia.tools.web.outside_words import as_data

    head = f"What is watched has changed ({watch.kind}: {one_line(watch.what, 200)}). It is now"
    return as_data(shown or "(empty)", head, "was found there")
