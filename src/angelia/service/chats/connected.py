"""A channel that sends for a moment, without a gateway: connected as far as its network wants it, and closed after."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

from angelia.cancellation import cancel_and_wait
from angelia.channels.incoming import Envelope
from angelia.channels.port import HasLinking
from angelia.service.chats.open_channel import OpenChannel
from angelia.service.chats.sole_connection import sole_connection
from angelia.store.port import LogStore


@asynccontextmanager
async def connected(line: OpenChannel, db: LogStore, home: Path) -> AsyncIterator[None]:
    """Some channels send over the connection that `run` holds. What is linked has but one; what comes in meanwhile
    waits for the gateway.

    Raises:
        BadInput: somebody else has the one connection.
    """
    linked = isinstance(line.channel, HasLinking)
    try:
        async with sole_connection(db, home, line.channel.door) if linked else nullcontext():
            if not linked and not line.settings.connected:
                yield
                return
            running = asyncio.create_task(line.channel.run(_waiting))
            try:
                yield
            finally:
                await cancel_and_wait(running)
    finally:
        await line.channel.close()


async def _waiting(_: Envelope) -> str:
    """Takes nothing in."""
    await asyncio.Event().wait()
    return ""
