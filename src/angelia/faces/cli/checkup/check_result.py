"""What one look found: whether it is well, what was seen, and how to mend it."""

from collections.abc import Awaitable, Callable
from enum import StrEnum

from msgspec import Struct

Fix = Callable[[], Awaitable[str]]
"""Mends something; says what it did in a sentence."""


class CheckState(StrEnum):
    """How something is."""

    WELL = "well"
    BROKEN = "broken"
    ABSENT = "absent"
    """Not there, not needed, or not looked at."""


class CheckResult(Struct, frozen=True):
    """`about` names the part, `seen` what was found; `mend` says what to do where something can be done.

    `fix` does it, and says what it did; None where only a person can.
    """

    about: str
    state: CheckState
    seen: str
    mend: str = ""
    fix: Fix | None = None


def well(about: str, seen: str) -> CheckResult:
    """It works."""
    return CheckResult(about, CheckState.WELL, seen)


def broken(about: str, seen: str, mend: str, fix: Fix | None = None) -> CheckResult:
    """It does not work, and should."""
    return CheckResult(about, CheckState.BROKEN, seen, mend, fix)


def absent(about: str, seen: str, mend: str = "") -> CheckResult:
    """It is not there, and need not be; or it was not looked at."""
    return CheckResult(about, CheckState.ABSENT, seen, mend)
