"""A wait split into its parts, with the evidence, and how sure the rule is that found them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..records.verdict import Evidence

HIGH, MEDIUM, LOW = 3, 2, 1


@dataclass(frozen=True)
class Split:
    """`parts` in seconds by phase, empty where only `phase` is known. `sure` is HIGH to LOW."""

    parts: dict[str, float] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    missing: tuple[str, ...] = ()
    sure: int = HIGH
    phase: str | None = None  # where a rule decides without shares

    @property
    def shares(self) -> dict[str, float]:
        total = sum(self.parts.values())
        return {name: spent / total for name, spent in self.parts.items()} if total > 0 else {}


def insufficient(reason: str, *missing: str) -> Split:
    return Split(evidence=(Evidence(reason),), missing=missing, phase="insufficient-data")
