"""Time is kept for a home by one process at a time, until it ends; the next one takes over."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from angelia.service.chats.gateway import Gateway
from angelia.service.chats.open_channel import wait
from angelia.service.schedule.clockwork import LONGEST_SLEEP_S, Clockwork, ClockworkDeps
from angelia.service.schedule.turns import ScheduledTurns, TurnSources
from angelia.service.schedule.wake import WakePipe, take_clock


class ClockServices(Struct, frozen=True):
    """What keeping time needs of an open home."""

    home: Path
    clockwork: ClockworkDeps
    turns: TurnSources


async def keep_time(services: ClockServices, gateway: Gateway | None, held: Callable[[], None] = lambda: None) -> None:
    """Until cancelled: begin what is due, once no other process of this home does. `held` is called when it is ours."""
    while (lock := take_clock(services.home)) is None:
        await wait(None, LONGEST_SLEEP_S)
    try:
        held()
        clockwork = Clockwork(services.clockwork, ScheduledTurns(services.turns, gateway).drive)
        pipe = WakePipe(services.home, clockwork.woken.set)
        try:
            await clockwork.run()
        finally:
            pipe.close()
            await clockwork.close()
    finally:
        lock.close()
