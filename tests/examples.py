"""How many examples a property is tried on: the same few in every run of the tests, many new ones while soaking.

`ANGELIA_TESTS_EXPLORE` is how many times as many, each run others; whatever fails is printed to be kept as a row
(`@example(…)`), and tried first by the next soak.
"""

import os
from collections import defaultdict
from collections.abc import Iterable
from typing import TypeVar

from hypothesis import settings

TIMES = int(os.environ.get("ANGELIA_TESTS_EXPLORE", "0"))
"""0: fixed examples."""


_Case = TypeVar("_Case")


def some(cases: Iterable[_Case], every: int) -> list[_Case]:
    """Each `every`-th case of a law that others of the same run show too; all of them while soaking."""
    return list(cases)[:: 1 if TIMES else every]


def some_points(points: Iterable[str]) -> list[str]:
    """Of crash points (`name:occurrence`) the first, the last and every twentieth of each name; all while soaking."""
    told, named = list(points), defaultdict[str, list[str]](list)
    for point in told:
        named[point.partition(":")[0]].append(point)
    chosen = {point for each in named.values() for point in (*each[::20], each[-1])}
    return [point for point in told if TIMES or point in chosen]


def examples(usual: int) -> int:
    """`usual` examples, where one costs more than most do."""
    return usual * max(TIMES, 1)


def load_profile() -> None:
    """Before any test is imported, since a decorator takes over what holds then."""
    settings.register_profile("fixed", deadline=None, derandomize=True, database=None, max_examples=100)
    settings.register_profile("explore", deadline=None, print_blob=True, max_examples=examples(100))
    settings.load_profile("explore" if TIMES else "fixed")
