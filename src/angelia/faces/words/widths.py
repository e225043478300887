"""Text in the columns of a screen, as wcwidth counts them: broken into lines, cut, set as a table."""

from collections.abc import Sequence

import wcwidth

from angelia.core.visible import visible_line

LEAST_WIDTH = 24
"""Columns; where fewer are left for the last cell of a table, it stands below the others."""
MOST_WIDTH = 100
"""Columns; longer lines of prose are hard to read."""


def cells(text: str) -> int:
    """Columns that a text takes: two for wide characters, none for combining ones.

    >>> cells("Öl"), cells("日本"), cells("e\u0301")
    (2, 4, 1)
    """
    return len(text) if text.isascii() else wcwidth.width(text, control_codes="ignore")


def wrapped(text: str, columns: int) -> list[str]:
    r"""Lines of at most `columns` cells, broken at spaces where there are any; no line for an empty text.

    >>> wrapped("one two three", 8), wrapped("日本語日本語", 5)
    (['one two', 'three'], ['日本', '語日', '本語'])
    """
    columns = max(columns, 2)
    lines: list[str] = []
    for paragraph in text.replace("\t", "    ").split("\n") if text else []:
        rest = paragraph
        while cells(rest) > columns:
            end = _fitting(rest, columns)
            space = rest.rfind(" ", 0, end + 1)
            at = space if space > 0 and rest[:space].strip() else end
            lines.append(rest[:at])
            rest = rest[at:].removeprefix(" ")
        lines.append(rest)
    return lines


def _fitting(text: str, columns: int) -> int:
    """How many characters fit, at least those of the first sign: what is seen as one is not cut in two."""
    at = used = 0
    for sign in wcwidth.iter_graphemes(text):
        used += cells(sign)
        if used > columns and at:
            break
        at += len(sign)
    return at


def broken(line: str, columns: int, indent: int = 0) -> list[str]:
    r"""The rows of one line, broken between words; a word that is wider than a row stays whole, so that it can be
    copied. The rows after the first stand as far to the right as the line began, and `indent` cells more.

    >>> broken("  one two three", 9), broken("a " + "x" * 9, 5), broken("one two", 5, 2)
    (['  one two', '  three'], ['a', 'xxxxxxxxx'], ['one', '  two'])
    """
    if cells(line) <= columns:
        return [line]
    words = line.lstrip(" ")
    begun = " " * min(len(line) - len(words), columns // 2)
    rows, row = [], begun
    for word in words.split(" "):
        if row.strip() and cells(row) + 1 + cells(word) > columns:
            rows.append(row)
            row = begun + " " * indent + word
        else:
            row = f"{row} {word}" if row.strip() else row + word
    return [*rows, row]


def cut(text: str, columns: int) -> str:
    """At most `columns` cells, with an ellipsis where something is left out.

    >>> cut("abcdef", 4), cut("abc", 4)
    ('abc…', 'abc')
    """
    return text if cells(text) <= columns else text[: _fitting(text, max(columns - 1, 1))] + "…"


def table(rows: Sequence[Sequence[str]], columns: int = 0) -> list[str]:
    """Rows under each other, visible.

    The last cell of each is broken between words where a row would be wider than `columns` (0: never), and goes on
    in its own column; where that is narrow, it stands below the others.

    >>> table([("ab", "one two three")], 4 + LEAST_WIDTH), table([("ab", "one " * 7)], 3 + LEAST_WIDTH)
    (['ab  one two three'], ['ab', '    one one one one one one', '    one'])
    """
    if not rows:
        return []
    rows = [[visible_line(cell) for cell in row] for row in rows]
    widths = [max(cells(row[index]) for row in rows) for index in range(len(rows[0]))]
    lines = []
    for row in rows:
        *padded, last = (cell + " " * (width - cells(cell)) for cell, width in zip(row, widths, strict=True))
        head = "".join(f"{cell}  " for cell in padded)
        if not columns or cells(head) + widths[-1] <= columns:
            lines.append(f"{head}{last}".rstrip())
        elif columns - cells(head) < LEAST_WIDTH:
            below = [f"    {part}" for part in broken(last.rstrip(), columns - 4)]
            lines += [*broken("  ".join(row[:-1]), columns), *below]
        else:
            first, *more = broken(last.rstrip(), columns - cells(head))
            lines += [f"{head}{first}".rstrip(), *(" " * cells(head) + part for part in more)]
    return lines
