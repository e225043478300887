"""A tree of blocks cut in two at a place of its plain text: what is open is closed, and opened again."""

from collections.abc import Callable, Sequence
from itertools import accumulate

from msgspec.structs import replace

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
    Table,
)
from angelia.channels.markup.tree import plain_line as line

Blocks = tuple[Block, ...]
Line = tuple[Inline, ...]


def gap(before: Block, after: Block) -> str:
    """What stands between two blocks."""
    if isinstance(before, Heading) or (isinstance(before, ListItem) and isinstance(after, ListItem)):
        return "\n"
    return "\n\n"


def marked_gap(before: Block, after: Block) -> str:
    """The same with markup: behind what only continues an item, a list begins anew."""
    return "\n\n" if isinstance(before, ListItem) and not before.mark else gap(before, after)


def joined(blocks: Sequence[Block], written: Sequence[str], between: Callable[[Block, Block], str] = gap) -> str:
    """Blocks as they were written, with what stands between them."""
    parts = list(written[:1])
    for index in range(1, len(blocks)):
        parts += (between(blocks[index - 1], blocks[index]), written[index])
    return "".join(parts)


def plain(blocks: Sequence[Block]) -> str:
    """Blocks without markup, as people would type them."""
    return joined(blocks, [plain_block(block) for block in blocks])


def plain_block(block: Block) -> str:
    """One block without markup."""
    match block:
        case Paragraph(inner=inner) | Heading(inner=inner):
            return line(inner)
        case Fence(text=text):
            return text
        case Table(lines=lines):
            return "\n".join(lines)
        case Quote(inner=blocks) | ListItem(inner=blocks):
            return _before(block) + plain(blocks)


def _before(block: Quote | ListItem) -> str:
    if not block.mark:
        return ""
    depth = block.depth if isinstance(block, ListItem) else 0
    return f"{'  ' * depth}{block.mark} "


def beginning(block: Block) -> int:
    """Characters of the plain text that stand for marks, and cannot be parted from what follows them."""
    match block:
        case Quote(inner=blocks) | ListItem(inner=blocks):
            return len(_before(block)) + (beginning(blocks[0]) if blocks else 0)
        case _:
            return 0


def cut(block: Block, at: int) -> tuple[Blocks, Blocks]:
    """A block cut at this place of its plain text, or earlier where that is within a link. White space at the cut goes,
    but for the indentation of code.
    """
    match block:
        case Fence(text=text, language=language):
            left, right = text[:at].rstrip("\n"), text[at:].removeprefix("\n")
            return _kept(Fence(left, language), left.strip()), _kept(Fence(right, language), right.strip())
        case Table():
            return _cut_table(block, at)
        case Paragraph(inner=inner) | Heading(inner=inner):
            before, after = _cut_line(inner, at)
            before, after = trimmed(before, -1), trimmed(after, 0)
            return _kept(replace(block, inner=before), before), _kept(replace(block, inner=after), after)
        case Quote(inner=blocks) | ListItem(inner=blocks):
            head = len(_before(block))
            if at <= head:
                return (), (block,)
            first, rest = cut_blocks(blocks, at - head)
            if not first and rest:
                return (), (block,)
            return (replace(block, inner=first),), _kept(replace(block, inner=rest, mark=""), rest)


def _cut_table(table: Table, at: int) -> tuple[Blocks, Blocks]:
    """Between two rows; what is left has no head."""
    ends = accumulate(len(line) + 1 for line in table.lines)
    first = sum(end - 1 <= at for end in ends)
    before = Table(table.rows[:first], table.lines[:first], table.headed)
    return _kept(before, first), _kept(Table(table.rows[first:], table.lines[first:], not first), table.rows[first:])


def _kept(block: Block, content: object) -> Blocks:
    return (block,) if content else ()


def cut_blocks(blocks: Blocks, at: int) -> tuple[Blocks, Blocks]:
    """Blocks cut at this place of their plain text."""
    begins = 0
    for index, block in enumerate(blocks):
        size = len(plain_block(block))
        if at < begins + size:
            first, rest = cut(block, at - begins) if at > begins else ((), (block,))
            return blocks[:index] + first, rest + blocks[index + 1 :]
        if index + 1 < len(blocks):
            begins += size + len(gap(block, blocks[index + 1]))
    return blocks, ()


def _cut_line(inner: Line, at: int) -> tuple[Line, Line]:
    for index, one in enumerate(inner):
        size = len(line((one,)))
        if at < size:
            first, rest = _cut_one(one, at)
            return inner[:index] + first, rest + inner[index + 1 :]
        at -= size
    return inner, ()


def _cut_one(one: Inline, at: int) -> tuple[Line, Line]:
    if at <= 0:
        return (), (one,)
    match one:
        case MarkupLink():
            return (), (one,)
        case PlainWords(text=text) | Code(text=text):
            return (replace(one, text=text[:at]),), (replace(one, text=text[at:]),)
        case Span(inner=inner):
            first, rest = _cut_line(inner, at)
            return _span(one, first), _span(one, rest)


def _span(span: Span, inner: Line) -> Line:
    return (replace(span, inner=inner),) if inner else ()


def trimmed(inner: Line, end: int) -> Line:
    """Without white space at its beginning (0) or end (-1)."""
    while inner:
        match inner[end]:
            case PlainWords(text=text):
                left = text.lstrip() if end == 0 else text.rstrip()
                changed: Line = (PlainWords(left),) if left else ()
            case Span(inner=within) as span:
                changed = _span(span, trimmed(within, end))
            case other:
                changed = (other,)
        inner = changed + inner[1:] if end == 0 else inner[:-1] + changed
        if changed:
            break
    return inner


def without_links(block: Block) -> Block:
    """The same plain text with addresses as words, so that it can be cut anywhere."""
    match block:
        case Paragraph(inner=inner) | Heading(inner=inner):
            return replace(block, inner=(PlainWords(line(inner)),))
        case Quote(inner=blocks) | ListItem(inner=blocks):
            return replace(block, inner=tuple(map(without_links, blocks)))
        case Fence() | Table():
            return block
