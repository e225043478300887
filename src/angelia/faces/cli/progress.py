"""One line on stderr while something takes longer than a person likes to wait unknowing."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from angelia.faces.words.output import LINE_CLEARED, draw, echo

PATIENCE = 0.7
"""Seconds before anything is said."""


@contextmanager
def working(what: str) -> Iterator[None]:
    """Say `what` if it takes long and a person looks; the line is gone when it is done."""
    if not sys.stderr.isatty():
        yield
        return
    said = threading.Event()

    def say() -> None:
        said.set()
        echo(f"{what}…", err=True, end="")

    timer = threading.Timer(PATIENCE, say)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if said.is_set():
            draw(LINE_CLEARED, err=True)
