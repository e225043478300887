"""Which instants a schedule names, beside an oracle that looks at every minute of two years."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.core.errors import BadInput
from angelia.core.timing import Cron, Every, OneTime
from angelia.service.schedule.occurrences import check_cron, following, milliseconds, moment_of, upcoming
from tests.examples import TIMES, some

ZONES = {
    "Europe/Berlin": 2025,
    "America/New_York": 2025,
    "Australia/Lord_Howe": 2025,  # half an hour of summer time
    "Asia/Kathmandu": 2025,  # 5:45, no summer time
    "America/Sao_Paulo": 2018,  # gave its summer time up in 2019; its changes were at midnight
    "Pacific/Apia": 2011,  # left out a whole day, and changed its rules
    "Africa/Casablanca": 2025,  # put back for Ramadan
}
"""Zones, and the first of the two years in which each is looked at."""
HERE = ZONES if TIMES else ("Australia/Lord_Howe",)
"""Half an hour, and changes at midnight; `make soak` goes through all of them."""

LINES = [
    *(f"{minute} {hour} * * *" for minute in (0, 30) for hour in (0, 1, 2, 3, 23)),
    *(f"{minute} {hour} {day} * {week}" for minute in (15,) for hour in ("2", "8,20") for day in ("1", "*/10", "L")
      for week in ("*", "1-5")),
    "*/30 * * * 0", "45 * * * 0", "* 2 * * 0", "0 */6 * * *", "30 */2 * * 0", "5,35 1-3 * * *", "0 9 * * MON#1",
    "59 23 31 12 *", "0 0 29 2 *", "30 1,2 * * 7", "0 2 25-31 * 0", "0 3 * 3,10 SUN",
]  # fmt: skip


def _minutes(zone: str, year: int) -> dict[tuple[int, int], list[tuple[int, datetime]]]:
    """Every minute of two years by its hour and minute on the wall."""
    at, end = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 2, 1, 1, tzinfo=UTC)
    here, found = ZoneInfo(zone), defaultdict(list)
    first, step, number = milliseconds(at), timedelta(minutes=1), 0
    while at < end:
        local = at.astimezone(here)
        found[local.hour, local.minute].append((first + 60_000 * number, local))
        at += step
        number += 1
    return found


@cache
def _field(text: str, values: range) -> set[int]:
    found = set[int]()
    for term in text.split(","):
        span, _, step = term.partition("/")
        low, _, high = span.partition("-")
        whole = values if span == "*" else range(int(low), int(high or low) + 1)
        found |= set(whole[:: int(step or 1)])
    return found


def _fits(day: datetime, line: str) -> bool:
    _, _, dom, month, dow = line.replace("SUN", "0").replace("MON", "1").split()
    last = (day + timedelta(days=1)).day == 1
    on_date = last if dom == "L" else day.day in _field(dom, range(1, 32))
    week, _, nth = dow.partition("#")
    on_week = day.isoweekday() % 7 in {n % 7 for n in _field(week, range(7))}
    on_week = on_week and (not nth or (day.day + 6) // 7 == int(nth))
    both = dom.startswith("*") or dow.startswith("*")
    return day.month in _field(month, range(1, 13)) and (on_date and on_week if both else on_date or on_week)


def _expected(line: str, zone: str, year: int, minutes: dict[tuple[int, int], list[tuple[int, datetime]]]) -> list[int]:
    """By the rule as it is written: by time that passes where a star stands, else each wall time once."""
    minute, hour, *_ = line.split()
    times = [(h, m) for h in _field(hour, range(24)) for m in _field(minute, range(60))]
    if minute.startswith("*") or hour.startswith("*"):
        return sorted(at for time in times for at, local in minutes[time] if _fits(local, line))
    here, found = ZoneInfo(zone), set()
    day = datetime(year - 1, 12, 30)  # noqa: DTZ001 - wall time
    while day < datetime(year + 2, 1, 3):  # noqa: DTZ001 - wall time
        for h, m in times if _fits(day, line) else ():
            wall = day.replace(hour=h, minute=m)
            while (
                milliseconds(wall.replace(tzinfo=here))
                != milliseconds(wall.replace(tzinfo=here).astimezone(UTC).astimezone(here))
                or wall.replace(tzinfo=here).astimezone(UTC).astimezone(here).replace(tzinfo=None) != wall
            ):
                wall += timedelta(minutes=1)
            found.add(milliseconds(wall.replace(tzinfo=here)))
        day += timedelta(days=1)
    start, end = (milliseconds(datetime(y, 1, 1, tzinfo=UTC)) for y in (year, year + 2))
    return sorted(at for at in found if start <= at < end)


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.parametrize("zone", HERE)
def test_two_years_of_a_cron_line_are_the_minutes_that_fit(zone: str) -> None:
    year = ZONES[zone]
    minutes = _minutes(zone, year)
    start, end = (milliseconds(datetime(y, 1, 1, tzinfo=UTC)) for y in (year, year + 2))
    for line in some(LINES, 2):
        named = list(takewhile(lambda at: at < end, upcoming(Cron(line), zone, 0, start - 1)))
        assert named == _expected(line, zone, year, minutes), line


_instants = st.integers(1_262_304_000_000, 1_893_456_000_000)


@given(st.sampled_from(LINES), st.sampled_from(sorted(ZONES)), _instants, st.integers(0, 400_000_000))
def test_the_next_occurrence_is_the_same_from_wherever_one_looks(line: str, zone: str, at: int, more: int) -> None:
    found = following(Cron(line), zone, 0, at)
    assert found is not None
    assert found > at
    between = min(at + more, found - 1)
    assert following(Cron(line), zone, 0, between) == found


@given(st.integers(60, 10_000_000), _instants, st.integers(-10_000_000, 10_000_000_000))
def test_an_interval_counts_from_when_it_was_scheduled(seconds: int, since: int, later: int) -> None:
    found = following(Every(seconds), "Europe/Berlin", since, since + later)
    assert found is not None
    assert found > max(since, since + later)
    assert (found - since) % (seconds * 1000) == 0
    assert found - max(since, since + later) <= seconds * 1000


def test_a_wall_time_of_autumn_comes_once_and_one_that_spring_leaves_out_a_little_later() -> None:
    day = milliseconds(datetime(2026, 10, 24, 12, tzinfo=UTC))
    nights = takewhile(lambda at: at < day + 2 * 86_400_000, upcoming(Cron("30 2 * * *"), "Europe/Berlin", 0, day))
    autumn = [datetime.fromtimestamp(at / 1000, UTC).isoformat() for at in nights]
    assert autumn == ["2026-10-25T00:30:00+00:00", "2026-10-26T01:30:00+00:00"]
    night = milliseconds(datetime(2026, 3, 28, 12, tzinfo=UTC))
    spring = following(Cron("30 2 * * *"), "Europe/Berlin", 0, night)
    assert spring == milliseconds(datetime(2026, 3, 29, 1, tzinfo=UTC))  # 03:00 there


def test_a_moment_is_wall_time_until_it_comes_or_an_instant() -> None:
    wall, instant = OneTime("2027-07-01T18:00:00"), OneTime("2027-07-01T18:00:00+00:00")
    assert moment_of(wall, "Europe/Berlin") == milliseconds(datetime(2027, 7, 1, 16, tzinfo=UTC))
    assert moment_of(instant, "Asia/Kathmandu") == milliseconds(datetime(2027, 7, 1, 18, tzinfo=UTC))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("61 * * * *", "bad minute"),
        ("0 0 31 2 *", "bad day-of-month"),
        ("0 8 * *", "4 fields"),
        ("* * * * * *", "6 fields"),
        ("* * */20 * 1L", "does not come in fifty years"),
    ],
)
def test_a_line_that_means_nothing_is_refused(line: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        check_cron(line)
