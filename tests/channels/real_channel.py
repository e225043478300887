"""A channel on a real network, with what it heard and told."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from angelia.channels.health import ConnectionHealth, Health
from angelia.channels.incoming import Envelope
from angelia.channels.port import Channel, ChannelContext
from angelia.channels.settings import Secret
from angelia.core.ids import wall_clock
from angelia.testing.changes import Changes

_COMMANDS = {"status": "what is going on", "stop": "stop what is running"}

SECONDS = 120.0
"""Safety net of every wait."""


class RealChannel:
    """A channel, and what stays from one to the next: its memory, what it heard and what it told. Its secrets are all
    the same one.
    """

    def __init__(self, door: str, folder: Path, secret: str, make: Callable[[ChannelContext], Channel]) -> None:
        self.heard, self.health, self._memory = list[Envelope](), list[Health](), dict[str, str]()
        self._secret, self._make, self._changes = secret, make, Changes()
        self._outfit = ChannelContext(
            door, folder, wall_clock, self._tell, self._recall, self._remember, self._report, _COMMANDS
        )
        self.channel = make(self._outfit)

    @asynccontextmanager
    async def running(self, state: ConnectionHealth = ConnectionHealth.CONNECTED) -> AsyncIterator["RealChannel"]:
        """A channel runs until this is left; it has come to this state."""
        begun = len(self.health)

        def came() -> bool:
            return any(one.state is state for one in self.health[begun:])

        self.channel = self._make(self._outfit)
        running = asyncio.create_task(self.channel.run(self._hear))
        running.add_done_callback(lambda _: self._changes.tell())
        try:
            await self.until(lambda: came() or running.done())
            assert came(), f"`run` ended with {running.exception()!r}"
            yield self
        finally:
            running.cancel()
            await asyncio.wait([running], timeout=SECONDS)
            await self.channel.close()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds of what was heard or told."""
        async with asyncio.timeout(SECONDS):
            await self._changes.when(holds)

    async def heard_next(self) -> Envelope:
        """What is heard next, or was and is still to be looked at."""
        await self.until(lambda: bool(self.heard))
        return self.heard.pop(0)

    async def _hear(self, envelope: Envelope) -> str:
        self.heard.append(envelope)
        self._changes.tell()
        return ""

    def _report(self, health: Health) -> None:
        self.health.append(health)
        self._changes.tell()

    async def _tell(self, _: Secret) -> str:
        return self._secret

    async def _recall(self, name: str) -> str:
        return self._memory.get(name, "")

    async def _remember(self, name: str, value: str) -> None:
        self._memory[name] = value
