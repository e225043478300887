"""Markdown, read as a tree of blocks.

CommonMark with tables and strikethrough. Raw HTML is text. Reference definitions are text too, since CommonMark drops
those that nobody refers to. A line break of the source is one in the chat. A picture is a link to it.
"""

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from angelia.channels.markup.columns import columns
from angelia.channels.markup.cutting import plain_block, trimmed
from angelia.channels.markup.formulas import keep_formulas
from angelia.channels.markup.passages import passages
from angelia.channels.markup.tree import (
    Block,
    Code,
    Fence,
    Heading,
    Inline,
    ListItem,
    MarkupLink,
    Paragraph,
    PlainWords,
    Quote,
    Span,
    Style,
    Table,
    plain_line,
)
from angelia.core.text import clean, shorten

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

DEEPEST = 60
"""Levels of nesting that are read; a text with more is shown as it is, since the parser would drop what is deeper."""

_LINKABLE = re.compile(r"(?i)(https?://|mailto:)\S+$")
"""Addresses that may become links. Others can be commands to the network, such as `tg://user?id=`."""

_NEWLINE = re.compile(r"\r\n?")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,32}")

_TASK = re.compile(r"\[([ xX])\][ \n]")
_EMPTY, _DONE = "☐", "☑"

RULE = "———"
"""A thematic break."""


def read_markdown(markdown: str) -> tuple[Block, ...]:
    """The blocks of a text, whatever it is. A text that shows nothing as Markdown is shown as it is."""
    source = _NEWLINE.sub("\n", clean(markdown))
    blocks = [block for passage in passages(source) for block in read_passage(passage)]
    return tuple(blocks) or literally(source)


@lru_cache(maxsize=1024)
def read_passage(passage: str) -> tuple[Block, ...]:
    """The blocks of a text that show anything. Kept for a while: a preview is read again with each addition."""
    tokens = _parser().parse(passage)
    if any(token.level >= DEEPEST - 2 for token in tokens):
        return literally(passage)
    blocks = _Reading(tokens).blocks(depth=0, quoted=False)
    return tuple(block for block in blocks if plain_block(block).strip())


def literally(text: str) -> tuple[Block, ...]:
    """A text without any markup."""
    return (Paragraph((PlainWords(text.strip()),)),) if text.strip() else ()


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST})
    return keep_formulas(parser.enable(["table", "strikethrough"]).disable("reference"))


class _Reading:
    """One walk over the parser's tokens."""

    def __init__(self, tokens: "list[Token]") -> None:
        self._tokens, self._at = tokens, 0

    def blocks(self, depth: int, *, quoted: bool) -> tuple[Block, ...]:
        """The blocks up to the end of whatever is open. `depth` is that of the next list."""
        found: list[Block] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token.nesting < 0:
                break
            found += self._block(token, depth, quoted)
        return tuple(found)

    def _block(self, token: "Token", depth: int, quoted: bool) -> tuple[Block, ...]:
        match token.type:
            case "paragraph_open" | "heading_open":
                inner = self._inline()
                if not inner:
                    return ()
                return (Heading(inner, int(token.tag[1:])) if token.type == "heading_open" else Paragraph(inner),)
            case "fence" | "code_block":
                language = _LANGUAGE.match(token.info.strip())
                return (Fence(token.content.rstrip("\n"), language.group() if language else ""),)
            case "hr":
                return (Paragraph((PlainWords(RULE),)),)
            case "table_open":
                return (_table(self._rows()),)
            case "blockquote_open":
                inner_blocks = self.blocks(depth=0, quoted=True)
                return inner_blocks if quoted or not inner_blocks else (Quote(inner_blocks),)
            case _:
                return self._items(depth, quoted)

    def _items(self, depth: int, quoted: bool) -> tuple[Block, ...]:
        """The items of a list, flat: blocks between lists within an item continue it."""
        found: list[Block] = []
        while (token := self._next()).type == "list_item_open":
            mark = f"{token.info}{token.markup}" if token.info else "•"
            run: list[Block] = []
            for block in _boxed(self.blocks(depth + 1, quoted=quoted)):
                if not isinstance(block, ListItem):
                    run.append(block)
                    continue
                if run or mark:
                    found.append(ListItem(tuple(run), mark, depth))
                found.append(block)
                mark, run = "", []
            if run or mark:
                found.append(ListItem(tuple(run), mark, depth))
        return tuple(found)

    def _inline(self) -> tuple[Inline, ...]:
        children = self._next().children or []
        self._at += 1
        return trimmed(trimmed(_Inlines(children).read(frozenset()), 0), -1)

    def _rows(self) -> list[list[tuple[Inline, ...]]]:
        rows: list[list[tuple[Inline, ...]]] = []
        while (token := self._next()).type != "table_close":
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append(_Inlines(token.children or []).read(frozenset()))
        return rows

    def _next(self) -> "Token":
        self._at += 1
        return self._tokens[self._at - 1]


