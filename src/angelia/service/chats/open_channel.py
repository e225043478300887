"""A channel with what the person set for it."""

import asyncio
from collections.abc import Awaitable, Callable

from msgspec import Struct

from angelia.channels.port import Channel
from angelia.channels.settings import ChannelSettings

Wait = Callable[[asyncio.Event | None, float | None], Awaitable[None]]
"""Waits until the event is set or the seconds are over, whichever comes first; None stands for never."""


class OpenChannel(Struct, frozen=True):
    """One open connection to a network, and its settings."""

    channel: Channel
    settings: ChannelSettings


async def wait(event: asyncio.Event | None, seconds: float | None) -> None:
    """Real time."""
    if event is None:
        await asyncio.sleep(seconds or 0)
        return
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
