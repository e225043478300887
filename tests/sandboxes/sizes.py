"""How much the checks of the kit move in our tests."""

from angelia.testing.sandboxes.acts import FULL, MB, Sizes
from tests.examples import TIMES

SIZES = FULL if TIMES else Sizes(sparse=128 * MB, real=64 * MB, output=128 * MB, files=1_000, races=20)
"""More than a transfer may take of memory, some times; `make soak` moves the full ones."""
