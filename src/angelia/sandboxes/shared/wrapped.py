"""Another sandbox and its running commands, handed on as they are, for those that add something to them."""

from collections.abc import AsyncIterator

from angelia.sandboxes.port import Command, Description, Exit, FileStat, Running, Sandbox


class WrappedSandbox:
    """See `sandboxes.port.Sandbox`; each method is the inner one's."""

    def __init__(self, inner: Sandbox) -> None:
        self._inner = inner

    async def start(self, command: Command) -> Running:
        """See the port."""
        return await self._inner.start(command)

    def get(self, path: str, *, limit: int) -> AsyncIterator[bytes]:
        """See the port."""
        return self._inner.get(path, limit=limit)

    async def put(
        self,
        path: str,
        content: AsyncIterator[bytes],
        *,
        size: int,
        sha256: str,
        mode: int = 0o644,
        modified: float | None = None,
    ) -> None:
        """See the port."""
        await self._inner.put(path, content, size=size, sha256=sha256, mode=mode, modified=modified)

    async def stat(self, path: str) -> FileStat:
        """See the port."""
        return await self._inner.stat(path)

    def list(self, path: str) -> AsyncIterator[FileStat]:
        """See the port."""
        return self._inner.list(path)

    async def describe(self) -> Description:
        """See the port."""
        return await self._inner.describe()

    async def close(self) -> None:
        """See the port."""
        await self._inner.close()


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
