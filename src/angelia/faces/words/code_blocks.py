"""The blocks of code in the replies of a conversation, exactly as they were written."""

from collections.abc import Sequence

from angelia.core.content import Text
from angelia.core.entry import Entry, ModelSaid


def code_blocks(entries: Sequence[Entry]) -> list[str]:
    """Without their fences, the newest first."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt().disable("inline")
    found: list[str] = []
    for entry in entries:
        if isinstance(entry.fact, ModelSaid):
            text = "".join(part.text for part in entry.fact.parts if isinstance(part, Text))
            found += [token.content for token in parser.parse(text) if token.type in ("fence", "code_block")]
    return found[::-1]
