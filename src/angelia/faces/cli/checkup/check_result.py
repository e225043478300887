"""What one look found: whether it is well, what was seen, and how to mend it."""

from enum import StrEnum

from msgspec import Struct


class CheckState(StrEnum):
    """How something is."""

    WELL = "well"
    BROKEN = "broken"
    ABSENT = "absent"
    """Not there, not needed, or not looked at."""


class CheckResult(Struct, frozen=True):
    """`about` names the part, `seen` what was found; `mend` says what to do where something can be done."""

    about: str
    state: CheckState
    seen: str
    mend: str = ""


def well(about: str, seen: str) -> CheckResult:
    """It works."""
    return CheckResult(about, CheckState.WELL, seen)


def broken(about: str, seen: str, mend: str) -> CheckResult:
    """It does not work, and should."""
    return CheckResult(about, CheckState.BROKEN, seen, mend)


def absent(about: str, seen: str, mend: str = "") -> CheckResult:
    """It is not there, and need not be; or it was not looked at."""
    return CheckResult(about, CheckState.ABSENT, seen, mend)
