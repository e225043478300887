"""Where on the screen something stands that was drawn when the window had another width."""

from prompt_toolkit.layout import Window
from prompt_toolkit.layout.screen import Screen


def rows_above_cursor(screen: Screen, window: Window, columns: int) -> int:
    """Rows from the first one of what was drawn to the cursor, in a window that is `columns` wide now.

    A row was written as a line of its own and never wrapped; a terminal that becomes narrower wraps it, and joins it
    again when it becomes wider.
    """
    cursor = screen.get_cursor_position(window)
    return sum(_rows(_cells(screen, y), columns) for y in range(cursor.y)) + cursor.x // columns


def _rows(cells: int, columns: int) -> int:
    return max(-(-cells // columns), 1)


def _cells(screen: Screen, y: int) -> int:
    """Cells of a row up to the last one that was written."""
    row = screen.data_buffer[y]
    written = (x + max(char.width, 1) for x, char in row.items() if char.char != " ")
    return max(written, default=0)
