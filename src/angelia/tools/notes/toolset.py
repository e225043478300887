"""The toolset of notes: there where a conversation has notes, and nothing where it has none."""

from collections.abc import Sequence

from angelia.tools.notes.recall import Recall
from angelia.tools.notes.remember import Remember
from angelia.tools.port import ConversationContext, Tool


class NoteTools:
    """See `tools.port.Toolset`."""

    name = "notes"

    def __init__(self) -> None:
        self._tools: tuple[Tool, ...] = ()

    async def open(self, conversation: ConversationContext) -> None:
        """Make them for this conversation's notes."""
        if conversation.notes is not None:
            self._tools = (Remember(conversation.notes), Recall(conversation.notes))

    async def ready(self) -> None:
        """They always are."""

    def tools(self) -> Sequence[Tool]:
        """Those of the conversation."""
        return self._tools

    def instructions(self) -> str:
        """Nothing: the tools say it, and the notes have a section of their own."""
        return ""

    async def close(self) -> None:
        """Nothing was begun."""
