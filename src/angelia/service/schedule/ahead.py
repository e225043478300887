"""Schedules that wait for the time of a clock that was ahead: where that lasts, it is told where they are told."""

import logging
from collections.abc import Iterable

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.ids import Clock, ConversationId, delivery_id, short, steady_clock
from angelia.core.text import one_line
from angelia.service.schedule.occurrences import following
from angelia.service.schedule.when import shown
from angelia.store.log.transcript import Transcript
from angelia.store.tables.schedules import StoredSchedule

LASTS_MS = 3_600_000
"""How long it looks so before it is told: a machine whose clock is behind as it starts looks the same, and is soon set
right.
"""

logger = logging.getLogger("angelia.schedule")


class AheadOfClock(Struct):
    """What one process has seen of it, by a clock that nobody sets, and told."""

    transcript: Transcript
    steady: Clock = steady_clock
    since: dict[tuple[ConversationId, int], int] = {}
    told: set[tuple[ConversationId, int]] = set()

    async def look(self, schedules: Iterable[StoredSchedule], now: int) -> None:
        """Tell of those that wait for such a clock's time, each once.

        Raises:
            StoreError: it could not be stored; it is told at a later look.
        """
        waiting = {(one.id, one.upto): one for one in schedules if waits(one, now)}
        self.since = {key: self.since.get(key, self.steady()) for key in waiting}
        for key, one in waiting.items():
            if key not in self.told and self.steady() - self.since[key] >= LASTS_MS:
                await self._tell(one, now)
                self.told.add(key)

    async def _tell(self, one: StoredSchedule, now: int) -> None:
        said, name = one.scheduled, delivery_id(one.id, f"ahead{one.upto}")
        due = following(said.when, said.zone, said.since, one.upto)
        until = f"until {shown(due, said.zone)}" if due else "any more"
        made = one.made_ahead(now)
        why = "it was made" if made else "its times were dealt with"
        words = f"Nothing of it begins {until}: {why} while a clock was ahead."
        logger.warning("schedule %s: %s", one.id, words)
        queued = [fact.id for fact in await self._facts(one) if isinstance(fact, e.DeliveryQueued)]
        if said.address.chat and name not in queued:
            resume = f"To go on from now: `angelia schedule resume {short(one.id)}`."
            mend = "Remove it, and make it anew." if made else resume
            text = Text(f"“{one_line(said.text, 60)}”: {words} {mend}")
            await self.transcript.append(one.id, [e.DeliveryQueued(name, said.address, (text,), "notice")])

    async def _facts(self, one: StoredSchedule) -> list[e.AnyFact]:
        return [entry.fact for entry in await self.transcript.entries(one.id)]


def waits(one: StoredSchedule, now: int) -> bool:
    """Whether it begins nothing before the time of such a clock."""
    comes = following(one.scheduled.when, one.scheduled.zone, one.scheduled.since, now) is not None
    return comes and (one.was_ahead(now) or one.made_ahead(now))
