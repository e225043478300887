"""The toolset of notes: there where a conversation has notes, and nothing where it has none."""

from collections.abc import Sequence

from angelia.tools.notes.access import NotesAccess
from angelia.tools.notes.recall import Recall
from angelia.tools.notes.remember import Remember
from angelia.tools.port import ConversationContext, Tool


class NoteTools:
    """See `tools.port.Toolset`."""

    name = "notes"

    def __init__(self) -> None:
        self._notes: NotesAccess | None = None
        self._tools: tuple[Tool, ...] = (Remember(self._access), Recall(self._access))

    async def open(self, conversation: ConversationContext) -> None:
        """Work on this conversation's notes."""
        self._notes = conversation.notes
        if self._notes is None:
            self._tools = ()

    def _access(self) -> NotesAccess:
        assert self._notes is not None, "a tool runs in a conversation that is open"
        return self._notes

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
