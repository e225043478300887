"""What numbers of passes mean: an interval for a rate, and pass@k; pure."""

from math import comb, sqrt
from typing import NamedTuple

_Z = 1.959963984540054
"""The normal quantile of 97.5 %: two sides of it leave 95 %."""


class Interval(NamedTuple):
    """From where to where a rate lies, both 0 to 1."""

    low: float
    high: float


def wilson(rate: float, count: int) -> Interval:
    """The 95 % interval of a rate that was seen in `count` independent trials.

    Wilson's score interval (E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference",
    JASA 22, 1927): unlike the normal one it is of use for few trials, and for rates of 0 and 1.

    >>> tuple(round(end, 3) for end in wilson(0.5, 10)), wilson(1.0, 0)
    ((0.237, 0.763), Interval(low=0.0, high=1.0))
    """
    if not count:
        return Interval(0.0, 1.0)
    square = _Z * _Z / count
    middle = (rate + square / 2) / (1 + square)
    half = _Z / (1 + square) * sqrt(rate * (1 - rate) / count + square / (4 * count))
    return Interval(max(middle - half, 0.0), min(middle + half, 1.0))


def pass_at(k: int, tries: int, passed: int) -> float:
    """The chance that of `k` tries at a task at least one passes, of which `passed` of `tries` did.

    The unbiased estimate of "Evaluating Large Language Models Trained on Code" (arXiv:2107.03374, 2.1).

    >>> pass_at(1, 4, 1), pass_at(4, 4, 1), round(pass_at(2, 4, 1), 2)
    (0.25, 1.0, 0.5)

    Raises:
        ValueError: fewer tries than `k` were made.
    """
    if not 1 <= k <= tries:
        raise ValueError(f"pass@{k} cannot be estimated; so many tries were made: {tries}")
    return 1.0 - comb(tries - passed, k) / comb(tries, k)
