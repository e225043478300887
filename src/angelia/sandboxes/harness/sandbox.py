"""A sandbox of a harness of others: what the model does is done there, so its own tests find it where they look."""

import posixpath
from collections.abc import Sequence

from angelia.sandboxes.by_commands.commands import RunningCommands
from angelia.sandboxes.by_commands.exec_stream import StreamedCommand
from angelia.sandboxes.by_commands.files import FilesByExec
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.harness.exec_stream import PATIENCE, HarnessExecStream
from angelia.sandboxes.harness.lending import HarnessEnvironment, borrowed
from angelia.sandboxes.port import Command, Description, SandboxClosed, StderrMode
from angelia.sandboxes.shared.probe import LOOK_AROUND, look_around


class HarnessSandbox(FilesByExec):
    """See `sandboxes.port.Sandbox`. All of it may be written: it is the task's, and nothing of this machine is seen.

    When this process dies, what runs there ends with the sandbox, whose end is the harness's business, or after a day.
    """

    def __init__(self, environment: HarnessEnvironment, workspace: str) -> None:
        """`workspace` is a folder inside."""
        self._environment, self._workspace = environment, posixpath.normpath(workspace)
        self._commands = RunningCommands(PATIENCE)
        self._described: Description | None = None
        self._closed = False

    async def start(self, command: Command) -> StreamedCommand:
        """See the port."""
        if self._closed:
            raise SandboxClosed
        return await self._commands.start(
            command, cwd=posixpath.join(self._workspace, command.cwd), env={"TERM": "dumb"}, open_wire=self._wire
        )

    async def _wire(self, line: str, errors: StderrMode) -> HarnessExecStream:
        return HarnessExecStream(self._environment, line, errors)

    async def roots(self) -> Sequence[str]:
        """All of it."""
        return (self._workspace, "/")

    async def describe(self) -> Description:
        """See the port."""
        if self._described is None:
            seen = await look_around(await self.start(Command(shell=LOOK_AROUND, seconds=60.0)))
            self._described = Description(
                name="the task's sandbox",
                system=seen.system,
                workspace=self._workspace,
                confined=True,
                network="what the task allows",  # whoever wrote it has decided that, so nobody is asked
                notes=(
                    "This is the sandbox of a task; nothing of a person's machine is there.",
                    "Commands reach as much of the network as the task allows, without asking for it.",
                    "All of it can be written, as far as its user may.",
                    "What a command leaves in the background ends with it.",
                    f"Programs found: {seen.programs}.",
                ),
            )
        return self._described

    async def close(self) -> None:
        """End what still runs. Idempotent."""
        self._closed = True
        await self._commands.end()


def open_sandbox(rest: str, place: SandboxContext, settings: object) -> HarnessSandbox:
    """See `sandboxes.registry.OpenSandbox`; `rest` is what `lent` gave, and its folder, which `place` has already.

    Raises:
        SandboxMissing: the harness has taken it back.
    """
    return HarnessSandbox(borrowed(rest.partition(":/")[0]), place.workspace)
