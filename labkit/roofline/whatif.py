"""What a run would have taken elsewhere: the roofs of another machine, as far as this run reached.

A prefill and a decode step each reach some share of what the roofs allow. We take it that the same
software reaches the same shares on another machine. That is a guess, so the results are
predictions. Queueing and the network, which a server's TTFT also holds, are not known here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..records.estimate import Cost, Estimate
from ..records.machine import Rate, Roofs
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
class Shares:
    """How much of the speed that the roofs allow each phase reached; None: the run doesn't tell."""

    prefill: float | None = None
    decode: float | None = None


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


def observed(trace: Trace, roofs: Roofs | None = None) -> Observed:
    """A cached run as the start of a what-if, on `roofs` or else on those stored with the run.

    Raises ValueError where it has too little to say.
    """
    roofs = roofs or trace.roofs
    if roofs is None:
        raise ValueError("this run has no roofs: probe the machine first, and give its roofs")
    if trace.model is None:
        raise ValueError(f"the shape of {trace.settings.model} is unknown: choose a known model")
    if trace.arm == "naive" or trace.tpot_s is None:
        raise ValueError("take a run with a cache and at least 2 tokens, such as the race's second")
    chosen = trace.settings
    work = Workload(chosen.prompt_tokens, len(trace.steps), chosen.batch, chosen.dtype)
    times = (trace.ttft_s, trace.tpot_s)
    grows = trace.arm == "cached"
    return Observed(trace.model, roofs, work, *times, trace.machine.name, trace.origin, grows)


def outlook(
    shape: ModelShape,
    work: Workload,
    roofs: Roofs,
    grows: bool = False,
    shares: Shares = Shares(),
) -> Outlook:
    """What those roofs allow, as far as `shares` of it is reached; an unknown share counts as all.

    Raises ValueError for lengths that the model can't have.
    """
    first, later = (predict(cost, roofs) for cost in _costs(shape, work, grows))
    return Outlook(_slowed(first, shares.prefill), _slowed(later, shares.decode))


def calibrate(run: Observed) -> Shares:
    """Sets TTFT and TPOT against what the roofs allow, the host's time left out of both."""
    best = outlook(run.shape, run.work, run.roofs, run.grows)
    return Shares(_share(best.first, run.ttft_s), _share(best.later, run.tpot_s))


def upgraded(roofs: Roofs, upgrade: str, times: float = 2.0) -> Roofs:
    """The machine with so many times the FLOP/s or the bandwidth."""
    if upgrade == "FLOP/s":
        return replace(
            roofs,
            flops_per_s={dtype: rate * times for dtype, rate in roofs.flops_per_s.items()},
            flops_by_rows=_faster(roofs.flops_by_rows, times),
            attention_by_rows=_faster(roofs.attention_by_rows, times),
        )
    if upgrade == "bandwidth":
        return replace(
            roofs,
            read_bytes_per_s=roofs.read_bytes_per_s and roofs.read_bytes_per_s * times,
            copy_bytes_per_s=roofs.copy_bytes_per_s and roofs.copy_bytes_per_s * times,
            read_by_bytes=_faster(roofs.read_by_bytes, times),
        )
    raise ValueError(f"unknown upgrade {upgrade!r}; choose one of {', '.join(UPGRADES)}")


def helpful(now: Outlook, then: dict[str, Outlook]) -> dict[str, str | None]:
    """For "ttft" and "tpot" the upgrade that shortens it most; None where none does by a tenth.

    `then` maps each upgrade to the outlook with it.
    """
    found: dict[str, str | None] = {}
    for metric in ("ttft", "tpot"):
        left = {name: getattr(o, f"{metric}_s") for name, o in then.items()}
        best = min(left, key=left.__getitem__)
        found[metric] = best if left[best] <= HELPS * getattr(now, f"{metric}_s") else None
    return found


def _costs(shape: ModelShape, work: Workload, grows: bool) -> tuple[Cost, Cost]:
    how = (work.batch, work.dtype, work.kv_dtype)
    middle = work.prompt_tokens + max(1, work.new_tokens // 2)
    slots = None if grows else middle
    return prefill(shape, work.prompt_tokens, *how), decode_step(shape, middle, *how, slots)


def _share(best: Estimate, seconds: float) -> float | None:
    """None where the host is the limit: then the device's own time is not known."""
    host_s = 0.0 if best.overlaps else best.overhead_s or 0.0
    if best.limiter == "host-overhead" or seconds <= host_s:
        return None
    return best.device_s / (seconds - host_s)


def _slowed(best: Estimate, share: float | None) -> Estimate:
    share = share or 1.0
    shared_s = None if best.shared_s is None else best.shared_s / share
    parts = {"compute_s": best.compute_s / share, "memory_s": best.memory_s / share}
    return replace(best, **parts, shared_s=shared_s)


def _faster(curves: dict[str, tuple[Rate, ...]], times: float) -> dict[str, tuple[Rate, ...]]:
    return {
        dtype: tuple(replace(rate, per_s=rate.per_s * times) for rate in curve)
        for dtype, curve in curves.items()
    }
