"""How long to wait before the next try: longer each time, up to a bound, and never in step with others."""

import random

LONGEST = 30.0
"""Seconds between two tries, at most."""

_DOUBLINGS = 20
"""More would be beyond any bound; and a power of two that nothing holds down is no float any more after 1023."""


def growing_pause(pause: float, failures: int, longest: float = LONGEST) -> float:
    """Seconds to wait after so many failures in a row, of any number: an outage may last for days.

    >>> 15.0 <= growing_pause(1.0, 100_000) <= 30.0
    True
    """
    whole: float = min(pause * 2.0 ** min(failures, _DOUBLINGS), longest)
    return whole * random.uniform(0.5, 1.0)  # noqa: S311 - nothing secret depends on it
