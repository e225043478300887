"""What each colour means, once for all that is shown in a terminal.

The terminal's own colours and ground are used, whichever they are, so only what can be read on a light ground and on
a dark one has colour (`tests/faces/test_colours.py` computes it for the palettes of common terminals): text is in the
terminal's own colour, marks and short words have one of the eight basic ones. What is quiet is faint (2), which is
mixed from the text's own colour. Black, white and the bright ones are the ground of one theme or another.
"""

from collections.abc import Mapping
from typing import Final

RUNS: Final = "36"
DONE: Final = "32"
FAILED: Final = "31"
WARNS: Final = "1;33"
ASKS: Final = "1"
QUIET: Final = "2"
TEXT: Final = ""
PERSON: Final = "1"
STRONG: Final = "1"
LITERAL: Final = "35"

ON_MARKS: Final = frozenset({RUNS, DONE, FAILED, WARNS})
"""Only for marks of one sign, beside words that say the same."""

MARKDOWN: Mapping[str, str] = {
    "markdown.h1": "bold underline",
    "markdown.h2": "bold",
    "markdown.h3": "bold",
    "markdown.h4": "bold",
    "markdown.h5": "bold",
    "markdown.h6": "bold",
    "markdown.code": "magenta",
    "markdown.code_block": "none",
    "markdown.block_quote": "none",
    "markdown.item.bullet": "none",
    "markdown.item.number": "none",
    "markdown.hr": "dim",
    "markdown.link": "none",
    "markdown.link_url": "underline",
    "markdown.table.border": "dim",
    "markdown.table.header": "bold",
    "markdown.list": "none",
}
"""Parts of a reply, in rich's names."""

CODE: Mapping[tuple[str, ...], str] = {
    (): "none",
    ("Comment",): "dim",
    ("Keyword",): "bold",
    ("Name", "Tag"): "bold",
    ("Literal", "String"): "magenta",
    ("Generic", "Heading"): "bold",
}
"""Parts of code, by Pygments' kinds of token."""
