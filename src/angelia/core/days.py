"""Days as they are counted here: those of UTC, in Unix milliseconds."""

DAY_MS = 86_400_000


def day_of(moment: int) -> int:
    """When the day of a moment began.

    >>> day_of(1_700_000_000_000)
    1699920000000
    """
    return moment // DAY_MS * DAY_MS


def last_day(now: int) -> int:
    """The last day that counts as past: tomorrow's, since clocks differ. What stands in the log under later ones was
    noted while a clock was ahead.

    >>> last_day(1_700_000_000_000)
    1700006400000
    """
    return day_of(now) + DAY_MS
