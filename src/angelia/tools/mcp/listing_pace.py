"""How soon a server's lists are asked for again: at once, and later each time where it tells of changes without end.

Some servers tell of a change whenever they are asked for a list, and would be asked a thousand times a second.
"""

import time

PAUSES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""Seconds before the next listing, the last one again and again."""

QUIET_S = 60.0
"""Seconds without a change after which the next one counts as the first."""


class ListingPace:
    """That of one connection."""

    def __init__(self) -> None:
        self._changes = 0
        self._listed = time.monotonic()

    def pause(self) -> float:
        """Seconds to wait, now that something is said to have changed."""
        if time.monotonic() - self._listed > QUIET_S:
            self._changes = 0
        pause = PAUSES[min(self._changes, len(PAUSES) - 1)]
        self._changes += 1
        return pause

    def listed(self) -> None:
        """The lists were read."""
        self._listed = time.monotonic()
