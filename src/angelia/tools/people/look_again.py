"""The tool `look_again`: see a picture or file of this conversation once more."""

from collections.abc import Sequence
from typing import Annotated, Protocol

from msgspec import Meta, Struct

from angelia.context.folded_media import folded_media
from angelia.core.content import Text
from angelia.core.counts import counted
from angelia.core.entry import BytesLetGo
from angelia.core.errors import NotFound
from angelia.policy.verdict import Effect, NoEffect
from angelia.tools.blob_names import find_blob
from angelia.tools.port import BlobAccess, LogAccess, ToolOutcome, Traits


class LookAgainArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Which medium."""

    id: Annotated[str, Meta(description="8 or more digits, as in the line that stands in its place; empty lists all.")]


class LookAgainContext(BlobAccess, LogAccess, Protocol):
    """What `look_again` uses of its call."""


class LookAgain:
    """Gives a medium back that the view shows as one line of text."""

    name = "look_again"
    description = "Show a picture or file of this conversation again."
    arguments: type[Struct] = LookAgainArguments
    traits = Traits(reads_only=True, replayable=True)

    async def effects(self, arguments: LookAgainArguments, context: object) -> Sequence[Effect]:
        """None: it is this conversation's own."""
        return (NoEffect(),)

    async def run(self, arguments: LookAgainArguments, context: LookAgainContext) -> ToolOutcome:
        """Show it, or tell which there are.

        Raises:
            NotFound: unknown in this conversation, ambiguous, no medium, or expired.
        """
        if not arguments.id.strip():
            lines = folded_media(context.entries, len(context.entries) + 1)
            return ToolOutcome((Text("\n".join(one.line for one in lines) or "There is none in this conversation."),))
        known = find_blob(context.entries, arguments.id)
        if known.media is None:
            raise NotFound(f"{arguments.id} is stored text.", then=f"Read it with `read`: blob:{arguments.id}.")
        if not await context.blobs.has(known.ref):
            named = known.name or arguments.id
            for entry in context.entries:
                fact = entry.fact
                if isinstance(fact, BytesLetGo) and any(one.sha256 == known.ref.sha256 for one in fact.pictures):
                    why = f"Screenshots that nobody was sent are kept for {counted(fact.hours, 'hour')}."
                    raise NotFound(f"{named} is not stored any more.", why, "Look at the page again, with a picture.")
            raise NotFound(f"{named} is not stored any more.", then="Ask the person to send it again.")
        return ToolOutcome((Text(f"{known.name or 'It'}, once more:"), known.media))
