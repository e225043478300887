"""How fast lines may go: a burst, then one after another (RFC 1459, 8.10: ten seconds ahead, two for each)."""

from angelia.core.ids import Clock

BURST_S = 10.0
"""Seconds by which lines may run ahead of their pace."""


class IrcPace:
    """Counts lines; `line_s` is the seconds for each, 0 for any pace."""

    def __init__(self, line_s: float, clock: Clock) -> None:
        self._line_s = line_s
        self._clock = clock
        self._paid = 0.0

    def wait_for(self, lines: int) -> float:
        """Seconds until so many lines may go together, 0 for now; more than a burst may go when nothing went before."""
        return max(0.0, self._ahead() - max(0.0, BURST_S - lines * self._line_s))

    def add(self, lines: int) -> None:
        """So many lines go now."""
        self._paid = self._clock() / 1000 + self._ahead() + lines * self._line_s

    def _ahead(self) -> float:
        return max(0.0, self._paid - self._clock() / 1000)
