"""A moment as people read it."""

from datetime import datetime, tzinfo


def when(at: int, zone: tzinfo | None = None) -> str:
    """Unix milliseconds to the minute, in this machine's zone if no other is given.

    >>> from datetime import UTC
    >>> when(1_760_000_000_000, UTC)
    '2025-10-09 08:53'
    """
    return datetime.fromtimestamp(at / 1000).astimezone(zone).strftime("%Y-%m-%d %H:%M")
