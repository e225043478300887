"""How long a provider asks us to wait, read from its headers and words."""

import re
from collections.abc import Mapping

_UNITS = {"h": 3_600_000.0, "m": 60_000.0, "s": 1000.0, "ms": 1.0}
_SPAN = r"(?:\d+(?:\.\d+)?(?:ms|h|m|s))+"
_ASKED = (
    rf"(?:retrydelay\\*\"?: ?\\*\"?|(?:please )?(?:retry|try again)(?: your request)? in )(?P<span>{_SPAN})"
    rf"|(?:please )?(?:retry|try again) in (?P<seconds>\d+(?:\.\d+)?) ?sec"
    rf"|x-ratelimit-reset\\*\"?: ?\\*\"?(?P<moment>\d{{13}})"
)


def wait_of(headers: Mapping[str, str], text: str, now: float) -> int:
    """Milliseconds to wait, 0 when nobody said. A moment is one of the server's clock: how far away it is tells the
    `date` of the same answer, else `now`, our Unix seconds, which may be wrong. What is said most precisely counts:

    `retry-after-ms` (OpenAI, Azure), `retry-after` (RFC 9110, 10.2.3), Google's `retryDelay` and the sentences
    "try again in 9m38.016s", then the reset of the limit that is used up (`x-ratelimit-reset-*`,
    `anthropic-ratelimit-*-reset`).

    >>> wait_of({"retry-after": "2"}, "", 0.0), wait_of({}, 'Please try again in 1m2.5s.', 0.0)
    (2000, 62500)
    """
    now = _seconds(headers.get("date", "")) or now
    for found in (_number(headers.get("retry-after-ms", ""), 1.0), _after(headers.get("retry-after", ""), now)):
        if found:
            return found
    if asked := re.search(_ASKED, text, re.IGNORECASE):
        if asked["span"]:
            return _span(asked["span"])
        return _number(asked["seconds"] or "", 1000.0) or max(int(asked["moment"] or 0) - int(now * 1000), 0)
    return _reset(headers, now)


def _number(text: str, factor: float) -> int:
    try:
        return max(round(float(text) * factor), 0)
    except (ValueError, OverflowError):
        return 0


def _after(text: str, now: float) -> int:
    return _number(text, 1000.0) or _moment(text, now)


def _moment(text: str, now: float) -> int:
    at = _seconds(text)
    return max(round((at - now) * 1000), 0) if at else 0


def _seconds(text: str) -> float:
    """A moment as HTTP (RFC 9110) or RFC 3339 write it, in Unix seconds; 0 for none."""
    from datetime import datetime
    from email.utils import parsedate_to_datetime

    for parse in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            return parse(text).timestamp()
        except (ValueError, IndexError, TypeError, OverflowError):
            continue
    return 0


def _span(text: str) -> int:
    return round(sum(float(count) * _UNITS[unit] for count, unit in re.findall(r"(\d+(?:\.\d+)?)(ms|h|m|s)", text)))


def _reset(headers: Mapping[str, str], now: float) -> int:
    """The longest reset among the limits of which nothing remains."""
    waits = [0]
    for name, value in headers.items():
        lower = name.lower()
        if "ratelimit" not in lower or "reset" not in lower:
            continue
        if headers.get(lower.replace("reset", "remaining"), "0").split(".")[0] != "0":
            continue
        if re.fullmatch(_SPAN, value):
            waits.append(_span(value))
        elif re.fullmatch(r"\d{13}", value):
            waits.append(max(int(value) - int(now * 1000), 0))
        elif re.fullmatch(r"\d{10}", value):
            waits.append(max((int(value) - int(now)) * 1000, 0))
        else:
            waits.append(_after(value, now))
    return max(waits)
