"""How many examples a property is tried on: the same few in every run of the tests, many new ones while soaking.

`ANGELIA_TESTS_EXPLORE` is how many times as many, each run others; whatever fails is printed to be kept as a row
(`@example(…)`), and tried first by the next soak.
"""

import os

from hypothesis import settings

TIMES = int(os.environ.get("ANGELIA_TESTS_EXPLORE", "0"))
"""0: fixed examples."""


def examples(usual: int) -> int:
    """`usual` examples, where one costs more than most do."""
    return usual * max(TIMES, 1)


def load_profile() -> None:
    """Before any test is imported, since a decorator takes over what holds then."""
    settings.register_profile("fixed", deadline=None, derandomize=True, database=None, max_examples=100)
    settings.register_profile("explore", deadline=None, print_blob=True, max_examples=examples(100))
    settings.load_profile("explore" if TIMES else "fixed")
