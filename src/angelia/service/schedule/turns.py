"""Drives the turns that a clock began: through the chat in which they are told, or with nobody who could be asked."""

import asyncio
from collections.abc import Awaitable, Callable

from msgspec import Struct

from angelia.core import entry as e
from angelia.policy.approvers import nobody
from angelia.service.chats.gateway import Gateway
from angelia.service.chats.open_channel import wait
from angelia.service.conversation.conversations import Conversations
from angelia.service.conversation.session import Session
from angelia.service.conversation.terminal_delivery import TerminalDelivery
from angelia.service.people.budgets import offered
from angelia.service.settings.config import Config
from angelia.store.tables.schedules import Occurrence, Schedules, StoredSchedule

LOOK_S = 1.0
"""Seconds between two looks at what other machines have begun, or ended."""
_AT_ONCE = 4
"""Turns that are driven side by side where nobody can be asked; the others wait, begun in the log."""


async def drive_in_chat(gateway: Gateway, occurrence: Occurrence, door: str) -> Session | None:
    """Drive a turn as its chat's own, until it ends; None where `door` is not open here, or went before it was begun:
    whoever has the channel now drives it.
    """
    session = await gateway.chat_sessions.driven(occurrence.conversation, door)
    if session is not None:
        with gateway.chat_sessions.held(session):
            await session.log.refresh()
            await session.settled()
    return session


class TurnSources(Struct, frozen=True):
    """What drives them. `model` is the one of the settings, for whoever has no presets of their own; `delivery` is what
    brings things to the terminal.
    """

    conversations: Conversations
    schedules: Schedules
    model: Callable[[], Awaitable[str]]
    delivery: Callable[[Session], TerminalDelivery]
    config: Config


class ScheduledTurns:
    """See `clockwork.Drive`. `gateway` is open here, or None where no channel is."""

    def __init__(self, sources: TurnSources, gateway: Gateway | None) -> None:
        self._sources, self._gateway = sources, gateway
        self._free = asyncio.Semaphore(_AT_ONCE)

    async def drive(self, occurrence: Occurrence, schedule: StoredSchedule | None) -> None:
        """Until no turn is open in its conversation.

        Raises:
            AngeliaError: it cannot be driven as configured; the turn stays open.
        """
        address = schedule.scheduled.address if schedule else e.Address("terminal")
        if self._gateway:
            while True:
                if await drive_in_chat(self._gateway, occurrence, address.door) is not None:
                    return
                if not self._gateway.is_elsewhere(address.door):
                    break
                if not await self._sources.schedules.is_open(occurrence):  # its driver is `BegunElsewhere` there
                    return
                await wait(None, LOOK_S)
        here = self._sources.conversations.sessions.get(occurrence.conversation)
        if here:  # a person has it open in this process, and it is driven there
            await here.log.refresh()
            await here.settled()
            return
        async with self._free:
            await self._alone(occurrence, schedule.scheduled.model if schedule else "")

    async def _alone(self, occurrence: Occurrence, model: str) -> None:
        sources = self._sources
        session = await sources.conversations.resume(occurrence.conversation, door="the clock")
        try:
            theirs = next(iter(offered(sources.config, session.owner, (), "model")), "")
            model = model or theirs or await sources.model()
            await sources.conversations.employ(session, model, approvers=nobody)
            await session.wait(lambda: not (session.turn.opened or session.children))  # nobody else goes on with those
            delivery = sources.delivery(session)
            for queued in delivery.unsettled():
                await delivery.keep(queued)
        finally:
            await sources.conversations.leave(session)
