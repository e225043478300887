"""Lines as a terminal shows them: a mark and a colour for each tone, Markdown for replies."""

import os
import shutil
import sys
from io import StringIO
from typing import TYPE_CHECKING, TextIO

from angelia.core.visible import visible
from angelia.faces.words.output import Painted
from angelia.faces.words.transcript_lines import Tone, TranscriptLine

if TYPE_CHECKING:
    from rich.markdown import Markdown

_MARKS: dict[Tone, tuple[str, str, str]] = {
    Tone.PERSON: ("› ", "1;36", "1"),
    Tone.THOUGHT: ("∴ ", "2", "2;3"),
    Tone.STARTED: ("▸ ", "36", "2"),
    Tone.DONE: ("✔ ", "32", ""),
    Tone.FAILED: ("✘ ", "31", ""),
    Tone.QUESTION: ("? ", "1;33", "1"),
    Tone.NOTE: ("· ", "2", "2"),
    Tone.TABLE: ("  ", "", ""),
    Tone.WARNING: ("! ", "1;33", "33"),
}
"""Mark, its colour and the text's, as SGR parameters (ECMA-48, 8.3.117)."""

_DIFF = {"+": "32", "-": "31", "@": "36"}

MOST_WIDTH = 100
"""Columns; longer lines of prose are hard to read."""


class Paint:
    """Turns lines into text for one stream. Whatever a model or a file says is visible first."""

    def __init__(self, *, colour: bool, columns: int = 0) -> None:
        self.colour = colour
        self._columns = columns

    @classmethod
    def of(cls, stream: TextIO) -> "Paint":
        """Colours where a person looks and does not mind them (https://no-color.org)."""
        return cls(colour=stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")

    @property
    def columns(self) -> int:
        """The terminal's width now."""
        return self._columns or shutil.get_terminal_size().columns

    def line(self, line: TranscriptLine) -> Painted:
        """The text of one line, ended by a newline."""
        match line.tone:
            case Tone.REPLY:
                return self.markdown(line.text)
            case Tone.DIFF:
                rows = _shown(line.text).splitlines()
                return Painted("".join(f"    {self.style(row, _DIFF.get(row[:1], '2'))}\n" for row in rows))
            case tone:
                mark, colour, style = _MARKS[tone]
                first, *more = _shown(line.text).splitlines() or [""]
                head = f"{self.style(mark, colour)}{self.style(first, style)}\n"
                return Painted(head + "".join(f"  {self.style(row, style)}\n" for row in more))

    def markdown(self, text: str) -> Painted:
        """A reply, rendered where there are colours and as it was written where there are none."""
        if not self.colour:
            return Painted(_shown(text) + "\n")
        from rich.console import Console

        out = StringIO()
        width = min(self.columns, MOST_WIDTH)
        console = Console(file=out, force_terminal=True, width=width, highlight=False, legacy_windows=False)
        console.print(_markdown(_shown(text)))
        rows = [row.rstrip() for row in out.getvalue().splitlines()]
        return Painted("\n".join(rows).strip("\n") + "\n")

    def style(self, text: str, parameters: str) -> Painted:
        """Some text in a colour, or without one."""
        text = _shown(text)
        return Painted(f"\x1b[{parameters}m{text}\x1b[0m" if self.colour and parameters and text else text)


def _shown(text: str) -> str:
    """What is coloured is visible first; the ends of lines are newlines, wherever they were written."""
    return visible(text.replace("\r\n", "\n"))


def _markdown(text: str) -> "Markdown":
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import CodeBlock, Heading, Markdown
    from rich.padding import Padding
    from rich.syntax import Syntax
    from rich.text import Text

    class LeftHeading(Heading):
        """A heading at the left, bold, instead of a box in the middle."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            self.text.justify = "left"
            yield Text("")
            yield self.text

    class Code(CodeBlock):
        """Code in the terminal's own colours, a little to the right, without blank lines of our own."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            code = str(self.text).rstrip()
            syntax = Syntax(code, self.lexer_name, theme="ansi_dark", background_color="default", word_wrap=True)
            yield Padding(syntax, (0, 0, 0, 2))

    class Reply(Markdown):
        """Markdown as it looks well between other lines."""

        elements = {**Markdown.elements, "heading_open": LeftHeading, "fence": Code, "code_block": Code}  # noqa: RUF012 - as rich declares it

    return Reply(text, hyperlinks=False)


def screen() -> Paint:
    """Paint for what goes to stdout."""
    return Paint.of(sys.stdout)
