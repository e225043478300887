"""Whether what was permitted for a time holds now, by clocks that may have been wrong."""

from angelia.core.days import DAY_MS

CLOCKS_DIFFER_MS = DAY_MS
"""By how much two looks at a clock may contradict each other and both count: machines differ, and are set right."""


def holds(begun: int, until: int, now: int) -> bool:
    """Whether a term holds that began and ends at these moments. Not after its end, and not before its beginning: then
    the clock was ahead when it began, and it would hold until long after its time; or it is behind now.

    >>> day = 86_400_000
    >>> holds(10 * day, 40 * day, 39 * day), holds(10 * day, 40 * day, 40 * day), holds(400 * day, 430 * day, 10 * day)
    (True, False, False)
    """
    return begun - CLOCKS_DIFFER_MS <= now < until
