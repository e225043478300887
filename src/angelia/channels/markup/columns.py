"""Tables as text in columns, for networks that have no tables."""

from collections.abc import Sequence

import wcwidth


def columns(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """A table's rows as text, the head's underlined; rows are equally long.

    >>> for row in columns([["a", "bc"], ["def", "g"]]):
    ...     print(row)
    a   │ bc
    ────┼───
    def │ g
    """
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = [" │ ".join(_padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return (f"{lines[0]}\n{'─┼─'.join('─' * width for width in widths)}", *lines[1:])


def widest(lines: Sequence[str]) -> int:
    """The columns that the widest line takes."""
    return max(_width(line) for part in lines for line in part.split("\n"))


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - _width(cell))


def _width(cell: str) -> int:
    return len(cell) if cell.isascii() else wcwidth.width(cell, control_codes="ignore")
