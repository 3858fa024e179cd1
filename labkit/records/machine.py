"""A machine as its datasheet states it, and its roofs as a probe measured them.

The datasheet gives what the silicon could do at best; a program reaches less, and only the probe
knows how much. Neither knows what a model asks of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Machine:
    """One accelerator or one CPU: what its datasheet states, or what the system reports.

    `peak_flops_per_s` maps a dtype's name to the *dense* peak: no structured sparsity, 32-bit
    accumulation where the datasheet tells them apart; empty where unknown. `device` is torch's word
    ("cuda" also for ROCm). `cores` are CPU cores or a GPU's multiprocessors, `cache_bytes` is the
    last-level cache. None: unknown.
    """

    name: str
    device: str  # "cpu", "cuda" or "mps"
    memory_bytes: int
    cores: int | None = None
    cache_bytes: int | None = None
    bandwidth_bytes_per_s: float | None = None
    peak_flops_per_s: dict[str, float] = field(default_factory=dict, hash=False)
    source: str = ""

    def __post_init__(self) -> None:
        if self.device not in ("cpu", "cuda", "mps"):
            raise ValueError(f"{self.name}: device is {self.device!r}; use cpu, cuda or mps")
        rates = [*self.peak_flops_per_s.values(), self.memory_bytes, self.bandwidth_bytes_per_s]
        if any(rate is not None and rate <= 0 for rate in rates):
            raise ValueError(f"{self.name}: memory, bandwidth and peaks must be above 0")


@dataclass(frozen=True)
class Rate:
    """A rate and the size at which it was reached; of what, says the curve that it is part of."""

    size: float
    per_s: float


@dataclass(frozen=True)
class Roofs:
    """Rates that a program can reach on a machine. None, or a dtype that is absent: unknown.

    The first three are the roofs themselves, reached by large operations. Small ones reach less;
    how much less, the three curves say, each by dtype and sorted by size: `flops_by_rows` for a
    product with weights, over the rows that it is for; `attention_by_rows` for attention, over the
    new positions; `read_by_bytes` for a product with one row, over the bytes of its matrix.

    `copy_bytes_per_s` counts what a copy reads plus what it writes. `overhead_s` is the host's own
    time for one forward pass of a model of `layers` layers: Python, dispatch, kernel launches. Each
    layer more or less changes it by `layer_overhead_s`. `spread` is the relative half-width of the
    probe's repeats, 0.05 for ±5 %.
    """

    device: str  # "cpu", "cuda" or "mps"
    flops_per_s: dict[str, float] = field(default_factory=dict, hash=False)
    read_bytes_per_s: float | None = None
    copy_bytes_per_s: float | None = None
    overhead_s: float | None = None
    spread: float | None = None
    source: str = ""
    flops_by_rows: dict[str, tuple[Rate, ...]] = field(default_factory=dict, hash=False)
    attention_by_rows: dict[str, tuple[Rate, ...]] = field(default_factory=dict, hash=False)
    read_by_bytes: dict[str, tuple[Rate, ...]] = field(default_factory=dict, hash=False)
    layers: int | None = None
    layer_overhead_s: float | None = None

    @property
    def overlaps(self) -> bool:
        """True where the host queues work ahead of the device, so that their times overlap."""
        return self.device != "cpu"

    def for_layers(self, layers: int) -> Roofs:
        """The same roofs, with the overhead of a model of so many layers."""
        if self.overhead_s is None or self.layers is None or self.layer_overhead_s is None:
            return self
        further_s = (layers - self.layers) * self.layer_overhead_s
        return replace(self, overhead_s=self.overhead_s + further_s, layers=layers)
