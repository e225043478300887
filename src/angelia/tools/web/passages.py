"""The passages of a Markdown page that answer a question, under their headings."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import log

from msgspec import Struct

MOST = 6_000
"""Characters of all passages together."""
_PIECE = 1_500
"""Characters of one passage; a longer paragraph is cut at a line or a word."""
_WORD = r"\w+"
_STEM = 5
"""Letters by which two words are the same: endings differ, in most languages that are written with letters."""


class PagePassage(Struct, frozen=True):
    """A paragraph, list or table: its place on the page, the headings above it, its words."""

    place: int
    headings: tuple[str, ...]
    text: str


def find_passages(page: str, question: str, most: int = MOST) -> str:
    """Those in which the question's words stand, in the order of the page; empty where none does.

    A passage counts for more the more of the words it has, and the rarer they are on this page (the weight of BM25);
    words in its headings count half.
    """
    wanted = set(_stems(question))
    passages = list(_passages(page))
    stems = [Counter(_stems(passage.text)) for passage in passages]
    spread = Counter(stem for counted in stems for stem in counted.keys() & wanted)
    weight = {stem: log(1 + (len(passages) - count + 0.5) / (count + 0.5)) for stem, count in spread.items()}

    def worth(number: int) -> float:
        counted = stems[number]
        above = set(_stems(" ".join(passages[number].headings)))
        own = sum(weight[stem] * (count * 2.2 / (count + 1.2)) for stem, count in counted.items() if stem in weight)
        return own + sum(weight.get(stem, 1.0) / 2 for stem in above & wanted)

    ranked = sorted(((worth(number), -number) for number in range(len(passages))), reverse=True)
    taken, left = list[PagePassage](), most
    for value, number in ranked:
        passage = passages[-number]
        if value <= 0 or len(passage.text) > left:
            continue
        taken.append(passage)
        left -= len(passage.text)
    return _written(sorted(taken, key=lambda passage: passage.place))


def _written(passages: Sequence[PagePassage]) -> str:
    """Each under its headings, which are said once; a gap is marked."""
    lines, before = list[str](), PagePassage(-2, (), "")
    for passage in passages:
        if passage.headings != before.headings:
            lines.append(" › ".join(passage.headings) or "(above the first heading)")
        elif passage.place != before.place + 1:
            lines.append("…")
        lines.append(passage.text)
        before = passage
    return "\n\n".join(lines)


def _passages(page: str) -> Iterator[PagePassage]:
    headings: dict[int, str] = {}
    place = 0
    for block in _blocks(page):
        heading = re.fullmatch(r"(#{1,6}) +(.+)", block)
        if heading:
            level = len(heading[1])
            headings = {depth: text for depth, text in headings.items() if depth < level} | {level: heading[2].strip()}
            continue
        for piece in _cut(block):
            yield PagePassage(place, tuple(headings.values()), piece)
            place += 1


def _blocks(page: str) -> Iterator[str]:
    """Paragraphs, with headings apart from what follows them; fenced code stays whole."""
    lines, fence = list[str](), ""
    for line in [*page.splitlines(), ""]:
        if fence:
            lines.append(line)
            if line.strip().startswith(fence):
                fence = ""
            continue
        if opened := re.match(r"\s*(`{3,}|~{3,})", line):
            fence = opened[1]
        ends = not line.strip() or re.match(r"#{1,6} ", line)
        if ends and lines:
            yield "\n".join(lines)
            lines = []
        if ends and line.strip():
            yield line.strip()
        elif line.strip():
            lines.append(line)
    if lines:
        yield "\n".join(lines)


def _cut(block: str) -> Iterator[str]:
    while len(block) > _PIECE:
        end = max(block.rfind("\n", 0, _PIECE), 0) or max(block.rfind(" ", 0, _PIECE), 0) or _PIECE
        yield block[:end]
        block = block[end:].lstrip("\n ")
    if block:
        yield block


def _stems(text: str) -> Iterator[str]:
    for word in re.findall(_WORD, text.lower()):
        if len(word) > 2 or not word.isascii():
            yield word[:_STEM]
