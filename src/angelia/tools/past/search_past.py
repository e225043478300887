"""The tool `search_past`: find what was said and done in earlier conversations."""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from angelia.core.content import Text
from angelia.core.entry import NO_PAYMENT, Payment
from angelia.policy.verdict import Effect, NoEffect, UseRanker
from angelia.tools.past.access import PastAccess, PastQuestion
from angelia.tools.port import ToolOutcome, Traits

MOST_HITS = 10


class SearchPastArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """A question or words; days are YYYY-MM-DD, `since` included and `before` not; `folder` begins the path."""

    query: Annotated[str, Meta(min_length=1)]
    since: str = ""
    before: str = ""
    folder: str = ""
    kind: Literal["", "people", "replies", "tools"] = ""


class SearchPast:
    """Ranks messages of the person's other conversations."""

    name = "search_past"
    description = (
        "Find what was said or done in earlier conversations; any of the words may match. Finding nothing proves "
        "nothing: ask in other words."
    )
    arguments: type[Struct] = SearchPastArguments

    def __init__(self, past: Callable[[], PastAccess], owed: Payment = NO_PAYMENT) -> None:
        """`owed` is `PastAccess.may_cost`."""
        self._past = past
        self._owed = owed
        costs = owed.cost != 0
        self.traits = Traits(reads_only=True, housekeeping=True, replayable=not costs, costs=costs, spare=True)

    async def effects(self, arguments: SearchPastArguments, context: object) -> Sequence[Effect]:
        """None but what it may cost: it is the person's own past. What it brings counts as words from elsewhere."""
        return (UseRanker(self._owed.to, self._owed.cost),) if self._owed.cost else (NoEffect(),)

    async def run(self, arguments: SearchPastArguments, context: object) -> ToolOutcome:
        """The hits, and what was searched."""
        question = PastQuestion(arguments.query, arguments.since, arguments.before, arguments.folder, arguments.kind)
        found = await self._past().search(question, MOST_HITS)
        return ToolOutcome((Text(found.text),), paid=found.paid)
