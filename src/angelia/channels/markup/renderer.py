"""Markdown, as the messages of one network: written in its dialect, each within its limit and valid on its own.

Pure, total and deterministic. The plain texts of the messages, joined, are the plain text of the whole, white space at
the cuts aside.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from angelia.channels.capabilities import Capabilities, Units
from angelia.channels.markup.cut_points import best_place
from angelia.channels.markup.cutting import Blocks, beginning, cut, joined, marked_gap, plain_block, without_links
from angelia.channels.markup.dialect import Dialect, HasTables
from angelia.channels.markup.narrow import narrowed
from angelia.channels.markup.reader import literally, read_markdown
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
)


class Rendered(Struct, frozen=True):
    """One message: `marked` in the dialect, `plain` for a network that refuses the markup."""

    marked: str
    plain: str


def render(markdown: str, dialect: Dialect, capabilities: Capabilities) -> tuple[Rendered, ...]:
    """The messages that a text makes; none for white space."""
    return render_within(markdown, dialect, capabilities.text_limit, capabilities.units)


def render_within(markdown: str, dialect: Dialect, limit: int, units: Units) -> tuple[Rendered, ...]:
    """The same under another limit, such as a caption's. A limit too small for a letter and its marks is overrun."""
    return _Writing(dialect, limit, units).messages(read_markdown(markdown))


def render_blocks(blocks: Blocks, dialect: Dialect, capabilities: Capabilities) -> tuple[Rendered, ...]:
    """The messages that blocks make, which somebody put together without Markdown."""
    return _Writing(dialect, capabilities.text_limit, capabilities.units).messages(blocks)


def measure(text: str, units: Units) -> int:
    """The length of a text as a network counts it."""
    match units:
        case Units.CHARACTERS:
            return len(text)
        case Units.UTF16:
            return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
        case Units.BYTES:
            return len(text.encode("utf-8", "surrogatepass"))


class _Written(Struct, frozen=True):
    """A block with its texts. `size` is what the longer one takes: the plain text goes where markup is refused."""

    block: Block
    marked: str
    plain: str
    size: int


class _Writing:
    """A dialect with a limit."""

    def __init__(self, dialect: Dialect, limit: int, units: Units) -> None:
        self._dialect = dialect
        self._limit = limit
        self._units = units

    def messages(self, blocks: Blocks) -> tuple[Rendered, ...]:
        """Blocks, written and split; the blank lines of a fence are no message of their own."""
        if not isinstance(self._dialect, HasTables):
            blocks = tuple(one for block in blocks for one in narrowed(block))
        return tuple(one for one in map(self._message, self._pieces(blocks)) if one.plain.strip())

    def _message(self, written: "list[_Written]") -> Rendered:
        blocks = [one.block for one in written]
        marked = (
            self._marked(blocks)
            if isinstance(blocks[0], ListItem)
            else joined(blocks, [one.marked for one in written], marked_gap)
        )
        return Rendered(marked, joined(blocks, [one.plain for one in written]).strip("\n").rstrip())

    def _marked(self, blocks: Sequence[Block]) -> str:
        """Blocks in the dialect; a list that goes on from an earlier message begins at its margin."""
        margin = blocks[0].depth if blocks and isinstance(blocks[0], ListItem) else 0
        written = []
        for block in blocks:
            margin = margin if isinstance(block, ListItem) else 0
            written.append(self._block(block, margin))
        return joined(blocks, written, marked_gap)

    def _pieces(self, blocks: Blocks) -> "list[list[_Written]]":
        """Blocks, in as many runs as they need."""
        found: list[list[_Written]] = []
        rest = list(reversed(blocks))
        run: list[_Written] = []
        used = 0
        while rest:
            block = rest.pop()
            between = len(marked_gap(run[-1].block, block)) if run else 0
            one = self._written(block)
            if used + between + one.size <= self._limit:
                run.append(one)
                used += between + one.size
                continue
            first, left = self._split(block, self._limit - used - between, one.size, fresh=not run)
            rest += reversed(left)
            if not first and len(run) > 1 and isinstance(run[-1].block, Heading):
                rest.append(run.pop().block)  # a heading goes with what it stands over
            found.append(run + [self._written(each) for each in first])
            run, used = [], 0
        return [*found, run] if run else found

    def _split(self, block: Block, space: int, size: int, *, fresh: bool) -> tuple[Blocks, Blocks]:
        """What of a block still goes into this message, and what is left. A fresh message always takes some of it; one
        that is half full leaves whole what fits the next, and so does any for what is not mere words.
        """
        whole = size <= self._limit and (space <= self._limit // 2 or not isinstance(block, Paragraph))
        if not fresh and (whole or space <= self._limit // 4):
            return (), (block,)
        first, left = self._cut_to(block, space)
        if first or not fresh:
            return first, left
        for simpler in (without_links(block), *literally(plain_block(block))):
            first, left = self._cut_to(simpler, space)
            if first:
                return first, left
        return (block,), ()

    def _cut_to(self, block: Block, space: int) -> tuple[Blocks, Blocks]:
        text = plain_block(block)
        most = self._most(lambda place: self._fits(cut(block, place)[0], space), min(len(text) - 1, 2 * max(space, 0)))
        least = beginning(block)
        while most > least:
            first, left = cut(block, best_place(text, most, least))
            if first and self._fits(first, space):
                return first, left
            most = most * 3 // 4
        return (), (block,)

    def _most(self, fits: Callable[[int], bool], most: int) -> int:
        """The largest number up to `most` that fits, where smaller ones fit too."""
        low = 0
        while low < most:
            middle = (low + most + 1) // 2
            low, most = (middle, most) if fits(middle) else (low, middle - 1)
        return low

    def _fits(self, blocks: Blocks, space: int) -> bool:
        return all(self._written(block).size <= space for block in blocks)

    def _written(self, block: Block) -> "_Written":
        marked, words = self._block(block, 0), plain_block(block)
        return _Written(block, marked, words, max(measure(marked, self._units), measure(words, self._units)))

    def _block(self, block: Block, margin: int) -> str:
        match block:
            case Paragraph(inner=inner):
                return self._dialect.paragraph(self._line(inner))
            case Heading(inner=inner, level=level):
                return self._dialect.heading(self._line(inner), level)
            case Fence(text=text, language=language):
                return self._dialect.code_block(text, language)
            case Table():
                return self._table(block)
            case Quote(inner=blocks):
                return self._dialect.quote(self._marked(blocks))
            case ListItem(inner=blocks, mark=mark, depth=depth):
                return self._dialect.item(self._marked(blocks), mark, max(0, depth - margin))

    def _table(self, table: Table) -> str:
        if not isinstance(self._dialect, HasTables):
            return self._dialect.code_block("\n".join(table.lines), "")
        return self._dialect.table([[self._line(cell) for cell in row] for row in table.rows], headed=table.headed)

    def _line(self, inner: tuple[Inline, ...]) -> str:
        return "".join([self._inline(one) for one in inner])

    def _inline(self, one: Inline) -> str:
        match one:
            case PlainWords(text=text):
                return self._dialect.text(text)
            case Code(text=text):
                return self._dialect.code(text)
            case MarkupLink(inner=inner, url=url):
                return self._dialect.link(self._line(inner), url)
            case Span(style=style, inner=inner):
                return self._styled(style, self._line(inner))

    def _styled(self, style: Style, words: str) -> str:
        match style:
            case Style.STRONG:
                return self._dialect.strong(words)
            case Style.EMPHASIS:
                return self._dialect.emphasis(words)
            case Style.STRUCK:
                return self._dialect.struck(words)
