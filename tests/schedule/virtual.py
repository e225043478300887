"""A home whose clock is set by the test, with any number of processes' worth of clockworks over its store."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import takewhile
from pathlib import Path

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.crash import on_crash_point
from angelia.core.errors import ConfigError
from angelia.core.ids import Clock, ConversationId, sortable_id, steady_clock
from angelia.core.principal import OWNER
from angelia.core.timing import Watched, When
from angelia.service.people.budgets import Budgets
from angelia.service.schedule.clockwork import Clockwork, ClockworkDeps, Looked
from angelia.service.schedule.occurrences import upcoming
from angelia.service.settings.config import Config, PersonSettings, ScheduleSettings
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import FILE, Database
from angelia.store.tables.schedules import Occurrence, Schedules, StoredSchedule

CHAT = e.Address("telegram", "7001")


class _Killed(BaseException):
    """The end of a process: nothing in it catches this."""


class VirtualHome:
    """`now` is the time, Unix milliseconds; `ending` is how turns end, None for not at all. So many times as `faults`
    says a turn cannot be driven before it can, because of `fault`. What is watched looks as `seen` says, or looking
    fails with that; `looks` counts how often it was looked at, `driven` how often a turn was begun (`began`: once),
    `deaths` how often a process was killed.
    """

    def __init__(self, home: Path, now: int) -> None:
        self.now, self.latest = now, now
        self.ending: end.Ending | None = end.Answered()
        self.faults = self.looks = self.driven = self.deaths = 0
        self.fault: Exception = ConfigError("No model is configured.")
        self.began = asyncio.Event()
        self.seen: Looked | Exception = Looked("as it was", "nothing new")
        self._home = home
        self.people: dict[str, PersonSettings] = {}
        self._stores: list[Database] = []
        self.transcript = Transcript(self.store())
        self.schedules = Schedules(self._stores[0])

    def store(self) -> Database:
        """The store, as one more process has it."""
        self._stores.append(Database.open(self._home, clock=lambda: self.now))
        return self._stores[-1]

    def clockwork(self, day_cost: int = 0, db: Database | None = None, steady: Clock = steady_clock) -> Clockwork:
        """Of a process of its own, or of one that begins again with the same store."""
        db = db or self.store()
        transcript = Transcript(db)

        async def drive(occurrence: Occurrence, _: StoredSchedule | None) -> None:
            self.driven += 1
            self.began.set()
            if self.faults:
                self.faults -= 1
                raise self.fault
            if self.ending is not None:
                await transcript.append(occurrence.conversation, [e.TurnClosed(self.ending)])
            else:
                await asyncio.Event().wait()

        async def look(_: StoredSchedule, watch: Watched) -> Looked:
            self.looks += 1
            if isinstance(self.seen, Exception):
                raise self.seen
            return self.seen

        config = Config(schedule=ScheduleSettings(day_cost=day_cost / 1e6), people=self.people)
        budgets = Budgets(config, db, lambda: self.now)
        deps = ClockworkDeps(transcript, Schedules(db), lambda: self.now, db.data_version, look, budgets, steady)
        return Clockwork(deps, drive)

    async def add(
        self,
        when: When,
        zone: str = "UTC",
        late: e.Late = e.Late.RUN,
        into: str = "",
        address: e.Address = CHAT,
        watch: Watched | None = None,
    ) -> ConversationId:
        """Schedule something now."""
        name = ConversationId(sortable_id(lambda: self.now))
        said = e.Scheduled(when, zone, "Look.", self.now, address, late=late, into=ConversationId(into), watch=watch)
        await self.transcript.append(name, [e.ConversationOpened("schedule", "/work"), said])
        return name

    async def look(self, clockwork: Clockwork) -> int | None:
        """Let it look, and its turns end; returns when something is due next."""
        due = await clockwork.look()
        while clockwork._looking or (self.ending is not None and clockwork._driven):
            driven = clockwork._driven.values() if self.ending is not None else ()
            await asyncio.gather(*clockwork._looking.values(), *driven)
            due = await clockwork.look()
        self.latest = max(self.latest, self.now)
        return due

    async def look_and_die(self, clockwork: Clockwork, points: int) -> None:
        """Let it look and go no further than so many of the places around its commits: its process is gone then."""
        left = points

        def pass_by(name: str) -> None:
            nonlocal left
            left -= name.startswith("schedule.")
            if left < 0:
                raise _Killed

        on_crash_point(pass_by)
        try:
            await self.look(clockwork)
        except _Killed:
            self.deaths += 1
        finally:
            on_crash_point(None)
            await clockwork.close()

    async def facts(self) -> list[tuple[ConversationId, e.Occurred | e.OccurrencesMissed | e.WatchChecked]]:
        """Every fact of an occurrence, with its schedule."""
        found: list[tuple[ConversationId, e.Occurred | e.OccurrencesMissed | e.WatchChecked]] = []
        listed = await self.transcript.conversations(OWNER, 1_000_000)
        for summary in [*listed, *await self.transcript.conversations(OWNER, 1_000_000, door="schedule")]:
            for entry in await self.transcript.entries(summary.id):
                if isinstance(entry.fact, e.OccurrencesMissed | e.WatchChecked):
                    found.append((summary.id, entry.fact))
                elif isinstance(entry.fact, e.Occurred):
                    found.append((entry.fact.schedule, entry.fact))
        return found

    async def instants(self) -> dict[ConversationId, list[int]]:
        """The instants that have a fact, each as often as it has one, in order."""
        said = {one.id: one.scheduled for one in await self.schedules.changed(0)}
        found: dict[ConversationId, list[int]] = {name: [] for name in said}
        for name, fact in await self.facts():
            if isinstance(fact, e.Occurred | e.WatchChecked):
                found[name].append(fact.due)
                continue
            between = list(_within(said[name], fact.due, fact.last))
            assert len(between) == fact.count
            found[name] += between
        return {name: sorted(instants) for name, instants in found.items()}

    async def due(self) -> dict[ConversationId, list[int]]:
        """The instants that schedules name, up to the latest time that there was."""
        return {
            one.id: list(_within(one.scheduled, one.scheduled.since + 1, self.latest))
            for one in await self.schedules.changed(0)
        }

    def close(self) -> None:
        """Let go of the stores."""
        for db in self._stores:
            db.close()


def _within(said: e.Scheduled, first: int, last: int) -> Iterator[int]:
    return takewhile(lambda at: at <= last, upcoming(said.when, said.zone, said.since, first - 1))


def damage_first_entry(home: Path, conversation: ConversationId) -> None:
    """What a failing disk may do to the first entry of a log."""
    _damage(home, "SET at = at + 1 WHERE seq = 1", conversation)


def damage_words(home: Path, conversation: ConversationId) -> None:
    """What it may do to what a schedule says."""
    _damage(home, "SET body = x'7b2278' WHERE seq = 2", conversation)


def alter_words(home: Path, conversation: ConversationId) -> None:
    """What it says is something else, which can be read."""
    _damage(home, "SET body = CAST(replace(CAST(body AS TEXT), 'Look.', 'Leap.') AS BLOB) WHERE seq = 2", conversation)


def _damage(home: Path, change: str, conversation: ConversationId) -> None:
    with closing(sqlite3.connect(home / FILE)) as other:
        other.execute("DROP TRIGGER entries_never_change")
        other.execute(f"UPDATE entries {change} AND conversation = ?", (conversation,))
        other.commit()
