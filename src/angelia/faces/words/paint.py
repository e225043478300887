"""Lines as a terminal shows them: a mark for each tone, colours by their meaning, Markdown for replies."""

import os
import shutil
import sys
from collections.abc import Sequence
from typing import TextIO

from angelia.core.visible import visible
from angelia.faces.words import colours
from angelia.faces.words.output import Painted
from angelia.faces.words.transcript_lines import Tone, TranscriptLine
from angelia.faces.words.widths import broken

_MARKS: dict[Tone, tuple[str, str, str]] = {
    Tone.PERSON: ("› ", colours.STRONG, colours.PERSON),
    Tone.THOUGHT: ("∴ ", colours.QUIET, colours.QUIET),
    Tone.STARTED: ("▸ ", colours.RUNS, colours.TEXT),
    Tone.DONE: ("✔ ", colours.DONE, colours.TEXT),
    Tone.FAILED: ("✘ ", colours.FAILED, colours.TEXT),
    Tone.QUESTION: ("? ", colours.ASKS, colours.ASKS),
    Tone.NOTE: ("· ", colours.QUIET, colours.QUIET),
    Tone.TABLE: ("  ", colours.TEXT, colours.TEXT),
    Tone.WARNING: ("! ", colours.WARNS, colours.TEXT),
}
"""Mark, its colour and the text's; of a question, its first line's."""

_WORDS: dict[Tone, str] = {
    Tone.PERSON: "You: ",
    Tone.STARTED: "Running: ",
    Tone.DONE: "Done: ",
    Tone.FAILED: "Failed: ",
    Tone.QUESTION: "Question: ",
    Tone.WARNING: "Note: ",
    Tone.OUTPUT: "  ",
    Tone.DIFF: "  ",
    Tone.TABLE: "  ",
}
"""What stands for the marks where nothing but words is wanted, as by whoever has them read aloud."""

_DIFF = {"+": colours.DONE, "-": colours.FAILED, "@": colours.QUIET}
"""The colour of a line's sign."""

_OUTPUT = "  ┆ "
"""Before what a call wrote."""


class Paint:
    """Turns lines into text for one stream. Whatever a model or a file says is visible first.

    `colour`: with colours. `renders`: Markdown is rendered, and lines are broken between words; without it they are
    as they were written, for whatever reads them next.
    """

    def __init__(self, *, colour: bool, columns: int = 0, renders: bool | None = None) -> None:
        self.colour = colour
        self._columns = columns
        self.renders = colour if renders is None else renders
        self._marks = True

    @classmethod
    def of(cls, stream: TextIO) -> "Paint":
        """Colours where a person looks and does not mind them (https://no-color.org)."""
        renders = stream.isatty() and os.environ.get("TERM") != "dumb"
        return cls(colour=renders and not os.environ.get("NO_COLOR"), renders=renders)

    @classmethod
    def in_words(cls) -> "Paint":
        """Words alone, line after line: for a terminal that can do no more, and for readers of screens."""
        paint = cls(colour=False, renders=False)
        paint._marks = False
        return paint

    @property
    def columns(self) -> int:
        """The terminal's width now."""
        return self._columns or shutil.get_terminal_size().columns

    def line(self, line: TranscriptLine) -> Painted:
        """The text of one line, ended by a newline."""
        if not self._marks:
            first, *more = _shown(line.text).splitlines() or [""]
            before = _WORDS.get(line.tone, "")
            rows = [f"{before}{first}", *(f"{'  ' if before else ''}{row}" for row in more)]
            return self._rows("", [Painted(row) for row in rows])
        match line.tone:
            case Tone.REPLY | Tone.REPLY_GOES_ON:
                return self.markdown(line.text)
            case Tone.DIFF:
                return self._rows("    ", [self._diff(row) for row in _shown(line.text).splitlines()])
            case Tone.OUTPUT:
                rows = [row for one in _shown(line.text).splitlines() for row in self._broken(one, len(_OUTPUT))]
                return self._rows(self.style(_OUTPUT, colours.QUIET), [self.style(row, "") for row in rows])
            case tone:
                mark, colour, style = _MARKS[tone]
                title, *below = _shown(line.text).splitlines() or [""]
                lower = colours.TEXT if tone is Tone.QUESTION else style
                rows = [self.style(row, style) for row in self._broken(title, len(mark))]
                rows += [self.style(row, lower) for one in below for row in self._broken(one, len(mark))]
                first, *more = rows
                head = self.style(mark, colour) + first
                return self._rows("", [Painted(head), *(Painted(f"  {row}") for row in more)])

    def _broken(self, line: str, margin: int) -> list[str]:
        return broken(line, max(self.columns - margin, 20)) if self.renders else [line]

    def _diff(self, row: str) -> Painted:
        """Only the sign has a colour: what is read is in the terminal's own."""
        sign, rest = (row[:1], row[1:]) if row[:1] in _DIFF else ("", row)
        if sign == "@":
            return self.style(row, colours.QUIET)
        return Painted(self.style(sign, _DIFF.get(sign, "")) + self.style(rest, "" if sign else colours.QUIET))

    @staticmethod
    def _rows(before: str, rows: Sequence[Painted]) -> Painted:
        return Painted("".join(f"{before}{row}\n" for row in rows))

    def markdown(self, text: str) -> Painted:
        """A reply, rendered for a person and as it was written for anything else."""
        if not self.renders:
            return Painted(_shown(text) + "\n")
        from angelia.faces.words.markdown import markdown_rows

        rows = markdown_rows(_shown(text), self.columns)
        return self._rows("", [Painted("".join(self.style(*reversed(piece)) for piece in row)) for row in rows])

    def style(self, text: str, parameters: str) -> Painted:
        """Some text in a colour, or without one."""
        text = _shown(text)
        return Painted(f"\x1b[{parameters}m{text}\x1b[0m" if self.colour and parameters and text else text)


def _shown(text: str) -> str:
    """What is coloured is visible first; the ends of lines are newlines, wherever they were written."""
    return visible(text.replace("\r\n", "\n"))


def screen() -> Paint:
    """Paint for what goes to stdout."""
    return Paint.of(sys.stdout)
