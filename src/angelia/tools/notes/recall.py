"""The tool `recall`: find notes that had no room in the prompt."""

from collections.abc import Callable, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from angelia.core.content import Text
from angelia.policy.verdict import Effect, NoEffect
from angelia.tools.notes.access import NotesAccess
from angelia.tools.port import ToolOutcome, Traits

MOST_NOTES = 10


class RecallArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Words to look for."""

    query: Annotated[str, Meta(min_length=1)]


class Recall:
    """Looks through the notes that count here."""

    name = "recall"
    description = "Find notes that you do not see, by their words."
    arguments: type[Struct] = RecallArguments
    traits = Traits(reads_only=True, housekeeping=True, replayable=True, spare=True)

    def __init__(self, notes: Callable[[], NotesAccess]) -> None:
        self._notes = notes

    async def effects(self, arguments: RecallArguments, context: object) -> Sequence[Effect]:
        """None: they are the person's own."""
        return (NoEffect(),)

    async def run(self, arguments: RecallArguments, context: object) -> ToolOutcome:
        """The notes, in lines."""
        return ToolOutcome((Text(await self._notes().recall(arguments.query, MOST_NOTES)),))
