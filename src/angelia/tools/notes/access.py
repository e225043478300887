"""What calls may do with notes, as a service of `tools.port.ConversationContext`."""

from typing import Protocol

from msgspec import Struct

from angelia.core.entry import NoteKind, NoteScope
from angelia.core.ids import CallId


class NoteTaken(Struct, frozen=True):
    """What became of a wish to remember something; `notice` is for the person, empty where they are told nothing."""

    told: str
    notice: str = ""


class NotesAccess(Protocol):
    """What is remembered across conversations, as far as this one may see and add to it."""

    async def remember(self, call: CallId, text: str, scope: NoteScope, what: NoteKind, replaces: int) -> NoteTaken:
        """Keep a note, or have it wait for the person; done again by the same call it changes nothing.

        Raises:
            BadInput: there is no such scope here, or no such note to replace; says which there are.
        """
        ...

    async def recall(self, query: str, most: int) -> str:
        """The notes that count here and are nearest to the words of `query`, in lines, and how many were looked at."""
        ...
