r"""TeX in Markdown, between `\( … \)` or `\[ … \]`, where nothing draws it: it stays as it was written.

Models write formulas so, and Markdown would take their backslashes for escapes of its own.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

_ENDS: Mapping[str, str] = {r"\(": r"\)", r"\[": r"\]"}
"""What begins a formula, and what ends it."""


def keep_formulas(parser: "MarkdownIt") -> "MarkdownIt":
    """The same parser, for which a formula is a text."""
    parser.inline.ruler.before("escape", "formula", _formula)
    return parser


def _formula(state: "StateInline", silent: bool) -> bool:
    end = _ENDS.get(state.src[state.pos : state.pos + 2], "")
    at = state.src.find(end, state.pos + 2, state.posMax) if end else -1
    if at < 0:
        return False
    if not silent:
        state.pending += state.src[state.pos : at + 2]
    state.pos = at + 2
    return True
