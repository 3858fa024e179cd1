"""Forward passes timed over a range of settings: what lessons 04 and 05 measure.

A `Pass` says what one forward pass is for, a `Timing` how long it took each time it was tried, and
`Passes` holds the timings of one run with what was run and where. Like `Trace`, nothing in here
measures, and each metric is computed from raw nanoseconds.
"""

from __future__ import annotations

import json
from dataclasses import asdict, astuple, dataclass, field
from statistics import median

from .machine import Machine, Roofs
from .model_shape import ModelShape
from .trace import NS, percentile


@dataclass(frozen=True)
class Pass:
    """A pass over `new_tokens` of each of `batch` sequences, the last of them at `context`.

    As many new tokens as context is a prefill; one new token with a longer context, a decode step.
    """

    new_tokens: int
    context: int
    batch: int = 1
    dtype: str = "float32"

    @property
    def tokens(self) -> int:
        """Tokens that go through the layers together."""
        return self.batch * self.new_tokens


@dataclass(frozen=True)
class Timing:
    """What a pass took, try by try. `curve` names the line of the chart that it belongs to.

    `first_call_ns` is the warm-up, which is no part of `wall_ns`.
    """

    curve: str
    what: Pass
    wall_ns: tuple[int, ...]
    first_call_ns: int | None = None

    @property
    def median_s(self) -> float:
        return median(self.wall_ns) * NS

    def percentile_s(self, percent: float) -> float:
        """The time within which `percent` of the tries stayed."""
        return percentile([ns * NS for ns in self.wall_ns], percent)


@dataclass(frozen=True)
class Passes:
    """The timings of one run, in the order of their curves. `roofs` are those it is judged by."""

    name: str  # the model's
    model: ModelShape | None
    machine: Machine
    timings: tuple[Timing, ...]
    roofs: Roofs | None = None
    attention: str = "sdpa"
    threads: int | None = None
    versions: dict[str, str] = field(default_factory=dict, hash=False)
    started_at: str | None = None
    origin: str = "measured"

    def curve(self, name: str) -> tuple[Timing, ...]:
        """The timings of one line of the chart."""
        return tuple(timing for timing in self.timings if timing.curve == name)

    def at(self, curve: str, what: Pass) -> Timing | None:
        """One timing; None where the run did not come so far."""
        return next((timing for timing in self.curve(curve) if timing.what == what), None)


# ---- files ---------------------------------------------------------------------------------------

SCHEMA = "labkit-passes-1"
COLUMNS = ("curve", "new_tokens", "context", "batch", "dtype", "try", "wall_ns")


def passes_to_json(passes: Passes) -> str:
    """Everything, as JSON text."""
    return json.dumps({"schema": SCHEMA, "passes": asdict(passes)}, ensure_ascii=False)


def passes_to_csv(passes: Passes) -> str:
    """A row for each try, for spreadsheets; the warm-up is try 0. What ran where is in the JSON."""
    rows = [
        (t.curve, *astuple(t.what), number, wall_ns)
        for t in passes.timings
        for number, wall_ns in enumerate((t.first_call_ns, *t.wall_ns))
    ]
    return "\n".join(",".join(map(str, row)) for row in (COLUMNS, *rows)) + "\n"
