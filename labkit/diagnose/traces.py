"""A measured trace: its steps against what `roofline` says that they must take.

The tokens that went through each step are known here, so a naive step isn't mistaken for decode of
the usual kind. Device time, or a probed overhead, shows what the host costs.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median

from ..records.machine import Machine, Roofs
from ..records.model_shape import ModelShape
from ..records.trace import NS, Step, Trace
from ..records.verdict import Evidence
from ..records.workload import DTYPE_BYTES
from ..roofline import datasheet_roofs, forward, predict
from .figures import percent, quotient
from .figures import seconds as text_s
from .hardware import NO_BANDWIDTH, Limit
from .parts import Split, insufficient
from .thresholds import (
    BANDWIDTH_LIMITED,
    CACHE_FACTOR,
    COMPUTE_LIMITED,
    FEWEST_TOKENS,
    HOST_LIMITED,
)


def split_trace(trace: Trace) -> Split:
    """Prefill is the first step, decode the others."""
    if trace.settings.prompt_tokens + len(trace.steps) < FEWEST_TOKENS or not trace.total_s:
        return insufficient("too few tokens to judge", "a run with more tokens")
    decode_s = sum(trace.itl_s)
    parts = {"prefill": trace.ttft_s, "decode": decode_s}
    name = max(parts, key=parts.__getitem__)
    evidence = [Evidence(name, quotient(parts[name], trace.total_s))]
    if _naive(trace):
        again = trace.steps[-1].tokens_in
        claim = "each step computes the whole text again, without a KV cache"
        evidence.append(Evidence(claim, f"{again:,} tokens in the last step"))
    return Split(parts, tuple(evidence))


def _naive(trace: Trace) -> bool:
    return len(trace.steps) > 1 and trace.steps[-1].tokens_in > 1


def limit_of_trace(
    trace: Trace, phase: str, machine: Machine | Roofs | None, shape: ModelShape | None
) -> Limit:
    """What bounds the steps of that phase.

    On the roofs given, else on those stored with the run, else on the machine's datasheet.
    """
    steps = trace.steps[:1] if phase == "prefill" else trace.steps[1:]
    if not steps:
        return Limit()
    step = sorted(steps, key=lambda one: one.wall_ns)[len(steps) // 2]
    shape, machine = shape or trace.model, machine or trace.roofs or trace.machine
    roofs = machine if isinstance(machine, Roofs) else datasheet_roofs(machine)
    idle = _idle(trace, phase, steps)
    host = _host(idle, step, roofs)
    if host:
        return host
    if shape is None or trace.settings.dtype not in DTYPE_BYTES:
        return Limit(missing=("the model's shape",))
    if not roofs.read_bytes_per_s or step.context_tokens > shape.max_context:
        return Limit(missing=(NO_BANDWIDTH,))
    limit = _against_roofs(trace, step, shape, roofs)
    if idle is None:
        return limit
    seen = Evidence("the device computes for most of a step", f"busy {percent(1 - idle)}")
    return replace(limit, evidence=(*limit.evidence, seen))


def _idle(trace: Trace, phase: str, steps: tuple[Step, ...]) -> float | None:
    """The share of a step in which the device waits for the host; None: not measured.

    A run's own share is of its later steps, so it says nothing of a prefill.
    """
    known = [1 - one.device_ns / one.wall_ns for one in steps if one.device_ns and one.wall_ns]
    if known:
        return median(known)
    if phase == "decode" and trace.device_share is not None:
        return 1 - trace.device_share
    return None


def _host(idle: float | None, step: Step, roofs: Roofs) -> Limit | None:
    """Whether a step waits for the host most of the time, as measured or by the probe."""
    wall_s = step.wall_ns * NS
    if idle is not None and idle >= HOST_LIMITED:
        seen = Evidence("the device is idle in most of a step", f"idle {percent(idle)}")
        return Limit("host-overhead", (seen,))
    if roofs.overhead_s and wall_s and roofs.overhead_s >= HOST_LIMITED * wall_s:
        seen = Evidence("the host's own time of a pass", quotient(roofs.overhead_s, wall_s))
        return Limit("host-overhead", (seen,))
    return None


def _against_roofs(trace: Trace, step: Step, shape: ModelShape, roofs: Roofs) -> Limit:
    settings, wall_s = trace.settings, step.wall_ns * NS
    cost = forward(
        shape,
        max(1, min(step.tokens_in, step.context_tokens)),
        max(1, step.context_tokens),
        settings.batch,
        settings.dtype,
        cached=not _naive(trace),
    )
    if cost.dtype not in roofs.flops_per_s or not wall_s:
        return Limit(missing=(f"the machine's FLOP/s in {cost.dtype}",))
    bound = predict(cost, roofs)
    compute, memory = bound.compute_s / wall_s, bound.memory_s / wall_s
    if compute >= COMPUTE_LIMITED and compute >= memory:
        claim = "the step's FLOPs at the machine's rate, of the step's time"
        return Limit("compute", (Evidence(claim, quotient(bound.compute_s, wall_s)),))
    cache = trace.machine.cache_bytes
    if cache and cost.bytes < CACHE_FACTOR * cache:
        claim = "weights and KV fit the cache, so nothing is said of memory bandwidth"
        return Limit(evidence=(Evidence(claim),))
    seen = Evidence("the step's bytes at the memory's rate, of the step's time",
                    quotient(bound.memory_s, wall_s))  # fmt: skip
    if memory >= BANDWIDTH_LIMITED:
        return Limit("memory-bandwidth", (seen,))
    missing = f"device time of a step: only {text_s(bound.device_s)} of it are explained"
    return Limit(evidence=(seen,), missing=(missing,))
