"""A running command with a network of its own, which ends with it."""

import asyncio

from msgspec.structs import replace

from angelia.sandboxes.egress.proxy import ProxiedHosts
from angelia.sandboxes.port import Exit, Running
from angelia.sandboxes.shared.wrapped import WrappedRunning


class ProxiedCommand(WrappedRunning):
    """See `sandboxes.port.Running`. How it ended tells what the network refused it."""

    def __init__(self, inner: Running, network: ProxiedHosts) -> None:
        super().__init__(inner)
        self._network = network
        self._ended = asyncio.get_running_loop().create_task(self._until_end())

    async def wait(self) -> Exit:
        """See the port."""
        return await asyncio.shield(self._ended)

    async def _until_end(self) -> Exit:
        ended = await self._inner.wait()
        await self._network.close()
        refused = tuple(f"network: {sentence}" for sentence in self._network.refusals.values())
        return replace(ended, notes=(*ended.notes, *refused))
