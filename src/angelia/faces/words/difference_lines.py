"""Two conversations beside each other, in lines: what is alike in one, what is not in full."""

from collections.abc import Iterator, Sequence

from angelia.core.counts import counted
from angelia.core.text import one_line
from angelia.service.replays.differences import LogStep, StepRange

_MOST = 400
"""Characters of a step, unless all of them are wanted."""


def difference_lines(ranges: Sequence[StepRange], *, most: int = _MOST) -> Iterator[str]:
    """A line for each range that is alike, and one for each step that is not; `most` 0 shows steps whole."""
    for one in ranges:
        if one.alike:
            yield f"  {_count(len(one.left))} alike, to {_at(one.left[-1])}{_there(one)}"
            continue
        yield from (f"- {_step(step, most)}" for step in one.left)
        yield from (f"+ {_step(step, most)}" for step in one.right)


def _count(number: int) -> str:
    return counted(number, "step")


def _at(step: LogStep) -> str:
    return f"entry {step.seq}"


def _there(one: StepRange) -> str:
    left, right = one.left[-1].seq, one.right[-1].seq
    return "" if left == right else f" ({right} in the other)"


def _step(step: LogStep, most: int) -> str:
    what = step.what.replace("\n", "\n    ") if not most else one_line(step.what, most)
    return f"{step.seq:>4} {step.by:<7} {what}"
