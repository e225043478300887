"""That a call still runs, said in lines where nothing is drawn anew."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from angelia.core.ids import CallId

if TYPE_CHECKING:
    from angelia.faces.cli.chat.live_view import LiveView

TOLD_AT = (10, 30, 60)
"""Seconds after which a call that runs is told of; then each minute."""


async def tell_of_long_calls(
    opened: asyncio.Event, view: Callable[[], "LiveView"], note: Callable[[str], None]
) -> None:
    """Note what runs for long, once there is a conversation; never ends."""
    await opened.wait()
    told: dict[CallId, int] = {}
    while True:
        await asyncio.sleep(1)
        now = view()
        told = {call: seconds for call, seconds in told.items() if call in now.running}
        for call, running in now.running.items():
            due = told_at(now.clock() - running.since)
            if due > told.get(call, 0):
                told[call] = due
                last = f" Last line: {running.last.strip()}" if running.last.strip() else ""
                note(f"Still running after {due} seconds: {running.words}.{last}")


def told_at(seconds: float) -> int:
    """The last moment at which one is told, in seconds; 0 before the first.

    >>> [told_at(seconds) for seconds in (9, 10, 59, 61, 185)]
    [0, 10, 30, 60, 180]
    """
    if seconds >= TOLD_AT[-1]:
        return int(seconds // 60) * 60
    return max((at for at in TOLD_AT if at <= seconds), default=0)
