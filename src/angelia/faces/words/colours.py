"""What each colour means, once for all that is shown in a terminal.

The terminal's own colours and ground are used, whichever they are. None of the eight basic ones can be read on the
light and on the dark ground of all common palettes (`tests/faces/test_colours.py` computes it; Tango's magenta has 1.9
to 1 on its dark ground), so words are in the terminal's own colour: bold, faint, underlined. Colour is for marks of one
sign, beside words that say the same. Black, white and the bright ones are the ground of one theme or another.
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

MARKDOWN: Mapping[str, str] = {
    "markdown.h1": "bold underline",
    "markdown.h2": "bold",
    "markdown.h3": "bold",
    "markdown.h4": "bold",
    "markdown.h5": "bold",
    "markdown.h6": "bold",
    "markdown.code": "bold",
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
    ("Generic", "Heading"): "bold",
}
"""Parts of code, by Pygments' kinds of token."""
