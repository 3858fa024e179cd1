"""A figure with its repeats and its promise, and the report that a benchmark makes of its figures.

A ratio is taken pair by pair: the two things ran next to each other in time, so what disturbed one
disturbed the other. The median of the pairs is the figure, their extremes are its spread.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from statistics import median

from ..records import Machine
from ..summary import Table, digits


@dataclass(frozen=True)
class Figure:
    """`repeats` are its values, one for each pair. The promise holds for their median."""

    name: str
    repeats: tuple[float, ...]
    at_most: float | None = None
    at_least: float | None = None

    @property
    def median(self) -> float:
        return median(self.repeats)

    @property
    def promise(self) -> str:
        if self.at_most is not None:
            return f"at most {self.at_most:g}"
        return "" if self.at_least is None else f"at least {self.at_least:g}"

    @property
    def kept(self) -> bool:
        """True too where nothing was promised."""
        too_large = self.at_most is not None and self.median > self.at_most
        too_small = self.at_least is not None and self.median < self.at_least
        return not (too_large or too_small)


def ratios(ones: Sequence[float], others: Sequence[float]) -> tuple[float, ...]:
    """one ÷ other, pair by pair."""
    return tuple(one / other for one, other in zip(ones, others, strict=True))


def differing(ones: Sequence[int], others: Sequence[int]) -> int:
    """How many places hold different tokens, or a token on one side only."""
    return sum(one != other for one, other in zip_longest(ones, others))


@dataclass(frozen=True)
class Report:
    """What a benchmark found, and on which machine with which software."""

    benchmark: str
    machine: Machine
    versions: dict[str, str]
    figures: tuple[Figure, ...]

    @property
    def kept(self) -> bool:
        return all(figure.kept for figure in self.figures)

    def table(self) -> Table:
        header = ("figure", "median", "lowest", "highest", "repeats", "promise", "kept")
        return Table(header, tuple(map(_row, self.figures)))

    def text(self) -> str:
        """The machine and the table, for people."""
        return f"{self.benchmark} on {self.machine.name}\n\n{self.table().text()}"

    def json(self) -> str:
        """Everything, with each figure's median and verdict beside its repeats."""
        figures = [asdict(f) | {"median": f.median, "kept": f.kept} for f in self.figures]
        return json.dumps(asdict(self) | {"figures": figures, "kept": self.kept}, indent=2)


def _row(figure: Figure) -> tuple[str, ...]:
    spread = (figure.median, min(figure.repeats), max(figure.repeats))
    verdict = ("yes" if figure.kept else "NO") if figure.promise else ""
    return (
        figure.name,
        *map(digits, spread),
        str(len(figure.repeats)),
        figure.promise,
        verdict,
    )
