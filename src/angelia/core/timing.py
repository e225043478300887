"""When something is to happen: a cron line, one moment, or an interval; an IANA zone stands beside each."""

from msgspec import Struct


class Timing(Struct, frozen=True, gc=False, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind", tag=True):
    """One of the three below; wall time becomes an instant only when the next occurrence is looked for."""


class Cron(Timing, frozen=True):
    """Each time that fits a cron line of five fields, as Debian's cron reads it."""

    line: str


class OneTime(Timing, frozen=True):
    """One moment in ISO 8601: wall time of the zone (`2026-11-24T18:00:00`), or an instant with its offset."""

    at: str


class Every(Timing, frozen=True):
    """Again and again, so many seconds after each other, counted from when it was scheduled."""

    seconds: int


When = Cron | OneTime | Every
