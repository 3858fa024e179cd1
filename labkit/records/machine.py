"""A machine as its datasheet states it, and its roofs as a probe measured them.

The datasheet gives what the silicon could do at best; a program reaches less, and only the probe
knows how much. Neither knows what a model asks of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field


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
class Roofs:
    """Rates that a program can reach on a machine. None, or a dtype that is absent: unknown.

    `copy_bytes_per_s` counts what a copy reads plus what it writes. `overhead_s` is the host's own
    time for one forward pass: Python, dispatch, kernel launches. `spread` is the relative
    half-width of the probe's repeats, 0.05 for ±5 %.
    """

    device: str  # "cpu", "cuda" or "mps"
    flops_per_s: dict[str, float] = field(default_factory=dict, hash=False)
    read_bytes_per_s: float | None = None
    copy_bytes_per_s: float | None = None
    overhead_s: float | None = None
    spread: float | None = None
    source: str = ""

    @property
    def overlaps(self) -> bool:
        """True where the host queues work ahead of the device, so that their times overlap."""
        return self.device != "cpu"
