"""The toolset of delegation; a conversation that may not delegate has none of its tools."""

from collections.abc import Sequence

from angelia.tools.delegation.access import ChildrenAccess
from angelia.tools.delegation.delegate import Delegate
from angelia.tools.delegation.running import RunningChildren
from angelia.tools.port import ConversationContext, Tool


class DelegationTools:
    """See `tools.port.Toolset`."""

    name = "delegation"

    def __init__(self) -> None:
        self._children: ChildrenAccess | None = None
        self._tools: tuple[Tool, ...] = (Delegate(self._access), RunningChildren(self._access))

    async def open(self, conversation: ConversationContext) -> None:
        """Delegate from this conversation."""
        self._children = conversation.children
        if self._children is None:
            self._tools = ()

    def _access(self) -> ChildrenAccess:
        assert self._children is not None, "a tool runs in a conversation that is open"
        return self._children

    async def ready(self) -> None:
        """See which helpers are set up now."""
        if self._children:
            await self._children.look()

    def tools(self) -> Sequence[Tool]:
        """Those of the conversation."""
        return self._tools

    def instructions(self) -> str:
        """Which helpers are set up."""
        return self._children.offered() if self._children else ""

    async def close(self) -> None:
        """Nothing: who drives the conversation drives its children."""
