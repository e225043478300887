"""The tool `read_past`: read on around a message of an earlier conversation."""

from collections.abc import Callable, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from angelia.core.content import Text
from angelia.policy.verdict import Effect, NoEffect
from angelia.tools.past.access import PastAccess
from angelia.tools.port import ToolOutcome, Traits


class ReadPastArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """A conversation's id and the number of a message in it, as `search_past` shows them; `turns` on each side."""

    conversation: Annotated[str, Meta(min_length=4)]
    around: Annotated[int, Meta(ge=1)]
    turns: Annotated[int, Meta(ge=1, le=20)] = 5


class ReadPast:
    """Shows messages of one of the person's other conversations."""

    name = "read_past"
    description = "Read on around a hit of `search_past`."
    arguments: type[Struct] = ReadPastArguments
    traits = Traits(reads_only=True, housekeeping=True, replayable=True, spare=True)

    def __init__(self, past: Callable[[], PastAccess]) -> None:
        self._past = past

    async def effects(self, arguments: ReadPastArguments, context: object) -> Sequence[Effect]:
        """None, as for `search_past`."""
        return (NoEffect(),)

    async def run(self, arguments: ReadPastArguments, context: object) -> ToolOutcome:
        """The messages, oldest first."""
        said = await self._past().read(arguments.conversation, arguments.around, arguments.turns)
        return ToolOutcome((Text(said),))
