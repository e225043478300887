"""A third-party sandbox that can only run commands, and has its files from `FilesByExec`."""

from pathlib import Path

from msgspec.structs import replace

from angelia.sandboxes.by_commands.files import FilesByExec
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import AccessRefused, Command, Description, Reach, Running


class SandboxThatOnlyStarts(FilesByExec):
    """All that its author had to write; `path` is for tests, which put broken programs on it."""

    path = "/usr/bin:/bin"

    def __init__(self, workspace: Path, own: Path) -> None:
        workspace.mkdir(exist_ok=True)
        self._commands = LocalSandbox(workspace, home=own, state=own / "run", confine="off")

    async def start(self, command: Command) -> Running:
        return await self._commands.start(replace(command, env={"PATH": self.path}))

    async def describe(self) -> Description:
        return await self._commands.describe()

    async def close(self) -> None:
        await self._commands.close()


class SandboxForTextOnly(SandboxThatOnlyStarts):
    """As when there is a terminal in between: no input, and no byte is safe."""

    binary_safe = False


class SandboxThatIsTrusted(SandboxThatOnlyStarts):
    """As a container's daemon is: it brings what was sent."""

    trusted = True


class SandboxThatConfinesNothing(SandboxThatOnlyStarts):
    """It says so, and refuses what is to be confined."""

    async def start(self, command: Command) -> Running:
        if command.reach is not Reach.OUTSIDE:
            raise AccessRefused("This sandbox cannot confine commands.")
        return await super().start(command)


class SandboxThatMangles(SandboxThatOnlyStarts):
    """Turns z into y, both ways."""

    async def start(self, command: Command) -> Running:
        through = ("/bin/sh", "-c", 'tr z y | "$@" | tr z y', "sh", *command.argv)
        return await super().start(replace(command, argv=through))
