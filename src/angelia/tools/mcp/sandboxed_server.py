"""A server's program inside the conversation's sandbox, spoken to line by line as one of this machine is."""

from collections.abc import AsyncIterator
from contextlib import suppress

from angelia.core.text import clean, one_line
from angelia.deadline import within
from angelia.sandboxes.by_commands.sidecar import FAREWELL_S, MOST_LINE, overlong
from angelia.sandboxes.port import Command, Running, Sandbox, SandboxError, StderrMode, StdinMode
from angelia.tools.mcp.server import SandboxProgram


class SandboxedServer:
    """See `tools.mcp.client.ServerProcess`. It is confined as commands there are, and ends with the sandbox."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._lost = ""

    @classmethod
    async def start(cls, sandbox: Sandbox, program: SandboxProgram) -> "SandboxedServer":
        """Start it with nothing in its environment but the sandbox's own, and what it was given.

        Raises:
            SandboxError: it cannot be started there; no other place is taken.
            ConfigError: one of its secrets cannot be had.
        """
        command = Command(
            argv=program.argv,
            cwd=program.cwd,
            env=await program.env(),
            reach=program.reach,
            input=StdinMode.OPEN,
            errors=StderrMode.APART,
        )
        return cls(await sandbox.start(command))

    @property
    def complaint(self) -> str:
        """How it was lost, or the last line that it wrote to stderr, for people; empty if there is neither."""
        lines = [
            line for line in clean(self._running.last_errors.decode("utf-8", "replace")).splitlines() if line.strip()
        ]
        return self._lost or (one_line(lines[-1], 300) if lines else "")

    async def lines(self) -> AsyncIterator[bytes]:
        """What it writes to stdout, line by line, until it ends, is lost, or writes a line that is too long."""
        held: list[bytes] = []
        size = 0
        try:
            async for chunk in self._running.output():
                *whole, rest = chunk.split(b"\n")
                for line in whole:
                    if size + len(line) > MOST_LINE:
                        break
                    yield b"".join([*held, line])
                    held, size = [], 0
                else:
                    held.append(rest)
                    size += len(rest)
                    if size <= MOST_LINE:
                        continue
                self._lost = overlong()
                return
        except SandboxError as error:
            self._lost = one_line(clean(error.what), 300)

    async def write(self, data: bytes) -> None:
        """Hand it some bytes; waits while it does not read.

        Raises:
            OSError: it has ended.
        """
        try:
            await self._running.write(data)
        except SandboxError as error:
            raise BrokenPipeError(error.what) from error

    async def close(self) -> None:
        """Close its stdin, and end it with everything that it started. Idempotent."""
        with suppress(SandboxError):  # the sandbox has ended, and with it this
            with suppress(TimeoutError):
                await within(FAREWELL_S, self._ended_by_itself())
            await self._running.kill()

    async def _ended_by_itself(self) -> None:
        await self._running.close_input()
        await self._running.wait()
