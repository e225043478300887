"""A text that is still being written, so that its last marks do not show before they are closed."""

import re

_UNFINISHED = re.compile(r"!?\[[^\]\n]*(?:\](?:\([^)\n]*)?)?\Z|[*_~`]+\Z|^#{1,6}[ ]?\Z", re.MULTILINE)
"""A link or mark at the end, of which nobody knows yet what it will be."""
_FENCE = re.compile(r"^ {0,3}(?:`{3,}|~{3,})", re.MULTILINE)


def whole_so_far(markdown: str) -> str:
    """What has been written of a Markdown text up to now, as a text that is whole: what is unfinished at its end is
    left out, and what is open is closed. Fences need no end.

    >>> whole_so_far("It is **very impor")
    'It is **very impor**'
    >>> whole_so_far("See [the pa"), whole_so_far("Run `make te"), whole_so_far("a *")
    ('See', 'Run `make te`', 'a')
    """
    if len(_FENCE.findall(markdown)) % 2:
        return markdown
    before, gap, last = markdown.rpartition("\n\n")
    last = _UNFINISHED.sub("", last).rstrip()
    for mark in ("`", "~~", "**", "*", "_"):
        last += mark if _is_open(last, mark) else ""
    return f"{before}{gap}{last}".rstrip()


def _is_open(text: str, mark: str) -> bool:
    """Whether a mark was opened and not closed in a passage, code aside."""
    if mark != "`":
        text = re.sub(r"`[^`]*`", "", text)
    if mark in ("*", "_"):
        text = text.replace(mark * 2, "")
        text = re.sub(rf"(?<=\w){re.escape(mark)}(?=\w)|^\s*{re.escape(mark)} ", "", text, flags=re.MULTILINE)
    return bool(text.count(mark) % 2 and re.search(rf"{re.escape(mark)}\S", text))
