"""One measured generation: what every forward pass took, and the metrics defined on it.

A `Trace` keeps raw nanoseconds; each metric is a property computed from them, defined here and
nowhere else. Nothing in this file measures: it does not know a clock, a model or a device.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from .machine import Machine, Roofs
from .model_shape import ModelShape

NS = 1e-9


def percentile(values: list[float], percent: float) -> float | None:
    """The value below which `percent` of `values` lie, interpolated linearly; None without values.

    >>> percentile([10.0, 20.0, 30.0, 40.0], 50)
    25.0
    """
    if not values:
        return None
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@dataclass(frozen=True)
class Step:
    """One forward pass and the token that it gave.

    `token_ids` and `texts` hold one entry for each sequence of the batch. `tokens_in` is how many
    positions of each sequence went through the layers in this pass: the whole sequence in a naive
    step, 1 in a cached one. `context_tokens` is how many positions the new token could attend to.
    `top2_gap` is the smallest distance, over the batch, of the best logit from the second best: a
    tie rule needs it.
    """

    wall_ns: int
    tokens_in: int
    context_tokens: int
    token_ids: tuple[int, ...]
    texts: tuple[str, ...]
    top2_gap: float | None = None
    device_ns: int | None = None
    kv_bytes: int | None = None


@dataclass(frozen=True)
class Settings:
    """Everything about a run that was chosen, so that somebody else can choose the same."""

    prompt_tokens: int
    new_tokens: int
    model: str = "unknown"
    batch: int = 1
    dtype: str = "float32"
    attention: str = "sdpa"
    layout: str = "plain"
    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0
    order: str = "alone"  # "alone", "interleaved" or "one after the other"
    threads: int | None = None
    prompt: str | None = None


@dataclass(frozen=True)
class Trace:
    """The steps of one arm (naive, cached, …) with what was run, where, and with which versions.

    `first_call_ns` is what the very first pass of the arm cost, before the warm-up made it fast; it
    is no part of `steps`. `origin` is "measured" here, or "recorded" when loaded from a file.

    `roofs` are the machine's as probed, for this model. `device_share` is the part of a step during
    which the device computed, 0 to 1, measured on a few more steps after the run; None: unknown.
    """

    arm: str
    model: ModelShape | None  # None: a family whose shape the lab can't read
    settings: Settings
    machine: Machine
    steps: tuple[Step, ...]
    versions: dict[str, str] = field(default_factory=dict)
    started_at: str | None = None
    first_call_ns: int | None = None
    peak_memory_bytes: int | None = None
    origin: str = "measured"
    roofs: Roofs | None = None
    device_share: float | None = None

    @property
    def step_s(self) -> list[float]:
        """Seconds of each forward pass, the prefill first."""
        return [step.wall_ns * NS for step in self.steps]

    @property
    def itl_s(self) -> list[float]:
        """Inter-token latencies: the gaps between tokens. The first token has none before it."""
        return self.step_s[1:]

    @property
    def ttft_s(self) -> float | None:
        """Time to first token. There is no queue here, so it is the prefill."""
        return self.step_s[0] if self.steps else None

    @property
    def tpot_s(self) -> float | None:
        """Time per output token: (last − first token) ÷ (tokens − 1). The first never counts."""
        return sum(self.itl_s) / len(self.itl_s) if self.itl_s else None

    @property
    def total_s(self) -> float:
        """Time from asking to the last token."""
        return sum(self.step_s)

    @property
    def tokens_per_s(self) -> float | None:
        """Output tokens of the whole batch for each second, the prefill's time included."""
        return len(self.steps) * self.settings.batch / self.total_s if self.total_s else None

    @property
    def decode_tokens_per_s(self) -> float | None:
        """Output tokens of the whole batch for each second of decode: batch ÷ TPOT."""
        return self.settings.batch / self.tpot_s if self.tpot_s else None

    @property
    def median_itl_s(self) -> float | None:
        return median(self.itl_s) if self.itl_s else None

    def itl_percentile_s(self, percent: float) -> float | None:
        """The inter-token latency below which `percent` of them lie."""
        return percentile(self.itl_s, percent)

    @property
    def kv_bytes(self) -> int | None:
        """Bytes of the cache's tensors after the last step; None without a cache."""
        return self.steps[-1].kv_bytes if self.steps else None

    def text(self, row: int = 0) -> str:
        """The generated text of one sequence, joined from the tokens' own texts."""
        return "".join(step.texts[row] for step in self.steps)
