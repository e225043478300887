"""Drives the turns in this machine's chats that the clock of another machine has begun."""

import asyncio
import logging
from contextlib import suppress
from functools import partial

from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.core.errors import AngeliaError, NotFound
from angelia.core.ids import ConversationId
from angelia.service.chats.gateway import Gateway
from angelia.service.chats.open_channel import wait
from angelia.service.keep_running import keep_running
from angelia.service.schedule.clockwork import pause_facts
from angelia.service.schedule.stuck_turns import StuckTurns
from angelia.service.schedule.turns import LOOK_S, drive_in_chat
from angelia.store.log.transcript import Transcript
from angelia.store.tables.schedules import Occurrence, Schedules, StoredSchedule

logger = logging.getLogger("angelia.schedule")


class BegunElsewhere:
    """A chat belongs to who has its channel, whoever keeps time. Those that this machine began itself are its clock's,
    and being driven twice in one process is the same as once.
    """

    def __init__(self, gateway: Gateway, schedules: Schedules, transcript: Transcript) -> None:
        self._gateway = gateway
        self._schedules, self._transcript = schedules, transcript
        self._driven: dict[tuple[ConversationId, int], asyncio.Task[None]] = {}
        self._stuck = StuckTurns(self._pause)

    async def follow(self) -> None:
        """Until cancelled."""
        try:
            while True:
                try:
                    await self._look()
                except AngeliaError as error:
                    logger.warning("what a clock elsewhere has begun cannot be looked for: %s", error)
                end_if_cancelled()
                await wait(None, LOOK_S)
        finally:
            await cancel_and_wait(*self._driven.values())

    async def _look(self) -> None:
        opened = [one for one in await self._schedules.open() if (one.conversation, one.seq) not in self._driven]
        if not opened:
            return
        schedules = {one.id: one for one in await self._schedules.changed(0)}
        for one in opened:
            schedule = schedules.get(one.schedule)
            if schedule and self._gateway.dispatcher.has(schedule.scheduled.address.door):
                key = (one.conversation, one.seq)
                name = f"the turn of {one.conversation}"
                task = asyncio.create_task(keep_running(name, partial(self._drive, one, schedule)))
                self._driven[key] = task
                task.add_done_callback(partial(self._forget, key))

    def _forget(self, key: tuple[ConversationId, int], _: asyncio.Task[None]) -> None:
        self._driven.pop(key, None)

    async def _drive(self, occurrence: Occurrence, schedule: StoredSchedule) -> None:
        drive = partial(drive_in_chat, self._gateway, occurrence, schedule.scheduled.address.door)
        await self._stuck.tried(occurrence, schedule, drive)

    async def _pause(self, schedule: StoredSchedule, why: str) -> None:
        with suppress(NotFound):  # it was deleted
            await self._transcript.append(schedule.id, pause_facts(schedule, why))
