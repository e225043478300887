"""Times of another agent's schedules, as ours."""

from angelia.core.timing import When
from angelia.service.schedule.when import read_when
from angelia.service.schedule.zone import known_zone, local_zone


def old_time(words: str, zone: str, now: int) -> tuple[str, When]:
    """The zone and the time, read at the moment `now` (Unix milliseconds); this machine's zone where there is none.

    Raises:
        BadInput: they mean nothing here, or are over.
    """
    at = known_zone(zone or local_zone())
    return at, read_when(words, at, now)
