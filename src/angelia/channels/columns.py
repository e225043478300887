"""Tables as text in columns, for networks that have no tables."""

import unicodedata


def columns(rows: list[list[str]]) -> str:
    """A table, its head underlined; rows are equally long.

    >>> print(columns([["a", "bc"], ["def", "g"]]))
    a   │ bc
    ────┼───
    def │ g
    """
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = [" │ ".join(_padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "─┼─".join("─" * width for width in widths), *lines[1:]])


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - _width(cell))


def _width(cell: str) -> int:
    """Columns of a terminal: wide letters take two (Unicode Annex 11), marks on others none."""
    if cell.isascii():
        return len(cell)
    return sum(0 if unicodedata.combining(sign) else 1 + (unicodedata.east_asian_width(sign) in "WF") for sign in cell)
