"""What a phase reached of the machine's bandwidth and FLOP/s: the second question, with its limits.

Asked only with facts: bytes of the weights, bandwidth, peak. A limiter never follows from the name
of the phase. Unknown bits for each weight give a range, and only what holds at both ends is said.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..catalog import machines
from ..records.machine import Machine, Roofs
from ..records.model_shape import ModelShape
from ..records.report import Report
from ..records.verdict import Evidence
from ..roofline import decode_step
from .figures import per_second, percent, size
from .figures import seconds as text_s
from .first_token import alone
from .thresholds import (
    BANDWIDTH_LIMITED,
    CACHE_FACTOR,
    FAR_FROM_BANDWIDTH,
    FEWEST_BITS,
    FREE_MEMORY,
    IMPOSSIBLE,
    LONGER_THAN_PREFILL,
    MOST_BITS,
    MOST_KV_BYTES,
)

NO_BANDWIDTH = "the machine's memory bandwidth"
NO_BYTES = "the model's size in bytes: parameters and bits for each"


@dataclass(frozen=True)
class Facts:
    """What is known of the machine. None: unknown."""

    bandwidth: float | None = None
    peak: float | None = None  # FLOP/s in 16 bit
    memory_bytes: float | None = None
    cache_bytes: float | None = None
    name: str = "the machine"


@dataclass(frozen=True)
class Limit:
    """What bounds a phase, why, and what is missing to say more."""

    limiter: str = "undetermined"
    evidence: tuple[Evidence, ...] = ()
    missing: tuple[str, ...] = ()


def machine_facts(r: Report | None, machine: Machine | Roofs | None) -> Facts:
    """Given facts first, then those of the paste, then the catalogue's row for its machine."""
    told = r.bandwidth_bytes_per_s if r else None
    many = (r.gpus or 1) if r else 1
    if machine is None and r and r.machine:
        machine = named(r.machine)
    if isinstance(machine, Roofs):
        return Facts(told or machine.read_bytes_per_s, _peak(machine.flops_per_s))
    if machine is None:
        return Facts(told)
    bandwidth = told or _times(machine.bandwidth_bytes_per_s, many)
    peak = _times(_peak(machine.peak_flops_per_s), many)
    memory, cache = machine.memory_bytes * many, _times(machine.cache_bytes, many)
    return Facts(bandwidth, peak, memory, cache, machine.name)


def _times(value: float | None, many: float) -> float | None:
    return None if value is None else value * many


def _peak(flops_per_s: dict[str, float]) -> float | None:
    """Of 16-bit products, or of whatever else is known, the fastest."""
    sixteen = flops_per_s.get("bfloat16") or flops_per_s.get("float16")
    return sixteen or max(flops_per_s.values(), default=None)


def named(text: str) -> Machine | None:
    """The catalogue's machine whose name holds these words; of several the one with most memory.

    So weights are said not to fit only where they fit none of them.
    """
    words = set(text.lower().replace("-", " ").split())
    found = [
        machine
        for name, machine in machines().items()
        if words <= set(name.lower().replace("-", " ").split())
    ]
    return max(found, key=lambda machine: machine.memory_bytes, default=None)


# ---- decode --------------------------------------------------------------------------------------


def bytes_of_step(r: Report, shape: ModelShape | None) -> tuple[float, float] | None:
    """Least and most bytes that a decode step reads: weights, and KV.

    Without a shape the KV lies between none and what the widest heads of that size would have.
    """
    if shape is not None:
        bits = r.weight_bits
        return _shape_bytes(r, shape, bits or FEWEST_BITS), _shape_bytes(
            r, shape, bits or MOST_BITS
        )
    if r.weight_bytes:
        share = r.active_parameters / r.parameters if r.active_parameters and r.parameters else 1.0
        low = r.weight_bytes * min(1.0, share)
        return low, low + _most_kv(r, r.parameters or r.weight_bytes * 8 / FEWEST_BITS)
    count = r.active_parameters or r.parameters
    if not count:
        return None
    low, high = (count * (r.weight_bits or bits) / 8 for bits in (FEWEST_BITS, MOST_BITS))
    return low, high + _most_kv(r, r.parameters or count)


def _positions(r: Report) -> tuple[int, int]:
    """Context in the middle of the answer, and requests in a step."""
    context = int((r.prompt_tokens or 0) + (r.output_tokens or 0) / 2) or 1
    return context, min(4096, max(1, round(r.running or r.concurrency or 1)))


def _most_kv(r: Report, parameters: float) -> float:
    context, batch = _positions(r)
    return context * batch * parameters * MOST_KV_BYTES


