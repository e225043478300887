"""What set-up says: a heading, steps in numbers, what went well, and what went wrong."""

import sys
from collections.abc import Sequence

from msgspec import Struct

from angelia.faces.words.output import asked, draw, echo
from angelia.faces.words.paint import Paint, screen
from angelia.faces.words.widths import MOST_WIDTH, wrapped


class Option(Struct, frozen=True):
    """Something that can be chosen: its name, and what speaks for it."""

    name: str
    about: str = ""


def picked(question: str, options: Sequence[Option], usual: int = 0) -> int:
    """Ask for one of these by its number; Enter takes the `usual` one. The index of what was chosen."""
    heading(question)
    numbered(option_lines(options))
    echo()
    while True:
        typed = asked("Number", usual=str(usual + 1)).strip()
        if typed.isdecimal() and 0 < int(typed) <= len(options):
            return int(typed) - 1
        failed(f"There are 1 to {len(options)}.")


def option_lines(options: Sequence[Option]) -> list[str]:
    """How options are listed.

    >>> option_lines([Option("edit", "works freely"), Option("plan")])
    ['edit · works freely', 'plan']
    """
    return [f"{one.name} · {one.about}" if one.about else one.name for one in options]


def heading(text: str) -> None:
    """A bold line with space around it."""
    paint = screen()
    echo()
    draw(paint.style(text, "1"))
    echo("\n")


def numbered(steps: Sequence[str]) -> None:
    """Steps, each with its number."""
    paint = screen()
    for number, step in enumerate(steps, 1):
        _hanging(f"{number}", "1;36", step, paint)


def paragraph(text: str) -> None:
    """Some sentences."""
    for line in _broken(text, 0):
        echo(line)


def done(text: str) -> None:
    """Something went well."""
    _hanging("✔", "32", text, screen())


def failed(text: str) -> None:
    """Something went wrong."""
    _hanging("✘", "31", text, screen())


def note(text: str) -> None:
    """Something worth knowing."""
    _hanging("·", "2", text, screen())


def _hanging(mark: str, colour: str, text: str, paint: Paint) -> None:
    """A text with its mark before the first line; a terminal's lines are broken between words."""
    lines = _broken(text, 2)
    draw(paint.style(mark, colour))
    echo(f" {lines[0] if lines else ''}")
    for line in lines[1:]:
        echo(f"  {line}")


def _broken(text: str, indent: int) -> list[str]:
    if not sys.stdout.isatty():
        return text.splitlines()
    width = min(screen().columns, MOST_WIDTH) - indent
    return [line for part in text.splitlines() for line in wrapped(part, width)]
