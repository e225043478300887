"""A pause, by a clock that nobody sets."""

from msgspec import Struct


class Pause(Struct):
    """Until `until`, milliseconds of the clock that is asked."""

    until: int = 0

    def begin(self, now: int, seconds: float) -> None:
        """It begins now."""
        self.until = now + int(seconds * 1000)

    def left(self, now: int) -> float:
        """Seconds that are left of it.

        >>> pause = Pause()
        >>> pause.begin(10_000, 2.0)
        >>> pause.left(10_500), pause.left(12_500)
        (1.5, 0.0)
        """
        return max(self.until - now, 0) / 1000
