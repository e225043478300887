"""Words for a time, read as a cron line, a moment or an interval, and told back as people check them."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from angelia.core.errors import BadInput
from angelia.core.text import one_line
from angelia.core.timing import Cron, Every, FromOutside, OnChange, OneTime, OnMail, OnSignal, When
from angelia.service.schedule.occurrences import SHORTEST_S, check_cron, first, following, moment_of

FORMS = (
    "Say it as `18:00`, `tomorrow 9:00`, `2026-12-24 18:00`, `in 20 minutes`, `every 2 hours`, `every day at 8:00`, "
    "`weekdays at 7:30`, `every monday at 9:00`, `monthly on 1 at 8:00`, `on signal NAME`, `on mail NAME`, "
    "`on change NAME`, or as a cron line such as `0 8 * * 1-5`."
)
_ORDINAL, _ENDINGS = re.compile(r"\b([2-9])([123])th\b"), {"1": "1st", "2": "2nd", "3": "3rd"}
"""What cronsim calls the 21th, 22th and 23th."""
_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_SHORT = {"s": "second", "sec": "second", "m": "minute", "min": "minute", "h": "hour", "d": "day", "w": "week"}
_SPAN = re.compile(r"(?:(\d{1,6}|an?) ?)?([a-z]+)")
_TIME = re.compile(r"(\d{1,2})(?:[:.](\d{2}))? ?(am|pm)?")
_MONTHLY = re.compile(r"(?:monthly|every month)(?: on)?(?: the)? (\d{1,2})(?:st|nd|rd|th|\.)?(?: at)? (.+)")
_AT = re.compile(r"([a-z, ]+?)(?: at)? ([\d:. apm]+|noon|midnight)")
_GROUPS = {"day": "*", "daily": "*", "weekday": "1-5", "weekdays": "1-5", "weekend": "0,6", "weekends": "0,6"}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}.*")
_OUTSIDE = re.compile(r"(?i:on (signal|mail|change)) ([\w-]{1,64})")
_KINDS: Mapping[str, type[FromOutside]] = {"signal": OnSignal, "mail": OnMail, "change": OnChange}
_LONGEST_S = 366 * 86_400


def read_when(text: str, zone: str, now: int) -> When:
    """What the words mean at the moment `now` (Unix milliseconds) in a zone; it comes at least once after it.

    >>> read_when("weekdays at 7:30", "UTC", 0), read_when("in 2 hours", "UTC", 0)
    (Cron(line='30 7 * * 1-5'), OneTime(at='1970-01-01T02:00:00+00:00'))

    Raises:
        BadInput: they mean nothing here, or a time that is over; says what can be said.
    """
    words = " ".join(text.lower().split())
    if named := _OUTSIDE.fullmatch(" ".join(text.split())):
        return _KINDS[named[1].lower()](named[2])
    found = _cron_line(text) or _dated(text) or _span(words, now) or _on_days(words) or _on_a_day(words, zone, now)
    if found is None:
        raise BadInput(f"“{one_line(text, 80)}” names no time that can be read.", then=FORMS)
    if following(found, zone, now, now) is None:
        raise BadInput(f"“{one_line(text, 80)}” is over: {told(found, zone, now)}.", then="Name a time to come.")
    return found


def told(when: When, zone: str, now: int, count: int = 3) -> str:
    """What was understood, with the next times in full; this is what somebody says yes to.

    >>> told(Cron("0 8 * * 1-5"), "UTC", 0, 1)
    'at 08:00 on Monday through Friday (cron `0 8 * * 1-5`, UTC): Thu 1 Jan 1970 08:00'
    """
    match when:
        case OneTime():
            return f"once, {shown(moment_of(when, zone), zone)} ({zone})"
        case OnSignal(name=name):
            return f"each time that the signal {name} comes ({zone})"
        case OnMail(name=name):
            return f"each time that a mail comes into the mailbox {name} ({zone})"
        case OnChange(name=name):
            return f"each time that something is new or different in the folder {name} ({zone})"
        case Every(seconds=seconds):
            what = f"every {_length(seconds)} ({zone})"
        case Cron(line=line):
            what = f"{_explained(line)} (cron `{line}`, {zone})"
    return f"{what}: {', '.join(shown(at, zone) for at in first(when, zone, now, count))}"


def in_short(when: When, zone: str) -> str:
    """For a column of a table: without the times."""
    match when:
        case OneTime():
            return "once"
        case OnSignal(name=name):
            return f"on signal {name}"
        case OnMail(name=name):
            return f"on mail {name}"
        case OnChange(name=name):
            return f"on change {name}"
        case Every(seconds=seconds):
            return f"every {_length(seconds)}"
        case Cron(line=line):
            return _explained(line)


def shown(at: int, zone: str) -> str:
    """A moment in a zone, with its day; with the offset where wall time is not enough.

    >>> shown(0, "Europe/Berlin")
    'Thu 1 Jan 1970 01:00'
    """
    local = datetime.fromtimestamp(at / 1000, ZoneInfo(zone))
    return f"{local:%a} {local.day} {local:%b %Y} {_clock(local)}"


def shown_soon(at: int, zone: str, now: int) -> str:
    """As `shown`, for who knows the day: today without it, and within six days as a weekday.

    >>> shown_soon(0, "Europe/Berlin", -1), shown_soon(86_400_000, "Europe/Berlin", 0)
    ('01:00', 'Fri 01:00')
    """
    local, today = (datetime.fromtimestamp(one / 1000, ZoneInfo(zone)) for one in (at, now))
    days = (local.date() - today.date()).days
    if days == 0:
        return _clock(local)
    return f"{local:%a} {_clock(local)}" if abs(days) < 7 else shown(at, zone)


def _clock(local: datetime) -> str:
    twice = local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()
    seconds = f":{local.second:02}" if local.second else ""
    return f"{local:%H:%M}{seconds}" + (f" {local:%z}" if twice else "")


def _explained(line: str) -> str:
    """A cron line in words.

    >>> _explained("0 8 31 * *"), _explained("0 8 11,22 * *")
    ('at 08:00 on the 31st day of every month', 'at 08:00 on the 11th and the 22nd day of month')
    """
    from cronsim import CronSim

    words = CronSim(line, datetime(2000, 1, 1)).explain()  # noqa: DTZ001 - any wall time: only the line is looked at
    return _ORDINAL.sub(lambda found: f"{found[1]}{_ENDINGS[found[2]]}", words[:1].lower() + words[1:])


def _length(seconds: int) -> str:
    unit = next(name for name in ("week", "day", "hour", "minute", "second") if seconds % _UNITS[name] == 0)
    count = seconds // _UNITS[unit]
    return unit if count == 1 else f"{count} {unit}s"


def _cron_line(text: str) -> Cron | None:
    fields = text.split()
    if not fields or not (fields[0][0] in "*0123456789" and re.fullmatch(r"[\d*/,-]+", fields[0])):
        return None
    if len(fields) < 4 or not all(re.fullmatch(r"[\w*/,#-]+", field) for field in fields):
        return None
    check_cron(text)
    return Cron(" ".join(fields).upper())


def _dated(text: str) -> OneTime | None:
    if not _DATE.fullmatch(text.strip()):
        return None
    try:
        at = datetime.fromisoformat(text.strip().upper())
    except ValueError:
        return None
    if len(text.strip()) <= 10:
        raise BadInput(f"“{text.strip()}” names a day without a time.", then=f"Such as: {text.strip()} 18:00")
    return OneTime(at.replace(microsecond=0).isoformat())


def _span(words: str, now: int) -> When | None:
    """`in 20 minutes`, `every 2 hours`."""
    how, _, rest = words.partition(" ")
    if words == "hourly":
        return Cron("0 * * * *")
    match = _SPAN.fullmatch(rest) if how in ("in", "every") else None
    if match is None:
        return None
    name = _SHORT.get(match[2], match[2]).removesuffix("s")
    if name not in _UNITS or (how == "every" and not match[1] and name in ("day", "week")):
        return None  # at which time of the day?
    seconds = (int(match[1]) if (match[1] or "").isdigit() else 1) * _UNITS[name]
    if how == "in" and 0 < seconds <= 100 * _LONGEST_S:
        at = datetime.fromtimestamp(now // 1000, ZoneInfo("UTC")) + timedelta(seconds=seconds)
        return OneTime(at.isoformat())
    if how == "every" and SHORTEST_S <= seconds <= _LONGEST_S:
        return Every(seconds)
    raise BadInput(f"“{words}” is too short or too long.", then="An interval is from one minute to a year.")


def _on_days(words: str) -> Cron | None:
    """`every day at 8:00`, `weekdays 7:30`, `every mon, thu at 9am`, `mondays at 9`, `monthly on 1 at 8:00`."""
    if monthly := _MONTHLY.fullmatch(words):
        time, day = _time(monthly[2]), int(monthly[1])
        return Cron(f"{time[1]} {time[0]} {day} * *") if time and 1 <= day <= 31 else None
    match = _AT.fullmatch(words.removeprefix("every "))
    time = _time(match[2]) if match else None
    if match is None or time is None:
        return None
    names = [name for name in re.split(r"[, ]+|\band\b", match[1]) if name]
    again = words.startswith("every ") or names[0] in _GROUPS or all(name.endswith("s") for name in names)
    days = [_GROUPS.get(name) or _day(name) for name in names]
    if not again or not names or not all(days):
        return None
    return Cron(f"{time[1]} {time[0]} * * {','.join(dict.fromkeys(days))}")


def _on_a_day(words: str, zone: str, now: int) -> OneTime | None:
    """`18:00`, `tomorrow at 9:00`, `monday 9am`: the next such moment, in wall time."""
    match = _AT.fullmatch(words)
    day = match[1] if match and match[1] != "at" else ""
    time = _time(match[2] if match else words)
    here = datetime.fromtimestamp(now / 1000, ZoneInfo(zone)).replace(tzinfo=None)
    if time is None or (day not in ("", "today", "tomorrow") and not _day(day)):
        return None
    at = here.replace(hour=time[0], minute=time[1], second=0, microsecond=0)
    if _day(day):
        at += timedelta(days=(int(_day(day)) - at.isoweekday()) % 7)
    elif day == "tomorrow":
        at += timedelta(days=1)
    if at <= here and day != "today":
        at += timedelta(days=7 if _day(day) else 1)
    return OneTime(at.isoformat())


def _day(name: str) -> str:
    """The number of a weekday that is named whole, short or in the plural; empty for another word."""
    single = name.removesuffix("s") if name not in ("tues", "thurs", "wednes") else name
    fits = [str(number) for number, day in enumerate(_DAYS) if len(single) >= 3 and day.startswith(single)]
    return fits[0] if fits else ""


def _time(words: str) -> tuple[int, int] | None:
    """Hour and minute of `18:00`, `8`, `6:30pm`, `noon`."""
    words = {"noon": "12:00", "midnight": "0:00"}.get(words.strip(), words.strip())
    match = _TIME.fullmatch(words)
    if match is None:
        return None
    hour, minute = int(match[1]), int(match[2] or 0)
    if match[3] and not 1 <= hour <= 12:
        return None
    if match[3]:
        hour = hour % 12 + (12 if match[3] == "pm" else 0)
    return (hour, minute) if hour < 24 and minute < 60 else None
