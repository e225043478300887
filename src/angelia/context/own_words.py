"""What of a message are its sender's own words: nothing that was passed on, no line that quotes, and no program's."""

from collections.abc import Iterator

from angelia.core import entry as e
from angelia.core.content import Text

_QUOTED = (">", "|", "[")
"""How lines begin that somebody else may have written: quotations, tables, and what a door says of a file by name."""

_PROGRAMS = frozenset({"mcp", "python", e.API, e.BATCH})
"""Doors at which programs ask in their person's name. What they ask may be anybody's: a model's, a page's, a mail's."""


INSTRUCTIONS = "[How the program at this door wants it]"
"""How the part begins in which a program says how it is to be answered. Pages that it looked up may stand there."""


def by_program(said: e.Opening) -> bool:
    """Whether a program said it, in its person's name."""
    return said.address.door in _PROGRAMS


def own_texts(said: e.Opening) -> Iterator[str]:
    """The texts among its parts that its sender wrote, whole; none of what was passed on."""
    if not said.forwarded and not by_program(said):
        yield from (part.text for part in said.parts if isinstance(part, Text))


def own_lines(said: e.Opening) -> Iterator[str]:
    """The lines of these texts that quote nobody."""
    for text in own_texts(said):
        yield from (line for line in text.splitlines() if not line.lstrip().startswith(_QUOTED))


def quotes(said: e.Opening) -> bool:
    """Whether a line of it quotes somebody."""
    texts = (part.text for part in said.parts if isinstance(part, Text))
    return any(line.lstrip().startswith(">") for text in texts for line in text.splitlines())
