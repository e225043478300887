"""A home whose clock is set by the test, with any number of processes' worth of clockworks over its store."""

import asyncio
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.errors import ConfigError
from angelia.core.ids import ConversationId, sortable_id
from angelia.core.principal import OWNER
from angelia.core.timing import When
from angelia.service.schedule.clockwork import Clockwork, ClockworkDeps
from angelia.service.schedule.occurrences import upcoming
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import Database
from angelia.store.tables.schedules import Occurrence, Schedules, StoredSchedule

CHAT = e.Address("telegram", "7001")


class VirtualHome:
    """`now` is the time, Unix milliseconds; `ending` is how turns end, None for not at all. So many times as `faults`
    says a turn cannot be driven before it can.
    """

    def __init__(self, home: Path, now: int) -> None:
        self.now, self.latest = now, now
        self.ending: end.Ending | None = end.Answered()
        self.faults = 0
        self._home = home
        self._stores: list[Database] = []
        self.transcript = Transcript(self.store())
        self.schedules = Schedules(self._stores[0])

    def store(self) -> Database:
        """The store, as one more process has it."""
        self._stores.append(Database.open(self._home, clock=lambda: self.now))
        return self._stores[-1]

    def clockwork(self, day_cost: int = 0) -> Clockwork:
        """Of a process of its own."""
        db = self.store()
        transcript = Transcript(db)

        async def drive(occurrence: Occurrence, _: StoredSchedule | None) -> None:
            if self.faults:
                self.faults -= 1
                raise ConfigError("No model is configured.")
            if self.ending is not None:
                await transcript.append(occurrence.conversation, [e.TurnClosed(self.ending)])
            else:
                await asyncio.Event().wait()

        return Clockwork(ClockworkDeps(transcript, Schedules(db), lambda: self.now, db.data_version, day_cost), drive)

    async def add(
        self, when: When, zone: str = "UTC", late: e.Late = e.Late.RUN, into: str = "", address: e.Address = CHAT
    ) -> ConversationId:
        """Schedule something now."""
        name = ConversationId(sortable_id(lambda: self.now))
        said = e.Scheduled(when, zone, "Look.", self.now, address, late=late, into=ConversationId(into))
        await self.transcript.append(name, [e.ConversationOpened("schedule", "/work"), said])
        return name

    async def look(self, clockwork: Clockwork) -> int | None:
        """Let it look, and its turns end; returns when something is due next."""
        due = await clockwork.look()
        while self.ending is not None and clockwork._driven:
            await asyncio.gather(*clockwork._driven.values())
            due = await clockwork.look()
        self.latest = max(self.latest, self.now)
        return due

    async def facts(self) -> list[tuple[ConversationId, e.Occurred | e.OccurrencesMissed]]:
        """Every fact of an occurrence, with its schedule."""
        found: list[tuple[ConversationId, e.Occurred | e.OccurrencesMissed]] = []
        for summary in await self.transcript.conversations(OWNER, 1_000_000, scheduled=True):
            for entry in await self.transcript.entries(summary.id):
                if isinstance(entry.fact, e.OccurrencesMissed):
                    found.append((summary.id, entry.fact))
                elif isinstance(entry.fact, e.Occurred):
                    found.append((entry.fact.schedule, entry.fact))
        return found

    async def instants(self) -> dict[ConversationId, list[int]]:
        """The instants that have a fact, each as often as it has one, in order."""
        said = {one.id: one.scheduled for one in await self.schedules.changed(0)}
        found: dict[ConversationId, list[int]] = {name: [] for name in said}
        for name, fact in await self.facts():
            if isinstance(fact, e.Occurred):
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
