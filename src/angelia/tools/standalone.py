"""Tools that share nothing, as a toolset."""

from collections.abc import Sequence

from angelia.tools.port import ConversationContext, Tool


class Standalone:
    """See `tools.port.Toolset`; nothing is opened, and nothing closed."""

    def __init__(self, name: str, *tools: Tool) -> None:
        self.name = name
        self._tools = tools

    async def open(self, conversation: ConversationContext) -> None:
        """See `Toolset`."""

    async def ready(self) -> None:
        """See `Toolset`."""

    def tools(self) -> Sequence[Tool]:
        """See `Toolset`."""
        return self._tools

    def instructions(self) -> str:
        """See `Toolset`; their descriptions say it all."""
        return ""

    async def close(self) -> None:
        """See `Toolset`."""
