"""The parts of a gateway's work that only one machine may have: each channel, and the clock."""

import asyncio
from functools import partial

from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.channels.health import ConnectionHealth
from angelia.core.errors import AngeliaError
from angelia.service.chats.gateway import Gateway
from angelia.service.cluster.membership import PartPort
from angelia.service.keep_running import keep_running
from angelia.service.schedule.keep_time import ClockServices, keep_time
from angelia.service.schedule.wake import wake_clock
from angelia.store.tables.machines import CLOCK, ClusterState, channel_part, door_of

_SCHEDULED_S = 1.0
"""Seconds between two looks whether something was scheduled on another machine."""


class ChannelPart:
    """The connection to one channel; see `PartPort`."""

    def __init__(self, gateway: Gateway, door: str) -> None:
        self._gateway, self._door = gateway, door

    async def begin(self) -> None:
        """Connect, and go on with what was left open elsewhere."""
        self._gateway.begin([self._gateway.line(self._door)])

    async def end(self, seconds: float) -> None:
        """Disconnect."""
        await self._gateway.disconnect(self._door, seconds)


class ClockPart:
    """What begins turns by itself: schedules, mailboxes, folders; see `PartPort`."""

    def __init__(self, services: ClockServices, gateway: Gateway) -> None:
        self._services, self._gateway = services, gateway
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        """Keep time."""
        clock = partial(keep_time, self._services, self._gateway)
        both = (keep_running("the clock", clock), keep_running("the clock's alarm", self._wake))
        self._tasks = [asyncio.create_task(one) for one in both]

    async def end(self, seconds: float) -> None:
        """Begin nothing any more; turns that were begun are open in the log, and gone on with by whoever is next."""
        await cancel_and_wait(*self._tasks)

    async def _wake(self) -> None:
        """Have it look at once when something is scheduled on another machine, as processes of this one do it."""
        known = 0
        while True:
            try:
                last = await self._services.clockwork.schedules.last_change()
            except AngeliaError:
                end_if_cancelled()
                last = known  # the clock says by itself that the store is away
            if last != known:
                known = last
                wake_clock(self._services.home)
            await asyncio.sleep(_SCHEDULED_S)


def parts_of(gateway: Gateway, doors: tuple[str, ...], clock: ClockPart) -> dict[str, PartPort]:
    """What a gateway can serve."""
    return {CLOCK: clock, **{channel_part(door): ChannelPart(gateway, door) for door in doors}}


def refused(gateway: Gateway) -> frozenset[str]:
    """The channels that do not let this machine in: its settings, or its secrets, are not good for them."""
    stopped = (door for door, one in gateway.standings.items() if one.health.state is ConnectionHealth.STOPPED)
    return frozenset(channel_part(door) for door in stopped)


def shared(state: ClusterState) -> frozenset[str]:
    """The channels that some machine serves, or is about to."""
    return frozenset(filter(None, (door_of(part.name) for part in state.parts)))
