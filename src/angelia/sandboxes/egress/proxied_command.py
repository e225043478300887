"""A running command with a network of its own, which ends with it."""

import asyncio
from collections.abc import AsyncIterator

from msgspec.structs import replace

from angelia.sandboxes.egress.proxy import ProxiedHosts
from angelia.sandboxes.port import Exit, Running


class ProxiedCommand:
    """See `sandboxes.port.Running`. How it ended tells what the network refused it."""

    def __init__(self, running: Running, network: ProxiedHosts) -> None:
        self._running, self._network = running, network
        self._ended = asyncio.get_running_loop().create_task(self._until_end())

    @property
    def id(self) -> str:
        """Names the process for as long as the sandbox lives."""
        return self._running.id

    def output(self) -> AsyncIterator[bytes]:
        """See the port."""
        return self._running.output()

    async def wait(self) -> Exit:
        """See the port."""
        return await asyncio.shield(self._ended)

    async def kill(self) -> None:
        """See the port."""
        await self._running.kill()

    async def _until_end(self) -> Exit:
        ended = await self._running.wait()
        await self._network.close()
        refused = tuple(f"network: {sentence}" for sentence in self._network.refusals.values())
        return replace(ended, notes=(*ended.notes, *refused))
