"""How people see bytes move: a bar where they look, a line now and then where they do not, nothing below a second."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from angelia.core.text import one_line
from angelia.core.visible import visible
from angelia.faces.words.output import canvas, echo
from angelia.service.files.transfers import Told, in_words

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_EVERY = 5.0
"""Seconds between two lines where nobody looks."""


@contextmanager
def moving(name: str) -> Iterator[Told]:
    """What tells about one file; the bar is gone when it is done."""
    called = one_line(visible(name), 40)
    if not sys.stderr.isatty():
        yield _Lines(called)
        return
    bar = _Bar(called)
    try:
        yield bar
    finally:
        bar.close()


class _Lines:
    def __init__(self, name: str) -> None:
        self._say = in_words(name, _line)
        self._last = 0.0

    def __call__(self, done: int, size: int) -> None:
        if done == size or time.monotonic() - self._last >= _EVERY:
            self._last = time.monotonic()
            self._say(done, size)


def _line(text: str) -> None:
    echo(f"angelia: {text}", err=True)


class _Bar:
    def __init__(self, name: str) -> None:
        self._name = name
        self._progress: Progress | None = None
        self._task: TaskID

    def __call__(self, done: int, size: int) -> None:
        if self._progress is None:
            self._progress, self._task = _begun(self._name, size)
        self._progress.update(self._task, completed=done)

    def close(self) -> None:
        """Take it away."""
        if self._progress is not None:
            self._progress.stop()


def _begun(name: str, size: int) -> "tuple[Progress, TaskID]":
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    console = Console(file=canvas())
    progress = Progress(
        *columns,
        TimeRemainingColumn(),
        console=console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    progress.start()
    return progress, progress.add_task(name, total=size)
