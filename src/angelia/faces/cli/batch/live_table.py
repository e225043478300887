"""A batch while it runs: on a terminal a table that is drawn anew, elsewhere a line for each result."""

import asyncio
import time
from collections.abc import Callable

from angelia.context.usage_meter import cost_words
from angelia.core import entry as e
from angelia.faces.cli.batch.result_words import result_line
from angelia.faces.words import colours
from angelia.faces.words.output import draw, echo, rows_cleared
from angelia.faces.words.paint import Paint
from angelia.faces.words.widths import cut, table
from angelia.service.batches.results import TrialResult
from angelia.service.batches.runner import BatchRunner

_EVERY_S = 0.5
_MOST_RUNNING = 8


class LiveTable:
    """What a person sees of a batch of `total` trials, on standard error."""

    def __init__(self, paint: Paint, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._paint = paint
        self._total = total
        self._clock = clock
        self._began = clock()
        self._drawn = 0

    def tell(self, result: TrialResult, found: bool) -> None:
        """A result came; one that was `found` was told by the run that brought it."""
        if not self._paint.renders and not found:
            echo(result_line(result), err=True)

    async def keep_drawing(self, runner: BatchRunner) -> None:
        """Draw until cancelled."""
        while self._paint.renders:
            self._draw(self.rows(runner))
            await asyncio.sleep(_EVERY_S)

    def clear(self) -> None:
        """Take the table away."""
        self._draw([])

    def _draw(self, rows: list[str]) -> None:
        if self._drawn:
            draw(rows_cleared(self._drawn), err=True)
        for number, row in enumerate(rows):
            draw(self._paint.style(cut(row, self._paint.columns - 1), "" if number else colours.STRONG), err=True)
            echo(err=True)
        self._drawn = len(rows)

    def rows(self, runner: BatchRunner) -> list[str]:
        """A line for all of it, then one for each trial that runs."""
        running = list(runner.running.items())[:_MOST_RUNNING]
        lines = [_running_row(key, list(session.log.entries)) for key, session in running]
        more = len(runner.running) - len(running)
        return [self._all(runner), *table(lines), *([f"and {more} more"] if more > 0 else [])]

    def _all(self, runner: BatchRunner) -> str:
        done = len(runner.results)
        passed = sum(result.passed for result in runner.results)
        cost = cost_words(runner.cost, sum(result.unpriced for result in runner.results))
        parts = [f"{done} of {self._total} done", f"{passed} passed", *([cost] if runner.cost else [])]
        fresh, left = done - runner.found, self._total - done - len(runner.left)
        if fresh > 0 and left > 0:
            parts.append(f"{_span((self._clock() - self._began) / fresh * left)} left")
        if runner.left:
            parts.append(f"{len(runner.left)} without a result")
        return " · ".join(parts)


def _running_row(key: str, entries: list[e.Entry]) -> tuple[str, ...]:
    """A trial that runs: its task, model and step, and what it does."""
    _, task, number, model = key.split(":", 3)
    steps = sum(isinstance(entry.fact, e.ModelAsked) for entry in entries)
    last = entries[-1].fact if entries else None
    match last:
        case e.ModelAsked():
            doing = "the model thinks"
        case e.ToolStarted():
            doing = "a tool runs"
        case e.TurnClosed() | e.DeliveryQueued():
            doing = "is checked"
        case _:
            doing = "begins" if steps == 0 else "goes on"
    name = task if number == "1" else f"{task} ({number})"
    return (f"  {name}", model, f"step {steps}", doing)


def _span(seconds: float) -> str:
    """A span as people say it.

    >>> _span(42), _span(200), _span(8000)
    ('42 s', '3 min', '2 h 13 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
