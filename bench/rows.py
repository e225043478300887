"""What one measurement is, and how it is judged and printed."""

import statistics
from collections.abc import Sequence

from msgspec import Struct

SCALES = {"s": 1.0, "ms": 1e3, "µs": 1e6, "MB": 1e-6, "kB": 1e-3, "x": 1.0, "%": 100.0, "/s": 1.0, "": 1.0}
"""What a value (seconds, bytes, shares, counts) is multiplied by to be shown in a unit."""


class Yardstick(Struct, frozen=True):
    """The bare thing that a figure is compared with, in the same quantity."""

    name: str
    value: float


class Target(Struct, frozen=True):
    """From where to where a figure is good, in its quantity (seconds, bytes, shares, counts)."""

    most: float = float("inf")
    least: float = float("-inf")

    def met_by(self, value: float) -> bool:
        """Whether a figure is good."""
        return self.least <= value <= self.most


class Row(Struct, frozen=True):
    """One line of the table. `values` are single measurements; without any, `note` says why not."""

    name: str
    unit: str
    values: tuple[float, ...] = ()
    yardstick: Yardstick | None = None
    target: Target | None = None
    note: str = ""

    @property
    def value(self) -> float:
        """The median."""
        return statistics.median(self.values)

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without a target or a measurement."""
        return self.target.met_by(self.value) if self.target and self.values else None


def row(name: str, unit: str, values: Sequence[float] | float, most: float | None = None, **more: object) -> Row:
    """A row with an upper limit, the usual kind."""
    given = (values,) if isinstance(values, float | int) else tuple(values)
    target = None if most is None else Target(most=most)
    return Row(name, unit, given, target=target, **more)  # type: ignore[arg-type]


def cells(one: Row) -> tuple[str, ...]:
    """Name, measured with its range, yardstick, ratio, target, and whether it is reached."""
    if not one.values:
        return (one.name, "not measured", "", "", _target(one), one.note)
    shown = _number(one.value, one.unit)
    if len(one.values) > 1:
        shown += f" ({_bare(min(one.values), one.unit)}–{_bare(max(one.values), one.unit)})"
    yardstick = ratio = ""
    if one.yardstick:
        yardstick = f"{one.yardstick.name} {_number(one.yardstick.value, one.unit)}"
        ratio = f"{one.value / one.yardstick.value:.2f}" if one.yardstick.value else ""
    verdict = {True: "ok", False: "NOT YET", None: ""}[one.met]
    return (one.name, shown, yardstick, ratio, _target(one), " · ".join(part for part in (verdict, one.note) if part))


def _target(one: Row) -> str:
    if one.target is None:
        return ""
    least, most = one.target.least, one.target.most
    if least == float("-inf"):
        return f"≤ {_number(most, one.unit)}"
    if most == float("inf"):
        return f"≥ {_number(least, one.unit)}"
    return f"{_bare(least, one.unit)} to {_number(most, one.unit)}"


def _number(value: float, unit: str) -> str:
    return f"{_bare(value, unit)} {unit}".rstrip()


def _bare(value: float, unit: str) -> str:
    scaled = value * SCALES[unit]
    digits = 0 if abs(scaled) >= 100 or scaled == int(scaled) else 1 if abs(scaled) >= 10 else 2
    if unit == "s":
        digits = 3
    return f"{scaled:,.{digits}f}"
