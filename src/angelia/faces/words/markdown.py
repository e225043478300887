"""A reply's Markdown as rows of coloured pieces, for a screen that is so many columns wide."""

import re
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.box import SIMPLE
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, HorizontalRule, Markdown, TableElement
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from angelia.channels.markup.formulas import keep_formulas
from angelia.faces.words.colours import CODE, MARKDOWN
from angelia.faces.words.widths import MOST_WIDTH, cells

_CODE_INDENT = "  "
"""Before each line of code, so that it stands apart without colour too."""

_TASK = re.compile(r"\[([ xX])\] ")

Piece = tuple[str, str]
"""SGR parameters (ECMA-48, 8.3.117), and the text that is so coloured."""


class _LeftHeading(Heading):
    """A heading at the left, bold, instead of a box in the middle."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _Code(CodeBlock):
    """Code in the terminal's own colours, a little to the right, each line as long as it is; in a list or a
    quotation, whose lines have an end, it is wrapped.
    """

    nested_below = 0

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> "_Code":
        """One that knows how wide a reply is."""
        assert isinstance(markdown, _Reply)
        code = cls(token.info.partition(" ")[0] or "text", markdown.code_theme)
        code.nested_below = markdown.columns
        return code

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip("\n")
        coloured = Syntax(code, self.lexer_name, theme=_THEME).highlight(code)
        coloured.rstrip()
        for line in coloured.split(allow_blank=True):
            nested = options.max_width < self.nested_below
            width = max(options.max_width - len(_CODE_INDENT), 1)
            for row in line.wrap(console, width, overflow="fold") if nested else [line]:
                yield from Text.assemble(_CODE_INDENT, row).render(console, end="\n")


class _Rule(HorizontalRule):
    """A short line."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("─" * min(20, options.max_width), style="markdown.hr")


class _Table(TableElement):
    """A table without borders at its sides; where its words do not fit, each row is listed instead: nothing is cut."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        heads = [cell.content for cell in self.header.row.cells] if self.header and self.header.row else []
        rows = [[cell.content for cell in row.cells] for row in self.body.rows] if self.body else []
        widths = [max(_longest_word(cell) for cell in column) for column in zip(heads, *rows, strict=False)]
        if sum(widths) + 3 * len(widths) > options.max_width:
            yield from _listed(heads, rows)
            return
        table = Table(box=SIMPLE, pad_edge=False, show_edge=False, style="markdown.table.border", collapse_padding=True)
        for head, width in zip(heads, widths, strict=True):
            bold = head.copy()
            bold.stylize("markdown.table.header")
            table.add_column(bold, overflow="fold", min_width=width)
        for row in rows:
            table.add_row(*row)
        yield table


def _listed(heads: Sequence[Text], rows: Sequence[Sequence[Text]]) -> Iterator[Text | Padding]:
    for number, row in enumerate(rows):
        if number:
            yield Text("")
        for head, cell in zip(heads, row, strict=False):
            yield Padding(Text.assemble((f"{head.plain}: ", "markdown.table.header"), Text(cell.plain)), (0, 0, 0, 1))


def _longest_word(cell: Text) -> int:
    return max((cells(word) for word in cell.plain.split()), default=0)


class _Reply(Markdown):
    """Markdown as it looks well between other lines."""

    elements = {  # noqa: RUF012 - as rich declares it
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "fence": _Code,
        "code_block": _Code,
        "hr": _Rule,
        "table_open": _Table,
    }

    def __init__(self, text: str, columns: int) -> None:
        super().__init__("", hyperlinks=False)
        self.parsed = _PARSER.parse(text)
        self.columns = columns
        _draw_boxes(self.parsed)


def _draw_boxes(tokens: Sequence[Token]) -> None:
    """What an item of a list of tasks begins with shows whether it is done (GitHub Flavored Markdown, 5.3)."""
    for item, paragraph, words in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if (item.type, paragraph.type) == ("list_item_open", "paragraph_open") and words.children:
            first = words.children[0]
            if found := _TASK.match(first.content):
                first.content = f"{'☐' if found[1] == ' ' else '☑'} {first.content[found.end() :]}"


_PARSER = keep_formulas(MarkdownIt().enable(["strikethrough", "table"]))
"""As rich's own, but for formulas."""
_THEME = ANSISyntaxTheme({kind: Style.parse(style) for kind, style in CODE.items()})
_CONSOLE = Console(
    file=StringIO(), force_terminal=True, highlight=False, legacy_windows=False, theme=Theme(dict(MARKDOWN))
)


def markdown_rows(text: str, columns: int) -> list[list[Piece]]:
    """The rows of some Markdown, none empty at its ends but in code; a row of code may be wider than the screen."""
    columns = min(columns, MOST_WIDTH)
    reply = _Reply(text, columns)
    segments = _CONSOLE.render(reply, _CONSOLE.options.update(width=columns, height=None))
    rows = [_row(line) for line in Segment.split_lines(segments)]
    if [token.type for token in reply.parsed] == ["fence"]:
        return rows
    while rows and not rows[0]:
        rows.pop(0)
    while rows and not rows[-1]:
        rows.pop()
    return rows


def _row(segments: list[Segment]) -> list[Piece]:
    """A row without what is blank at its end, in as few pieces as can be."""
    row: list[Piece] = []
    for segment in segments:
        parameters = _parameters(segment.style) if segment.text.strip() else ""
        if row and row[-1][0] == parameters:
            row[-1] = (parameters, row[-1][1] + segment.text)
        elif segment.text and not segment.control:
            row.append((parameters, segment.text))
    if row:
        row[-1] = (row[-1][0], row[-1][1].rstrip())
    return row if any(text for _, text in row) else []


_ATTRIBUTES: Mapping[str, str] = {"bold": "1", "dim": "2", "italic": "3", "underline": "4", "strike": "9"}


def _parameters(style: Style | None) -> str:
    return ";".join(_each(style)) if style else ""


def _each(style: Style) -> Iterator[str]:
    yield from (code for name, code in _ATTRIBUTES.items() if getattr(style, name))
    if style.color and style.color.number is not None:
        yield str(30 + style.color.number)
