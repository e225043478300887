"""A Markdown text in passages, each of which reads by itself as it does within the whole.

So a text that grows is not read from its start again.
"""

import re
from collections.abc import Iterator

_FENCE = re.compile(r"(`{3,}|~{3,})(.*)")
_OTHER_FENCE = re.compile(
    r"^(?=[^\n`~]*(?:`{3}|~{3}))(?:[ \t]+|[-*+>]|\d+[.)])[-*+>\d.)\s]*(?:`{3}|~{3})", re.MULTILINE
)
"""A fence that is indented, or within a list or quote: where it ends is more than a line can tell."""

_FRESH = re.compile(r"[^\W\d_]|#{1,6} |\*\*[^\s*]|[^\x00-\x7f]")
"""How a line begins that after a blank one is a paragraph or heading, and ends every list and quote (CommonMark 0.31,
5.1 and 5.2: after a blank line, what continues a container is marked or indented)."""


def passages(text: str) -> Iterator[str]:
    """The passages of a text whose lines end with line feeds; joined by line feeds they are the text."""
    if _OTHER_FENCE.search(text):
        yield text
        return
    lines = text.split("\n")
    begin, fence, blank = 0, "", False
    for index, line in enumerate(lines):
        if blank and not fence and _FRESH.match(line):
            yield "\n".join(lines[begin:index])
            begin = index
        blank = not line.strip(" \t")
        if found := _FENCE.match(line):
            fence = _after(fence, found[1], found[2])
    yield "\n".join(lines[begin:])


def _after(fence: str, mark: str, rest: str) -> str:
    """The fence that is open after a line which begins with such a mark (CommonMark 0.31, 4.5)."""
    if not fence:
        return "" if mark[0] == "`" and "`" in rest else mark
    closes = mark[0] == fence[0] and len(mark) >= len(fence) and not rest.strip(" \t")
    return "" if closes else fence
