"""A machine as its datasheet states it, and the roofs as a probe measured them.

The datasheet gives what the silicon could do at best; a program reaches less, and only the probe
knows how much. Both are rates: neither knows what a model asks of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Machine:
    """One accelerator or one CPU socket, from its datasheet.

    `peak_flops_per_s` maps a dtype's name to the *dense* peak: no structured sparsity, 32-bit
    accumulation where the datasheet tells them apart. `device` is torch's word ("cuda" also for
    ROCm). `cores` are CPU cores. `cache_bytes` is the last-level cache, None if unknown.
    """

    name: str
    device: str  # "cpu", "cuda" or "mps"
    memory_bytes: int
    bandwidth_bytes_per_s: float
    peak_flops_per_s: dict[str, float] = field(hash=False)
    cores: int | None = None
    cache_bytes: int | None = None
    source: str = ""

    def __post_init__(self) -> None:
        if self.device not in ("cpu", "cuda", "mps"):
            raise ValueError(f"{self.name}: device is {self.device!r}; use cpu, cuda or mps")
        if not self.peak_flops_per_s:
            raise ValueError(f"{self.name}: give peak_flops_per_s for one dtype at least")
        rates = [self.memory_bytes, self.bandwidth_bytes_per_s, *self.peak_flops_per_s.values()]
        if min(rates) <= 0:
            raise ValueError(f"{self.name}: memory, bandwidth and peaks must be above 0")


@dataclass(frozen=True)
class Roofs:
    """Rates that a program can reach on a machine. None: unknown.

    `overhead_s` is the host's own time for one forward pass: Python, dispatch, kernel launches.
    `spread` is the relative half-width of the probe's repeats, 0.05 for ±5 %.
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
        """True where the host queues work ahead of the device, so their times overlap."""
        return self.device != "cpu"
