"""From work to time: the roofline of Williams, Waterman and Patterson (CACM 2009), plus the host.

A pass takes at least its FLOPs ÷ FLOP/s and at least its bytes ÷ bandwidth. The two run at once,
so the larger one counts. Real kernels miss both roofs by some 10 to 40 %; by how much here, only a
measurement tells.
"""

from __future__ import annotations

from ..records.estimate import Cost, Estimate
from ..records.machine import Machine, Roofs
from ..records.model_shape import ModelShape
from ..records.workload import Workload
from .kernels import has_curves, kernels
from .weights import matrix_parameters
from .work import decode_step, naive_step, prefill


def datasheet_roofs(machine: Machine) -> Roofs:
    """A datasheet's peaks as roofs. The host's overhead is on no datasheet: unknown."""
    return Roofs(
        device=machine.device,
        flops_per_s=machine.peak_flops_per_s,
        read_bytes_per_s=machine.bandwidth_bytes_per_s,
        source=machine.source,
    )


def predict(cost: Cost, roofs: Roofs, dtype: str | None = None) -> Estimate:
    """Least time for that work on those roofs; copies run at the copy roof where it is known.

    With probed roofs the time is put together kernel by kernel. `dtype` overrides what the products
    are computed in. Raises ValueError where a roof is unknown.
    """
    if cost.layers:
        roofs = roofs.for_layers(cost.layers)
    if has_curves(roofs, dtype or cost.dtype):
        return _by_kernels(cost, roofs, dtype or cost.dtype)
    copy_rate = roofs.copy_bytes_per_s or _bandwidth(roofs)
    steady_s = (cost.bytes - cost.kv_copy_bytes) / _bandwidth(roofs)
    return Estimate(
        compute_s=cost.flops / _flops_per_s(roofs, dtype or cost.dtype),
        memory_s=steady_s + cost.kv_copy_bytes / copy_rate,
        overhead_s=roofs.overhead_s,
        overlaps=roofs.overlaps,
    )


def _by_kernels(cost: Cost, roofs: Roofs, dtype: str) -> Estimate:
    parts = list(kernels(cost, roofs, dtype))
    return Estimate(
        compute_s=sum(part.compute_s for part in parts),
        memory_s=sum(part.memory_s for part in parts),
        overhead_s=roofs.overhead_s,
        overlaps=roofs.overlaps,
        shared_s=sum(part.shared_s for part in parts),
    )


def predict_cached(shape: ModelShape, work: Workload, roofs: Roofs) -> list[Estimate]:
    """One estimate for each new token with a growing cache: prefill first, then decode steps."""
    how = (work.batch, work.dtype, work.kv_dtype)
    first = prefill(shape, work.prompt_tokens, *how)
    later = range(work.prompt_tokens + 1, work.context + 1)
    steps = [first, *(decode_step(shape, context, *how) for context in later)]
    return [predict(cost, roofs) for cost in steps]


def predict_naive(shape: ModelShape, work: Workload, roofs: Roofs) -> list[Estimate]:
    """One estimate for each new token when every step recomputes the whole sequence."""
    lengths = range(work.prompt_tokens, work.context + 1)
    steps = [naive_step(shape, length, work.batch, work.dtype) for length in lengths]
    return [predict(cost, roofs) for cost in steps]


def ridge_point(roofs: Roofs, dtype: str = "bfloat16") -> float:
    """FLOPs for each byte from which compute, not bandwidth, is the roof."""
    return _flops_per_s(roofs, dtype) / _bandwidth(roofs)


def ridge_tokens(shape: ModelShape, roofs: Roofs, dtype: str = "bfloat16") -> float:
    """Tokens processed together whose FLOPs take as long as reading the weights once.

    Below it more tokens in a pass cost nothing; near ridge point × bytes of a weight ÷ 2. The KV
    cache, which grows with the batch, is left out; so are the further experts that a mixture reads.
    """
    step = decode_step(shape, 1, dtype=dtype)
    return _tokens_in(step.weight_bytes / _bandwidth(roofs), shape, roofs, step.dtype)


def crossover(shape: ModelShape, roofs: Roofs, dtype: str = "bfloat16", batch: int = 1) -> float:
    """n*: the length at which a naive step starts to cost more than a cached one.

    Both wait for the weights, and on a GPU for the host's launches; up to n* the naive step's FLOPs
    hide behind that: n* = max(overhead, weight-read time) × FLOP/s ÷ (2 × parameters × batch). On
    a CPU the host's time comes on top for both, so it moves nothing. Attention and KV are left out.
    """
    step = decode_step(shape, 1, batch, dtype)
    floor_s = step.weight_bytes / _bandwidth(roofs)
    if roofs.overlaps:
        floor_s = max(floor_s, roofs.overhead_s or 0.0)
    return _tokens_in(floor_s, shape, roofs, step.dtype) / batch


def _tokens_in(seconds: float, shape: ModelShape, roofs: Roofs, dtype: str) -> float:
    """Tokens whose linear layers the machine can compute in that time."""
    return seconds * _flops_per_s(roofs, dtype) / (2 * matrix_parameters(shape))


def _flops_per_s(roofs: Roofs, dtype: str) -> float:
    if dtype not in roofs.flops_per_s:
        known = ", ".join(roofs.flops_per_s) or "none"
        raise ValueError(
            f"no FLOP/s known for {dtype} here (known: {known}): choose one of those, or probe"
        )
    return roofs.flops_per_s[dtype]


def _bandwidth(roofs: Roofs) -> float:
    if roofs.read_bytes_per_s is None:
        raise ValueError("no memory bandwidth known here: probe the machine, or choose a known one")
    return roofs.read_bytes_per_s
