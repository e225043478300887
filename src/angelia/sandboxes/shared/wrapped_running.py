"""A running command of another sandbox, handed on as it is, for those that add something to its end."""

from collections.abc import AsyncIterator

from angelia.sandboxes.port import Exit, Running


class WrappedRunning:
    """See `sandboxes.port.Running`; each method is the inner one's."""

    def __init__(self, inner: Running) -> None:
        self._inner = inner

    @property
    def id(self) -> str:
        """See the port."""
        return self._inner.id

    def output(self) -> AsyncIterator[bytes]:
        """See the port."""
        return self._inner.output()

    @property
    def last_errors(self) -> bytes:
        """See the port."""
        return self._inner.last_errors

    async def write(self, data: bytes) -> None:
        """See the port."""
        await self._inner.write(data)

    async def close_input(self) -> None:
        """See the port."""
        await self._inner.close_input()

    async def wait(self) -> Exit:
        """See the port."""
        return await self._inner.wait()

    async def kill(self) -> None:
        """See the port."""
        await self._inner.kill()
