"""One line on stderr while something takes longer than a person likes to wait unknowing."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from angelia.core.text import one_line
from angelia.faces.words.output import LINE_CLEARED, draw, echo

PATIENCE = 0.7
"""Seconds before anything is said."""

_TICK = 1.0
_COUNTED = 3
"""Seconds after which it is said how long it takes."""


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Say `what` if it takes long and a person looks, then how long it takes; the line is gone when it is done.

    What it yields says how far it is.
    """
    if not sys.stderr.isatty():
        yield lambda told: None
        return
    shown = _GrowingLine(what)
    thread = threading.Thread(target=shown.run, daemon=True)
    thread.start()
    try:
        yield shown.tell
    finally:
        shown.over.set()
        thread.join()


def line(what: str, far: str, seconds: int) -> str:
    """What is done, how far it is, and for how long, once that is worth saying.

    >>> line("painting", "", 1), line("painting", "queued, 2 before it", 12)
    ('painting', 'painting, queued, 2 before it, 12 s')
    """
    return ", ".join(part for part in (what, far, f"{seconds} s" if seconds >= _COUNTED else "") if part)


class _GrowingLine:
    def __init__(self, what: str) -> None:
        self.over = threading.Event()
        self._what, self._far = what, ""

    def tell(self, told: str) -> None:
        """See `working`; drawn with the next second."""
        self._far = one_line(told, 200)

    def run(self) -> None:
        from angelia.faces.words.paint import screen
        from angelia.faces.words.widths import cut

        began, wait = time.monotonic(), PATIENCE
        said = False
        while not self.over.wait(wait):
            text = cut(line(self._what, self._far, round(time.monotonic() - began)), screen().columns - 2)
            if said:
                draw(LINE_CLEARED, err=True)
            echo(f"{text}…", err=True, end="")
            said, wait = True, _TICK
        if said:
            draw(LINE_CLEARED, err=True)
