"""Which instants a schedule names: pure, by the rules that its zone has at each step.

A cron line is read as Debian's cron reads it (man 8 cron, "DST"), by `cronsim`. A time that names its hour is skipped
by no change of the clock and doubled by none: 02:30 is at 03:00 on the night that has no 02:30, and the first of two.
A line with a star for its hour or minute goes by time that passes: every quarter of an hour stays that.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from angelia.core.errors import BadInput
from angelia.core.timing import Cron, Every, OnChange, OneTime, OnMail, OnSignal, When

if TYPE_CHECKING:
    from cronsim import CronSim

SHORTEST_S = 60
"""Seconds between two occurrences of an interval, at least: a cron line cannot name less either."""


def following(when: When, zone: str, since: int, after: int) -> int | None:
    """The first occurrence after `after` (and after `since`, when it was scheduled), Unix milliseconds; None: no more,
    or none by the clock.

    >>> following(Every(3600), "UTC", 0, 3_600_000)
    7200000
    >>> following(OneTime("1970-01-01T00:00:01"), "UTC", 0, 1000) is None
    True
    """
    after = max(after, since)
    match when:
        case Every(seconds=seconds):
            step = seconds * 1000
            return since + ((after - since) // step + 1) * step
        case OneTime():
            at = moment_of(when, zone)
            return at if at > after else None
        case OnSignal() | OnMail() | OnChange():
            return None
        case Cron(line=line):
            return _cron(line, zone, after)


def upcoming(when: When, zone: str, since: int, after: int) -> Iterator[int]:
    """Every occurrence after `after`, in order, without end but for a single moment."""
    found = following(when, zone, since, after)
    while found is not None:
        yield found
        found = following(when, zone, since, found)


def first(when: When, zone: str, now: int, count: int) -> tuple[int, ...]:
    """The first occurrences of what is scheduled now."""
    return tuple(islice(upcoming(when, zone, now, now), count))


def moment_of(when: OneTime, zone: str) -> int:
    """Unix milliseconds. A wall time that a change of the clock leaves out is as much later as the clock was put on;
    of one that there is twice it is the first.
    """
    at = datetime.fromisoformat(when.at)
    return milliseconds(at if at.tzinfo else at.replace(tzinfo=ZoneInfo(zone)))


def milliseconds(at: datetime) -> int:
    """Unix milliseconds of an aware moment, exactly."""
    return (at - _EPOCH) // timedelta(milliseconds=1)


def check_cron(line: str) -> None:
    """Raise unless a line can be read, and names a time that comes.

    Raises:
        BadInput: says which field is wrong.
    """
    from cronsim import CronSim, CronSimError

    fields = line.split()
    if len(fields) != 5:
        raise BadInput(
            f"“{line}” has {len(fields)} fields, and a cron line has five.",
            then="minute hour day-of-month month day-of-week, such as `0 8 * * 1-5` for 08:00 on weekdays.",
        )
    try:
        next(CronSim(line, datetime(2000, 1, 1)))  # noqa: DTZ001 - any wall time: only the line is looked at
    except CronSimError as error:
        raise BadInput(f"“{line}” is no cron line: {str(error).lower()}.", then=_FIELDS) from error
    except StopIteration as error:
        raise BadInput(f"“{line}” names a time that does not come in fifty years.", then=_FIELDS) from error


_FIELDS = (
    "Its fields are minute (0-59), hour (0-23), day (1-31, one that its months have), month (1-12), weekday (0-7, 0 "
    "and 7 are Sunday)."
)
_MINUTE = 60_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _cron(line: str, zone: str, after: int) -> int | None:
    from cronsim import CronSim

    steps = CronSim(line, _local(after, ZoneInfo(zone)))
    try:
        while (found := milliseconds(next(steps))) <= after:  # the hour that there is twice is left behind
            pass
    except StopIteration:
        return None
    minute, hour, *_ = line.split()
    return _passing(steps, zone, after, found) if minute[0] == "*" or hour[0] == "*" else found


def _passing(line: "CronSim", zone: str, after: int, found: int) -> int:
    """The first minute that fits, for a line that goes by time that passes.

    `cronsim` steps over minutes that come twice where a clock is put back by less than an hour (Lord Howe): where the
    clock was changed on the way, each minute is looked at.
    """
    here = ZoneInfo(zone)
    if _local(after, here).utcoffset() == _local(found, here).utcoffset():
        return found
    for at in range(after // _MINUTE * _MINUTE + _MINUTE, found, _MINUTE):
        wall = _local(at, here)
        if (
            wall.minute in line.minutes
            and wall.hour in line.hours
            and wall.month in line.months
            and line.match_day(wall)
        ):
            return at
    return found


def _local(at: int, here: ZoneInfo) -> datetime:
    return (_EPOCH + timedelta(milliseconds=at)).astimezone(here)
