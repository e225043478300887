"""The commands of one sandbox that is reached by streams: each is named, marked, and ended with the others."""

import asyncio
from collections.abc import Mapping

from angelia.core.ids import sortable_id
from angelia.sandboxes.by_commands.exec_stream import PATIENCE, StreamedCommand, launched
from angelia.sandboxes.by_commands.launcher import Launch, boot
from angelia.sandboxes.by_commands.stream_port import OpenWire
from angelia.sandboxes.port import Command


class RunningCommands:
    """What runs, and what ran. The marks of one object are those of no other: they begin with `life` and a dot."""

    def __init__(self, patience: float = PATIENCE) -> None:
        """`patience` is how many seconds beyond the grace a far side has to end a command."""
        self._patience = patience
        self.life, self._started = sortable_id(), 0
        self._running: list[StreamedCommand] = []

    async def start(
        self, command: Command, *, cwd: str, env: Mapping[str, str], open_wire: OpenWire
    ) -> StreamedCommand:
        """Start one; `cwd` is absolute, `env` is what all of them have.

        Raises:
            NoSuchFile, OutOfSpace, SandboxGone, Unreachable: see `exec_stream.launched`.
        """
        self._started += 1
        launch = Launch(command, cwd=cwd, mark=f"{self.life}.{self._started}.", env=env)
        wire = await open_wire(boot(len(launch.request())), command.errors)
        running = await launched(f"p{self._started}", wire, launch, open_wire, patience=self._patience)
        self._running = [*(other for other in self._running if not other.ended), running]
        return running

    @property
    def busy(self) -> bool:
        """Whether any runs."""
        return any(not running.ended for running in self._running)

    async def end(self) -> None:
        """End all that run."""
        await asyncio.gather(*(running.kill() for running in self._running))
