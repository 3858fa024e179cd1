"""What a run would have taken elsewhere: the roofs of another machine, as far as this run reached.

A run reaches some share of each roof: kernels are not perfect. We take it that the same software
reaches the same share on another machine. That is a guess, so the results are predictions. Queueing
and the network, which a server's TTFT also holds, are not known here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..records.estimate import Cost, Estimate
from ..records.machine import Roofs
from ..records.model_shape import ModelShape
from ..records.trace import Trace
from ..records.workload import Workload
from .times import predict
from .work import decode_step, prefill

UPGRADES = ("FLOP/s", "bandwidth")
HELPS = 0.9  # an upgrade helps where it leaves at most this much of the time


@dataclass(frozen=True)
class Observed:
    """A run's two numbers, and what they were measured on. `grows`: the cache is copied to grow."""

    shape: ModelShape
    roofs: Roofs
    work: Workload
    ttft_s: float
    tpot_s: float
    where: str
    origin: str = "measured"
    grows: bool = False

    def __post_init__(self) -> None:
        if not (self.ttft_s > 0 and self.tpot_s > 0):
            raise ValueError("TTFT and TPOT must be above 0 seconds")


@dataclass(frozen=True)
class Calibration:
    """The share of each roof that a run reached; None: the run does not tell."""

    compute: float | None
    memory: float | None


@dataclass(frozen=True)
class Outlook:
    """Prefill and one decode step, halfway through the answer, on some roofs."""

    first: Estimate
    later: Estimate

    @property
    def ttft_s(self) -> float:
        return self.first.seconds

    @property
    def tpot_s(self) -> float:
        return self.later.seconds


def observed(trace: Trace, roofs: Roofs) -> Observed:
    """A cached run as the start of a what-if. Raises ValueError where it has too little to say."""
    if trace.model is None:
        raise ValueError(f"the shape of {trace.settings.model} is unknown: choose a known model")
    if trace.arm == "naive" or trace.tpot_s is None:
        raise ValueError("take a run with a cache and at least 2 tokens, such as the race's second")
    chosen = trace.settings
    work = Workload(chosen.prompt_tokens, len(trace.steps), chosen.batch, chosen.dtype)
    times = (trace.ttft_s, trace.tpot_s)
    grows = trace.arm == "cached"
    return Observed(trace.model, roofs, work, *times, trace.machine.name, trace.origin, grows)


def outlook(shape: ModelShape, work: Workload, roofs: Roofs, grows: bool = False) -> Outlook:
    """What those roofs allow. Raises ValueError for lengths that the model can't have."""
    return Outlook(*(predict(cost, roofs) for cost in _costs(shape, work, grows)))


def calibrate(run: Observed) -> Calibration:
    """Sets TTFT and TPOT against what the roofs allow; each tells of the roof that binds it."""
    shares: dict[str, float] = {}
    best = outlook(run.shape, run.work, run.roofs, run.grows)
    for estimate, seconds in ((best.first, run.ttft_s), (best.later, run.tpot_s)):
        host_s = 0.0 if estimate.overlaps else estimate.overhead_s or 0.0
        if seconds > host_s:
            shares[estimate.limiter] = estimate.device_s / (seconds - host_s)
    return Calibration(shares.get("compute"), shares.get("memory-bandwidth"))


def reached(roofs: Roofs, calibration: Calibration) -> Roofs:
    """Roofs lowered to the share that a run reached; a share that is not known is left at 1."""
    compute, memory = calibration.compute or 1.0, calibration.memory or 1.0
    return _scaled(roofs, compute, memory)


def upgraded(roofs: Roofs, upgrade: str, times: float = 2.0) -> Roofs:
    """The machine with so many times the FLOP/s or the bandwidth."""
    if upgrade not in UPGRADES:
        raise ValueError(f"unknown upgrade {upgrade!r}; choose one of {', '.join(UPGRADES)}")
    return _scaled(roofs, *((times, 1.0) if upgrade == "FLOP/s" else (1.0, times)))


def helpful(shape: ModelShape, work: Workload, roofs: Roofs, grows: bool = False) -> dict:
    """For "ttft" and "tpot": the upgrade that shortens it most, or None where neither helps."""
    now = outlook(shape, work, roofs, grows)
    then = {name: outlook(shape, work, upgraded(roofs, name), grows) for name in UPGRADES}
    found = {}
    for metric in ("ttft", "tpot"):
        best = min(UPGRADES, key=lambda name: getattr(then[name], f"{metric}_s"))
        left = getattr(then[best], f"{metric}_s") / getattr(now, f"{metric}_s")
        found[metric] = best if left <= HELPS else None
    return found


def _costs(shape: ModelShape, work: Workload, grows: bool) -> tuple[Cost, Cost]:
    how = (work.batch, work.dtype, work.kv_dtype)
    middle = work.prompt_tokens + max(1, work.new_tokens // 2)
    slots = None if grows else middle
    return prefill(shape, work.prompt_tokens, *how), decode_step(shape, middle, *how, slots)


def _scaled(roofs: Roofs, compute: float, memory: float) -> Roofs:
    copied = roofs.copy_bytes_per_s
    return replace(
        roofs,
        flops_per_s={dtype: rate * compute for dtype, rate in roofs.flops_per_s.items()},
        read_bytes_per_s=roofs.read_bytes_per_s and roofs.read_bytes_per_s * memory,
        copy_bytes_per_s=copied and copied * memory,
    )
