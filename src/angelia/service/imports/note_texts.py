"""Files of notes, cut into notes: each says one thing, and is short enough for one."""

import re
from collections.abc import Iterator

from angelia.tools.notes.remember import MOST_CHARACTERS

_BULLET = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_FENCE = re.compile(r"^\s*(```|~~~)")
_BETWEEN = "\n§\n"
"""Stands between the notes of Hermes (`tools/memory_tool.py`, `ENTRY_DELIMITER`)."""


def divided(text: str) -> list[str]:
    r"""The notes of a file of Hermes.

    >>> divided("Likes tea.\n§\nLives in Bonn.\n")
    ['Likes tea.', 'Lives in Bonn.']
    """
    return [short for part in text.replace("\r\n", "\n").split(_BETWEEN) for short in _short(part)]


def from_markdown(text: str) -> list[str]:
    r"""The points and paragraphs of a Markdown file, each behind the heading above it; front matter is left out.

    >>> from_markdown("# Food\n- likes tea\n- no fish\n\nLives in Bonn.\n")
    ['Food: likes tea', 'Food: no fish', 'Food: Lives in Bonn.']
    """
    return [short for block in _blocks(_without_front_matter(text)) for short in _short(block)]


def _without_front_matter(text: str) -> str:
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].strip() == "---" and "---" in (line.strip() for line in lines[1:]):
        return "\n".join(lines[[line.strip() for line in lines].index("---", 1) + 1 :])
    return "\n".join(lines)


def _blocks(text: str) -> Iterator[str]:
    heading, block, code = "", list[str](), False
    for line in text.split("\n"):
        begins = not code and (not line.strip() or line.startswith("#") or bool(_BULLET.match(line)))
        if begins and block:
            yield _behind(heading, block)
            block = []
        code ^= bool(_FENCE.match(line))
        if line.startswith("#") and not code:
            heading = line.strip("# \t")
        elif line.strip():
            block.append(_BULLET.sub("", line) if not code else line)
    if block:
        yield _behind(heading, block)


def _behind(heading: str, block: list[str]) -> str:
    words = " ".join(block)
    return f"{heading}: {words}" if heading else words


def _short(text: str) -> Iterator[str]:
    """The text on one line, in pieces that are short enough: cut behind a sentence, else between words."""
    left = " ".join(text.split())
    while len(left) > MOST_CHARACTERS:
        head = left[:MOST_CHARACTERS]
        at = max(head.rfind(". ") + 1, head.rfind("; ") + 1)
        at = at if at > MOST_CHARACTERS // 3 else head.rfind(" ")
        at = at if at > 0 else MOST_CHARACTERS
        yield left[:at].strip()
        left = left[at:].strip()
    if left:
        yield left