def _shape_bytes(r: Report, shape: ModelShape, bits: float) -> float:
    context, batch = _positions(r)
    step = decode_step(shape, min(context, shape.max_context), batch, "bfloat16")
    return step.kv_read_bytes + step.weight_bytes * bits / 16


def decode_limit(r: Report, facts: Facts, shape: ModelShape | None) -> Limit:
    """What bounds a decode step: TPOT times the tokens that one step gives."""
    if r.cpu_share:
        claim = "part of the model is computed by the CPU, and the GPU waits for it"
        seen = Evidence(claim, f"{percent(r.cpu_share)} on the CPU")
        return Limit("capacity-or-scheduling", (seen,))
    if not r.tpot_s:
        return Limit(missing=("TPOT",))
    odd = _longer_than_prefill(r)
    if odd:
        return odd
    step_s = r.tpot_s * max(1.0, r.tokens_per_step or 1.0)
    moved = bytes_of_step(r, shape)
    if not moved or not facts.bandwidth:
        asked = [
            name
            for name, known in ((NO_BANDWIDTH, facts.bandwidth), (NO_BYTES, moved))
            if not known
        ]
        return Limit(evidence=_if_bandwidth(moved, step_s), missing=tuple(asked))
    return _bandwidth_limit(r, facts, moved, step_s)


def _longer_than_prefill(r: Report) -> Limit | None:
    """At batch 1 prefill reads the same weights, with the same launches, as each decode step."""
    first_s = r.prefill_s or (r.ttft_s if alone(r) else None)
    step_s = r.tpot_s * max(1.0, r.tokens_per_step or 1.0)
    if not first_s or not alone(r) or step_s <= LONGER_THAN_PREFILL * first_s:
        return None
    claim = (
        "reading the weights doesn't explain a decode step that takes longer than the prefill, "
        "which reads them too and launches the same kernels"
    )
    seen = Evidence(claim, f"{text_s(step_s)} for a step, {text_s(first_s)} to the first token")
    ask = (
        "the time of each token: do they come in bursts, as behind a proxy that buffers?",
        "whether other requests shared the machine, or weights were paged in during decode",
    )
    return Limit(evidence=(seen,), missing=ask)


def _if_bandwidth(moved: tuple[float, float] | None, step_s: float) -> tuple[Evidence, ...]:
    if not moved:
        return ()
    rate = moved[0] / step_s
    claim = "reading the weights once for each step needs at least"
    return (Evidence(claim, f"{size(moved[0])} ÷ {text_s(step_s)} = {per_second(rate)}"),)


def _bandwidth_limit(r: Report, facts: Facts, moved: tuple[float, float], step_s: float) -> Limit:
    low, high = (n_bytes / step_s / facts.bandwidth for n_bytes in moved)
    shown = high if high < FAR_FROM_BANDWIDTH else low
    n_bytes = moved[1] if shown == high else moved[0]
    arithmetic = (
        f"{size(n_bytes)} ÷ {text_s(step_s)} = {per_second(n_bytes / step_s)}, "
        f"{percent(shown)} of {per_second(facts.bandwidth)}"
    )
    if facts.memory_bytes and moved[0] > (1 - FREE_MEMORY) * facts.memory_bytes:
        claim = "the weights don't fit the memory, so part of them comes from somewhere slower"
        sizes = f"{size(moved[0])} of weights, {size(facts.memory_bytes)} of memory"
        return Limit("capacity-or-scheduling", (Evidence(claim, sizes),))
    if facts.cache_bytes and moved[1] < CACHE_FACTOR * facts.cache_bytes:
        claim = "weights and KV fit the cache, so nothing is said of memory bandwidth"
        sizes = f"{size(moved[1])} to read in a step, {size(facts.cache_bytes)} of cache"
        return Limit(evidence=(Evidence(claim, sizes),))
    if low > IMPOSSIBLE:
        claim = "more than the memory delivers: a figure is wrong, or a step gives several tokens"
        return Limit(evidence=(Evidence(claim, arithmetic),), missing=(NO_BYTES,))
    if low >= BANDWIDTH_LIMITED:
        return Limit(
            "memory-bandwidth", (Evidence("decode uses the memory's bandwidth", arithmetic),)
        )
    if high < FAR_FROM_BANDWIDTH:
        return Limit("host-overhead", _far(r, arithmetic))
    claim = "decode uses part of the bandwidth; something else costs time as well"
    return Limit(
        evidence=(Evidence(claim, arithmetic),), missing=("how long the GPU is idle in a step",)
    )


def _far(r: Report, arithmetic: str) -> tuple[Evidence, ...]:
    seen = Evidence("decode is far from what the memory allows", arithmetic)
    if r.gpu_busy is None:
        return (seen,)
    return (seen, Evidence("the GPU is idle most of the time", f"busy {percent(r.gpu_busy)}"))
