"""A command on another machine as a stream: one session of the connection."""

import asyncssh

from angelia.sandboxes.launcher import quoted
from angelia.sandboxes.port import Unreachable
from angelia.sandboxes.ssh.link import Link

CHUNK = 64 * 1024


class SessionWire:
    """See `sandboxes.wired.Wire`."""

    def __init__(self, host: str, process: "asyncssh.SSHClientProcess[bytes]") -> None:
        self._host, self._process = host, process

    async def read(self) -> bytes:
        """Some output, nothing at its end."""
        try:
            data = await self._process.stdout.read(CHUNK)
        except (asyncssh.Error, OSError) as error:
            raise self._cut() from error
        return data

    async def write(self, data: bytes) -> None:
        """Send input."""
        try:
            self._process.stdin.write(data)
            await self._process.stdin.drain()
        except (asyncssh.Error, OSError) as error:
            raise self._cut() from error

    async def status(self) -> int:
        """Its status; where a signal ended the launcher itself, as shells say it."""
        await self._process.wait_closed()
        status, signal = self._process.exit_status, self._process.returncode
        if status is None or signal is None:
            raise self._cut()
        return status if status >= 0 else 128 + abs(signal)

    async def close(self) -> None:
        """Let go; the launcher takes that for the word to end."""
        self._process.close()

    def _cut(self) -> Unreachable:
        return Unreachable(
            f"The connection to {self._host} was cut while the command ran.",
            "It has been ended there as soon as that machine noticed.",
            "See what it has done before you run it again; the next command connects anew.",
        )


async def session_wire(link: Link, line: str) -> SessionWire:
    """Start `/bin/sh -c line` over there.

    Raises:
        AccessRefused, Unreachable: there is no connection.
    """

    async def begin(connection: asyncssh.SSHClientConnection) -> "asyncssh.SSHClientProcess[bytes]":
        return await connection.create_process(f"exec /bin/sh -c {quoted(line)}", encoding=None)

    return SessionWire(link.host, await link.use(begin))
