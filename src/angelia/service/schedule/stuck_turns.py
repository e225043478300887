"""Turns that a clock began and that cannot go on: they are tried again, and whoever they are for is told once."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from angelia.cancellation import end_if_cancelled
from angelia.core import entry as e
from angelia.core.errors import AngeliaError, passes
from angelia.core.ids import ConversationId
from angelia.store.tables.schedules import Occurrence, StoredSchedule

FAILURES = 3
"""Turns in a row that may fail, and times that one may be tried in vain, before a schedule is paused."""
AGAIN_S = 20.0
"""Seconds until a turn that could not be driven is tried again."""
FAULT = "Something went wrong inside Angelia; the log file says more."

logger = logging.getLogger("angelia.schedule")


class StuckTurns:
    """How often each was tried in vain in this life. `pause` pauses a schedule, and tells why where it is told."""

    def __init__(self, pause: Callable[[StoredSchedule, str], Awaitable[None]]) -> None:
        self._pause = pause
        self._tries: dict[ConversationId, int] = {}

    async def tried(
        self, occurrence: Occurrence, schedule: StoredSchedule | None, drive: Callable[[], Awaitable[object]]
    ) -> None:
        """Drive a turn, and rest for a while where that fails: it stays open, and is to be tried again.

        One that cannot be driven as things are (no model, a sandbox that is gone) pauses its schedule, so that nothing
        more of it begins before somebody has looked. While the store fails, such as on a full disk, it only waits.

        Raises:
            StoreError: the pause could not be stored.
        """
        try:
            await drive()
            self._tries.pop(occurrence.conversation, None)
        except Exception as error:
            end_if_cancelled()  # what failed as it was cut off is no reason
            fault = None if isinstance(error, AngeliaError) else error
            logger.warning("a scheduled turn of %s cannot go on: %s", occurrence.conversation, error, exc_info=fault)
            if not (isinstance(error, AngeliaError) and passes(error)):
                await self._count(occurrence, schedule, FAULT if fault else str(error))
            await asyncio.sleep(AGAIN_S)

    async def _count(self, occurrence: Occurrence, schedule: StoredSchedule | None, why: str) -> None:
        tries = self._tries[occurrence.conversation] = self._tries.get(occurrence.conversation, 0) + 1
        if tries >= FAILURES and schedule and schedule.state is e.ScheduleState.ACTIVE:
            await self._pause(schedule, f"Its turn was begun and cannot go on: {why}")
