"""The toolset of commands: what goes on in the background lives as long as the conversation is open."""

from collections.abc import Sequence

from angelia.core.ids import CallId
from angelia.tools.page_access import SecretsAccess
from angelia.tools.port import ConversationContext, Tool
from angelia.tools.shell.background import BackgroundCommands
from angelia.tools.shell.process import ProcessTool
from angelia.tools.shell.secret_shell import SecretShell
from angelia.tools.shell.shell import Shell
from angelia.tools.standalone import Standalone


class ShellTools(Standalone):
    """See `tools.port.Toolset`."""

    def __init__(self) -> None:
        self._background = BackgroundCommands()
        self._process = ProcessTool(self._background)
        super().__init__("shell", Shell(self._background), self._process)
        self._access: SecretsAccess | None = None
        self._keeping: SecretShell | None = None
        self._kept = ""

    async def open(self, conversation: ConversationContext) -> None:
        """Whose secrets commands may have."""
        self._access = conversation.secrets
        if conversation.secrets is not None:
            self._keeping = SecretShell(self._background, conversation.secrets)

    async def ready(self) -> None:
        """See which there are now."""
        there = self._access.for_commands() if self._access is not None else {}
        self._kept = ", ".join(f"{handle} (as ${variable})" for handle, variable in there.items())

    def tools(self) -> Sequence[Tool]:
        """See `Toolset`."""
        return (self._keeping, self._process) if self._keeping is not None and self._kept else super().tools()

    def instructions(self) -> str:
        """Which secrets commands may have."""
        return f"Secrets that `shell` can put into a command's environment: {self._kept}." if self._kept else ""

    async def end_work(self, call: CallId) -> bool:
        """See `tools.port.EndsWork`."""
        return await self._background.end_one(call)

    async def close(self) -> None:
        """End the commands of this conversation, and wait until their ends are handed in."""
        await self._background.end()
