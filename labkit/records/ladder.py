"""The ladder: the same text generated in faster and faster ways, each beside what it must move.

A `Rung` is one way: what it changes, what that costs, its runs, and what the theory says of it. A
rung that this machine lacks something for is kept, with the reason. Nothing here measures or
predicts; the rates follow from the traces and bytes that a rung holds.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from statistics import median

from .agreement import Agreement, agreement
from .machine import Roofs
from .trace import Trace


@dataclass(frozen=True)
class Rung:
    """`token_bytes` must move for each token after the first; `predicted_s` is what it should take.

    `traces` has one run for each round. `note` is what the run itself told, a compile time say.
    """

    name: str
    changed: str
    costs: str
    traces: tuple[Trace, ...] = ()
    token_bytes: float | None = None
    predicted_s: float | None = None
    skipped: str | None = None
    note: str = ""

    @property
    def token_s(self) -> float | None:
        """Time per output token (TPOT), the median over the rounds."""
        times = [trace.tpot_s for trace in self.traces if trace.tpot_s is not None]
        return median(times) if times else None

    @property
    def tokens_per_s(self) -> float | None:
        return 1 / self.token_s if self.token_s else None

    @property
    def off_by(self) -> float | None:
        """Predicted ÷ measured − 1."""
        if self.predicted_s is None or self.token_s is None:
            return None
        return self.predicted_s / self.token_s - 1

    def roof_tokens_per_s(self, roofs: Roofs | None) -> float | None:
        """Tokens that the machine could fetch the bytes for in a second."""
        if roofs is None or roofs.read_bytes_per_s is None or not self.token_bytes:
            return None
        return roofs.read_bytes_per_s / self.token_bytes

    def share_of_roof(self, roofs: Roofs | None) -> float | None:
        """How near it came: MBU, 1 at the roof."""
        roof = self.roof_tokens_per_s(roofs)
        return self.tokens_per_s / roof if roof and self.tokens_per_s else None


@dataclass(frozen=True)
class Ladder:
    """The rungs from the slowest idea up. `roofs` are those that they are judged by."""

    rungs: tuple[Rung, ...] = ()
    roofs: Roofs | None = None

    @property
    def measured(self) -> tuple[Rung, ...]:
        return tuple(rung for rung in self.rungs if rung.token_s is not None)

    def rung(self, name: str) -> Rung | None:
        return next((rung for rung in self.rungs if rung.name == name), None)

    def output(self, rung: Rung) -> Agreement | None:
        """Its tokens against those of the first rung; None without a run of both."""
        if not self.measured or not rung.traces:
            return None
        return agreement(self.measured[0].traces[0], rung.traces[0])


SCHEMA = "labkit-ladder-1"
COLUMNS = ("rung", "round", "step", "wall_ns", "tokens_in", "context_tokens")


def ladder_to_json(ladder: Ladder) -> str:
    """Everything, as JSON text."""
    return json.dumps({"schema": SCHEMA, "ladder": asdict(ladder)}, ensure_ascii=False)


def ladder_to_csv(ladder: Ladder) -> str:
    """A row for each step of each round, for spreadsheets."""
    rows = [
        (rung.name, turn, place, step.wall_ns, step.tokens_in, step.context_tokens)
        for rung in ladder.rungs
        for turn, trace in enumerate(rung.traces, 1)
        for place, step in enumerate(trace.steps, 1)
    ]
    return "\n".join(",".join(map(str, row)) for row in (COLUMNS, *rows)) + "\n"
