"""The same work timed at several lengths, and the power of the length that the times follow.

A `Sweep` keeps every repeat in raw nanoseconds; medians, spread and exponent are computed from
them, here and nowhere else. Which work it was, only its name says.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from math import exp, log, sqrt
from statistics import linear_regression, median

from .machine import Machine

NS = 1e-9
SCHEMA = "labkit-sweeps-1"


@dataclass(frozen=True)
class SweepPoint:
    """Repeats of one call at one length, each in nanoseconds, in the order they were made."""

    length: int
    wall_ns: tuple[int, ...]

    @property
    def median_s(self) -> float:
        return median(self.wall_ns) * NS

    @property
    def low_s(self) -> float:
        """The fastest repeat."""
        return min(self.wall_ns) * NS

    @property
    def high_s(self) -> float:
        """The slowest repeat."""
        return max(self.wall_ns) * NS


@dataclass(frozen=True)
class Sweep:
    """One quantity over a length, points in ascending order: what, of which model, and where."""

    name: str
    points: tuple[SweepPoint, ...]
    model: str
    dtype: str
    machine: Machine
    versions: dict[str, str] = field(default_factory=dict)
    threads: int | None = None
    origin: str = "measured"

    def add(self, length: int, wall_ns: int) -> Sweep:
        """The sweep with one more repeat at `length`."""
        found = {point.length: point.wall_ns for point in self.points}
        found[length] = (*found.get(length, ()), wall_ns)
        return replace(self, points=tuple(SweepPoint(x, found[x]) for x in sorted(found)))

    def upper_half(self) -> tuple[SweepPoint, ...]:
        """The longer half of the lengths: short calls take their time for other reasons."""
        return self.points[len(self.points) // 2 :]


@dataclass(frozen=True)
class PowerLaw:
    """seconds = factor · length^exponent, fitted. `error` is the exponent's standard error."""

    exponent: float
    factor_s: float
    error: float | None  # None: two points leave nothing to judge the line by

    def seconds(self, length: float) -> float:
        return self.factor_s * length**self.exponent

    def __str__(self) -> str:
        error = "" if self.error is None else f" ± {self.error:.2f}"
        return f"{self.exponent:.2f}{error}"


def power_law(points: Sequence[SweepPoint]) -> PowerLaw | None:
    """The straight line through the medians where both axes are logarithmic, by least squares.

    Its slope is the exponent. None for fewer than two lengths.
    """
    if len(points) < 2:
        return None
    x, y = [log(p.length) for p in points], [log(p.median_s) for p in points]
    slope, intercept = linear_regression(x, y)
    error = None
    if len(points) > 2:
        center = sum(x) / len(x)
        missed = sum((b - intercept - slope * a) ** 2 for a, b in zip(x, y, strict=True))
        error = sqrt(missed / (len(x) - 2) / sum((a - center) ** 2 for a in x))
    return PowerLaw(slope, exp(intercept), error)


def meeting_length(one: PowerLaw, other: PowerLaw) -> float | None:
    """The length at which two power laws take the same time; None where they run in parallel."""
    if one.exponent == other.exponent:
        return None
    return exp(log(other.factor_s / one.factor_s) / (one.exponent - other.exponent))


# ---- files ---------------------------------------------------------------------------------------


def sweeps_to_json(sweeps: Sequence[Sweep]) -> str:
    """All sweeps of one run as JSON text, every repeat kept."""
    rows = [asdict(sweep) for sweep in sweeps]
    return json.dumps({"schema": SCHEMA, "sweeps": rows}, ensure_ascii=False)


def sweeps_to_csv(sweeps: Sequence[Sweep]) -> str:
    """A row for each repeat, for spreadsheets; machine and versions are in the JSON only."""
    rows = [
        f'"{sweep.name}",{point.length},{repeat},{wall_ns}'
        for sweep in sweeps
        for point in sweep.points
        for repeat, wall_ns in enumerate(point.wall_ns)
    ]
    return "\n".join(["name,length,repeat,wall_ns", *rows]) + "\n"
