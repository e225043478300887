"""The media of a fact: what a person or a tool said that is not words, each with its place among the parts."""

from angelia.core.content import Media
from angelia.core.entry import AnyFact, Opening, ToolFinished


def media_parts(fact: AnyFact) -> list[tuple[int, Media]]:
    """Every medium with its index, in order; views and later facts name it by that (`Aged.part`, `Reshown.part`)."""
    if not isinstance(fact, Opening | ToolFinished):
        return []
    return [(index, part) for index, part in enumerate(fact.parts) if isinstance(part, Media)]
