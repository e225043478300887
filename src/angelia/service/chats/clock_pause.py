"""A pause by a clock that may be set right meanwhile: it is never longer than it was meant to be."""

from msgspec import Struct


class ClockPause(Struct):
    """From `since` to `until`, Unix milliseconds; one that would begin later is over: the clock was set back."""

    since: int = 0
    until: int = 0

    def begin(self, now: int, seconds: float) -> None:
        """It begins now."""
        self.since, self.until = now, now + int(seconds * 1000)

    def left(self, now: int) -> float:
        """Seconds that are left of it.

        >>> pause = ClockPause()
        >>> pause.begin(10_000, 2.0)
        >>> pause.left(10_500), pause.left(12_500), pause.left(3_000)
        (1.5, 0.0, 0.0)
        """
        return max(self.until - now, 0) / 1000 if now >= self.since else 0.0
