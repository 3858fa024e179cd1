"""What a tool's pasted output says, in our words and units, whatever the tool calls it.

A report holds printed figures, and figures that follow from them by the definitions in `trace`. It
knows neither the text it came from nor what the figures mean for the user: `diagnose` says that.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

KINDS = ("request", "aggregate", "window", "rates")


@dataclass(frozen=True)
class Window:
    """One line of an engine's log: an average over all requests during a few seconds.

    `batch` is "prefill" or "decode" where the engine says which of the two it did. `weight_s` is
    how long that took, where the line tells; else all lines count alike.
    """

    prompt_tokens_per_s: float | None = None
    output_tokens_per_s: float | None = None  # of all running requests together
    running: float | None = None
    waiting: float | None = None
    kv_usage: float | None = None  # 0 to 1
    batch: str | None = None
    weight_s: float | None = None


@dataclass(frozen=True)
class Report:
    """One request, one row of a benchmark, one run of log lines, or a table of rates.

    `kind` says what can be concluded: a "request" and an "aggregate" split into phases, a "window"
    shows what the engine was doing, "rates" need a workload first. None: the text doesn't tell.
    Times are those of one request (their mean, where `statistic` says so). Raises ValueError for
    a figure that is negative or not finite.
    """

    tool: str
    kind: str
    label: str | None = None  # the row or run, where a paste has several
    statistic: str = "mean"
    requests: float | None = None
    concurrency: float | None = None  # requests in flight, as configured or measured
    offered_per_s: float | None = None  # requests sent each second
    served_per_s: float | None = None  # requests finished each second
    duration_s: float | None = None  # of the whole run
    # ---- one request ----
    prompt_tokens: float | None = None
    cached_tokens: float | None = None  # of the prompt, found in a cache
    output_tokens: float | None = None
    queue_s: float | None = None
    load_s: float | None = None
    prefill_s: float | None = None
    ttft_s: float | None = None  # from asking to the first token: with queue, where there is one
    decode_s: float | None = None
    tpot_s: float | None = None  # the first token never counts
    inference_s: float | None = None  # prefill and decode together, where the tool can't split
    total_s: float | None = None
    total_counts_idle: bool = False  # the total may hold a user's pauses, and no loading
    prompt_progress: float | None = None  # 0 to 1: the paste ends inside the prefill
    # ---- rates of one request ----
    prefill_tokens_per_s: float | None = None
    decode_tokens_per_s: float | None = None
    output_tokens_per_s: float | None = None  # output tokens ÷ total time
    # ---- spread, which shows queues and cold starts ----
    ttft_median_s: float | None = None
    ttft_min_s: float | None = None
    ttft_tail_s: float | None = None  # p99 or maximum
    tpot_median_s: float | None = None
    # ---- the engine ----
    running: float | None = None
    waiting: float | None = None
    kv_usage: float | None = None  # 0 to 1
    tokens_per_step: float | None = None  # above 1 with speculative decoding
    windows: tuple[Window, ...] = ()
    # ---- what it ran on, where the paste says so ----
    parameters: float | None = None
    active_parameters: float | None = None  # of a mixture of experts
    weight_bits: float | None = None
    weight_bytes: float | None = None
    machine: str | None = None
    gpus: float | None = None
    bandwidth_bytes_per_s: float | None = None
    gpu_busy: float | None = None  # 0 to 1
    cpu_share: float | None = None  # 0 to 1: the part of the model that a CPU computes
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind is {self.kind!r}; use one of {', '.join(KINDS)}")
        for name, value in vars(self).items():
            if isinstance(value, (int, float)) and not 0 <= value < inf:
                raise ValueError(f"{name} is {value}; leave out what was not measured")

    @property
    def unaccounted_s(self) -> float | None:
        """Total minus all phases: what no phase explains. None unless all phases are known."""
        work_s = self.inference_s
        if work_s is None and self.prefill_s is not None and self.decode_s is not None:
            work_s = self.prefill_s + self.decode_s
        if self.total_s is None or work_s is None:
            return None
        loading_s = 0.0 if self.total_counts_idle else self.load_s or 0.0
        return max(0.0, self.total_s - (self.queue_s or 0.0) - loading_s - work_s)
