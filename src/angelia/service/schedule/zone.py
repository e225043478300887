"""The zone of this machine by its IANA name, such as Europe/Berlin."""

import os
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from angelia.core.errors import BadInput


def local_zone() -> str:
    """As `TZ`, `/etc/timezone` or the link `/etc/localtime` says; UTC where none of them names one."""
    link = os.path.realpath("/etc/localtime")
    named = [os.environ.get("TZ", "").lstrip(":"), _text("/etc/timezone"), link.rpartition("/zoneinfo/")[2]]
    return next((name for name in named if name and _is_zone(name)), "UTC")


def known_zone(name: str) -> str:
    """The name, if there is such a zone.

    Raises:
        BadInput: there is none.
    """
    if _is_zone(name):
        return name
    raise BadInput(f"There is no time zone {name!r}.", then="Give its IANA name, such as Europe/Berlin or UTC.")


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # OSError: a name that is a folder of zones
        return False
    return True


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
