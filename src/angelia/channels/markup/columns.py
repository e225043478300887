"""Tables as text in columns, for networks that have no tables."""

import wcwidth


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
    return len(cell) if cell.isascii() else wcwidth.width(cell, control_codes="ignore")
