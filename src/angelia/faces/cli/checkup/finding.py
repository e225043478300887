"""What one look found: whether it is well, what was seen, and how to mend it."""

from enum import StrEnum

from msgspec import Struct


class State(StrEnum):
    """How something is."""

    WELL = "well"
    BROKEN = "broken"
    ABSENT = "absent"
    """Not there, not needed, or not looked at."""


class Finding(Struct, frozen=True):
    """`about` names the part, `seen` what was found; `mend` says what to do where something can be done."""

    about: str
    state: State
    seen: str
    mend: str = ""


def well(about: str, seen: str) -> Finding:
    """It works."""
    return Finding(about, State.WELL, seen)


def broken(about: str, seen: str, mend: str) -> Finding:
    """It does not work, and should."""
    return Finding(about, State.BROKEN, seen, mend)


def absent(about: str, seen: str, mend: str = "") -> Finding:
    """It is not there, and need not be; or it was not looked at."""
    return Finding(about, State.ABSENT, seen, mend)
