"""How Discord's clients show a message: its Markdown read as they read it (support.discord.com, "Markdown Text 101").

What would be markup, a mention or an emoji is shown as one, so that words which were not escaped arrive changed.
"""

import re
from collections.abc import Callable

_FENCE = re.compile(r"```(?:([a-zA-Z0-9_+\-.#]+?)\n)?\n*([^\n][\s\S]*?)\n*```")

Shown = Callable[[re.Match[str]], str]

_INLINE: tuple[tuple[re.Pattern[str], Shown], ...] = (
    (re.compile(r"\\([^0-9A-Za-z\s])"), lambda found: found[1]),
    (re.compile(r"<(https?://[^\s>]+)>"), lambda found: found[1]),
    (re.compile(r"https?://[^\s<]+[^<.,:;\"'\]\s]"), lambda found: found[0]),
    (re.compile(r"\[((?:\\.|[^\[\]\\])+)\]\((?:<[^<>\n]+>|[^\s()]+)\)"), lambda found: inline(found[1])),
    (re.compile(r"<@!?\d+>|<@&\d+>|<#\d+>|@everyone|@here"), lambda found: f"⟦{found[0]}⟧"),
    (re.compile(r"<a?:(\w+):\d+>|:\w+:"), lambda found: "🙂"),
    (re.compile(r"(`+)([\s\S]*?[^`])\1(?!`)"), lambda found: found[2].strip() if found[1] != "`" else found[2]),
    (re.compile(r"~~([\s\S]+?)~~(?!_)"), lambda found: inline(found[1])),
    (re.compile(r"\|\|([\s\S]+?)\|\|"), lambda found: f"▮{inline(found[1])}▮"),
)

_STRONG = re.compile(r"\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)")
_UNDER = re.compile(r"__((?:\\[\s\S]|[^\\])+?)__(?!_)")
_EMPHASIS = re.compile(
    r"\b_((?:__|\\[\s\S]|[^\\_])+?)_\b"
    r"|\*(?=\S)((?:\*\*|\\[\s\S]|\s+(?:\\[\s\S]|[^\s*\\]|\*\*)|[^\s*\\])+?)\*(?!\*)"
)

_LINES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"^(?:#{1,3}|-#|>>>|>) +(?=\S)", re.MULTILINE), ""),
    (re.compile(r"^( *)[-*] +(?=\S)", re.MULTILINE), r"\1• "),
    (re.compile(r"^( *)(\d+)\. +(?=\S)", re.MULTILINE), r"\1\2) "),
)


def shown(content: str) -> str:
    """What a person reads."""
    parts: list[str] = []
    begin = 0
    for found in _FENCE.finditer(content):
        parts += (_lines(content[begin : found.start()]), found[2])
        begin = found.end()
    return "".join([*parts, _lines(content[begin:])]).strip()


def _lines(text: str) -> str:
    for pattern, instead in _LINES:
        text = pattern.sub(instead, text)
    return inline(text)


def inline(text: str) -> str:
    """The marks within lines."""
    said, at = "", 0
    while at < len(text):
        found, words = _mark(text, at)
        said += words
        at += found
    return said


def _mark(text: str, at: int) -> tuple[int, str]:
    """How much of the text is a mark, and what is shown for it; the longest of those that stand for emphasis."""
    for pattern, show in _INLINE:
        if found := pattern.match(text, at):
            return len(found[0]), show(found)
    best = max(
        (one for one in (p.match(text, at) for p in (_EMPHASIS, _STRONG, _UNDER)) if one), key=_length, default=None
    )
    if best:
        return len(best[0]), inline(next(group for group in best.groups() if group is not None))
    return 1, text[at]


def _length(found: re.Match[str]) -> int:
    return len(found[0])
