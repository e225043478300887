"""How long to wait before a stream of news that was cut is opened again: longer each time that it brought nothing."""

import time

PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds, the last one again and again: news wait so long at most once a site is back."""

HELD_S = 600.0
"""One that held this long was well: what cuts it is a first failure again."""


class Reopening:
    """The pauses of one stream. `opened` and `heard` are called when it stands, and when it brings something; `tries`
    counts the pauses since.
    """

    def __init__(self) -> None:
        self.tries = 0
        self._since = time.monotonic()

    def opened(self) -> None:
        """It stands."""
        self._since = time.monotonic()

    def heard(self) -> None:
        """It has brought something."""
        self.tries = 0

    def pause(self) -> float:
        """Seconds to wait now that it was cut, or could not be opened."""
        if time.monotonic() - self._since > HELD_S:
            self.tries = 0
        pause = PAUSES[min(self.tries, len(PAUSES) - 1)]
        self.tries += 1
        self._since = time.monotonic()
        return pause
