"""The toolset of the past: search it, read it."""

from collections.abc import Sequence

from angelia.tools.past.access import PastAccess
from angelia.tools.past.read_past import ReadPast
from angelia.tools.past.search_past import SearchPast
from angelia.tools.port import ConversationContext, Tool


class PastTools:
    """See `tools.port.Toolset`."""

    name = "past"

    def __init__(self) -> None:
        self._past: PastAccess | None = None
        self._tools: tuple[Tool, ...] = (SearchPast(self._access), ReadPast(self._access))

    async def open(self, conversation: ConversationContext) -> None:
        """Look from this conversation."""
        self._past = conversation.past
        if self._past is None:
            self._tools = ()
        elif (owed := self._past.may_cost).cost:
            self._tools = (SearchPast(self._access, owed), ReadPast(self._access))

    def _access(self) -> PastAccess:
        assert self._past is not None, "a tool runs in a conversation that is open"
        return self._past

    async def ready(self) -> None:
        """They always are."""

    def tools(self) -> Sequence[Tool]:
        """Those of the conversation."""
        return self._tools

    def instructions(self) -> str:
        """Nothing: the tools say it."""
        return ""

    async def close(self) -> None:
        """Nothing was begun."""
