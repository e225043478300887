"""One part of the system prompt, and how it is held to its budget."""

from typing import Protocol

from msgspec import Struct

from angelia.context.prompt.facts import PromptFacts
from angelia.context.tokens import text_tokens

_CUT_LINE = 40
"""Tokens, and four times as many bytes, that the line about a cut takes at most."""


class SectionBudget(Struct, frozen=True):
    """What a section may take of the prompt: tokens as `context.tokens` counts them, and bytes (0 for any number)."""

    tokens: int
    bytes: int = 0


class PromptSection(Protocol):
    """One part of the system prompt: pure in what it is given, with a budget. An empty one is left out."""

    name: str
    budget: SectionBudget

    def text(self, facts: PromptFacts) -> str:
        """The whole of it, whatever it weighs: the same bytes for the same facts."""
        ...


class SectionCut(Struct, frozen=True):
    """A section that did not fit: so many of its characters were left out."""

    section: str
    left_out: int
    characters: int

    def in_words(self) -> str:
        """What a person is told of it.

        >>> SectionCut("place", 1200, 4800).in_words()
        'The system prompt has no room for all of the section “place”: 1,200 of its 4,800 characters are left out.'
        """
        return (
            f"The system prompt has no room for all of the section “{self.section}”: "
            f"{self.left_out:,} of its {self.characters:,} characters are left out."
        )


def fitted(text: str, budget: SectionBudget) -> tuple[str, int]:
    r"""A section's text within its budget, and how many characters were left out; a cut is seen in the text.

    Whole lines are kept where that costs less than half of what fits.

    >>> fitted("short", SectionBudget(100))
    ('short', 0)
    >>> text, left_out = fitted("a line of words\n" * 100, SectionBudget(100))
    >>> text.splitlines()[-1]
    '[Cut here: 1,361 of the 1,600 characters of this section are left out.]'
    """
    if _fits(text, budget.tokens, budget.bytes):
        return text, 0
    tokens, size = budget.tokens - _CUT_LINE, budget.bytes and budget.bytes - 4 * _CUT_LINE
    low, high = 0, len(text)
    while low < high:  # both measures only grow with the text
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _fits(text[:middle], tokens, size) else (low, middle - 1)
    end = text.rfind("\n", low // 2, low + 1)
    kept = text[: end if end >= 0 else low].rstrip()
    left_out = len(text) - len(kept)
    line = f"[Cut here: {left_out:,} of the {len(text):,} characters of this section are left out.]"
    return (f"{kept}\n{line}" if kept else line), left_out


def _fits(text: str, tokens: int, size: int) -> bool:
    return (not size or len(text.encode("utf-8", "replace")) <= size) and text_tokens(text) <= tokens