def _boxed(item: tuple[Block, ...]) -> tuple[Block, ...]:
    """An item of a list of tasks with a box that shows whether it is done (GitHub Flavored Markdown, 5.3)."""
    match item:
        case (Paragraph(inner=(PlainWords(text=text), *others)), *blocks) if found := _TASK.match(text):
            box = PlainWords(f"{_EMPTY if found[1] == ' ' else _DONE} {text[found.end() :]}")
            return (Paragraph((box, *others)), *blocks)
        case _:
            return item


def _table(rows: list[list[tuple[Inline, ...]]]) -> Table:
    lines = columns([[" ".join(plain_line(cell).split()) for cell in row] for row in rows])
    return Table(tuple(tuple(row) for row in rows), lines)


class _Inlines:
    """One walk over the tokens within a line."""

    def __init__(self, tokens: "list[Token]") -> None:
        self._tokens, self._at = tokens, 0

    def read(self, on: frozenset[Style]) -> tuple[Inline, ...]:
        """What stands here up to the end of the open mark; `on` are the styles around it."""
        found: list[Inline] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token.nesting < 0:
                break
            for one in self._one(token, on):
                _join(found, one)
        return tuple(found)

    def _one(self, token: "Token", on: frozenset[Style]) -> tuple[Inline, ...]:
        match token.type:
            case "softbreak" | "hardbreak":
                return (PlainWords("\n"),)
            case "code_inline":
                return (Code(token.content),) if token.content else ()
            case "image":
                alt = plain_line(_Inlines(token.children or []).read(on)).strip()
                return _linked((PlainWords(alt or "picture"),), str(token.attrs["src"]))
            case "link_open":
                return _linked(self.read(on), str(token.attrs["href"]))
            case "strong_open" | "em_open" if token.markup[0] == "*" and self._within_a_word(token):
                return (PlainWords(token.markup), *self.read(on), PlainWords(token.markup))
            case "strong_open" | "em_open" | "s_open":
                style = Style(token.tag)
                inner = self.read(on | {style})
                return inner if style in on or not inner else (Span(style, inner),)
            case _:
                return (PlainWords(token.content),) if token.content else ()

    def _within_a_word(self, opening: "Token") -> bool:
        """Whether letters or digits touch the marks from outside on both sides: `2*3*4` is a product."""
        ahead = range(self._at, len(self._tokens))
        end = next(at for at in ahead if self._tokens[at].nesting < 0 and self._tokens[at].level == opening.level)
        before = self._tokens[self._at - 2].content[-1:] if self._at > 1 else ""
        after = self._tokens[end + 1].content[:1] if end + 1 < len(self._tokens) else ""
        return before.isalnum() and after.isalnum()


def _join(found: list[Inline], one: Inline) -> None:
    """Neighbours of one kind become one, or their marks would touch."""
    match (found[-1] if found else None), one:
        case PlainWords(text=before), PlainWords(text=after):
            found[-1] = PlainWords(before + after)
        case Span() as before_span, Span() as after_span if before_span.style == after_span.style:
            inner = list(before_span.inner)
            for each in after_span.inner:
                _join(inner, each)
            found[-1] = Span(before_span.style, tuple(inner))
        case _:
            found.append(one)


def _linked(inner: tuple[Inline, ...], url: str) -> tuple[Inline, ...]:
    shown = inner or (PlainWords(url),)
    if _LINKABLE.match(url):
        return (MarkupLink(shown, url),)
    return (*inner, PlainWords(f" ({shorten(url, 200)})" if inner else shorten(url, 200)))
