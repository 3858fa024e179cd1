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
from ..roofline import decode_step, matrix_parameters, weight_bytes
from .figures import per_second, percent
from .figures import seconds as text_s
from .first_token import alone
from .thresholds import (
    BANDWIDTH_LIMITED,
    CACHE_FACTOR,
    COMPUTE_LIMITED,
    FAR_FROM_BANDWIDTH,
    FEWEST_BITS,
    IMPOSSIBLE,
    LONGER_THAN_PREFILL,
    MOST_BITS,
)

NO_BANDWIDTH = "the machine's memory bandwidth"
NO_BYTES = "the model's size in bytes: parameters and bits for each"
NO_PEAK = "the machine's peak FLOP/s and the model's parameters"


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
    """The first machine of the catalogue whose name holds these words."""
    words = text.lower().replace("-", " ").split()
    for name, machine in machines().items():
        if set(words) <= set(name.lower().replace("-", " ").split()):
            return machine
    return None


# ---- decode --------------------------------------------------------------------------------------


def bytes_of_step(r: Report, shape: ModelShape | None) -> tuple[float, float] | None:
    """Least and most bytes that a decode step reads: weights, and KV where the shape is known."""
    if shape is not None:
        bits = r.weight_bits
        return _shape_bytes(r, shape, bits or FEWEST_BITS), _shape_bytes(
            r, shape, bits or MOST_BITS
        )
    if r.weight_bytes:
        share = r.active_parameters / r.parameters if r.active_parameters and r.parameters else 1.0
        return r.weight_bytes * min(1.0, share), r.weight_bytes * min(1.0, share)
    count = r.active_parameters or r.parameters
    if not count:
        return None
    return count * (r.weight_bits or FEWEST_BITS) / 8, count * (r.weight_bits or MOST_BITS) / 8


def _shape_bytes(r: Report, shape: ModelShape, bits: float) -> float:
    context = int((r.prompt_tokens or 0) + (r.output_tokens or 0) / 2) or 1
    batch = max(1, round(r.running or r.concurrency or 1))
    step = decode_step(shape, min(context, shape.max_context), min(batch, 4096), "bfloat16")
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
    return (Evidence(claim, f"{_gb(moved[0])} ÷ {text_s(step_s)} = {per_second(rate)}"),)


def _gb(n_bytes: float) -> str:
    return per_second(n_bytes).removesuffix("/s")


def _bandwidth_limit(r: Report, facts: Facts, moved: tuple[float, float], step_s: float) -> Limit:
    low, high = (n_bytes / step_s / facts.bandwidth for n_bytes in moved)
    shown = high if high < FAR_FROM_BANDWIDTH else low
    n_bytes = moved[1] if shown == high else moved[0]
    arithmetic = (
        f"{_gb(n_bytes)} ÷ {text_s(step_s)} = {per_second(n_bytes / step_s)}, "
        f"{percent(shown)} of {per_second(facts.bandwidth)}"
    )
    if facts.memory_bytes and moved[0] > facts.memory_bytes:
        claim = "the weights don't fit the memory, so part of them comes from somewhere slower"
        size = f"{_gb(moved[0])} of weights, {_gb(facts.memory_bytes)} of memory"
        return Limit("capacity-or-scheduling", (Evidence(claim, size),))
    if facts.cache_bytes and moved[1] < CACHE_FACTOR * facts.cache_bytes:
        claim = "the weights fit the cache, so nothing is said of memory bandwidth"
        size = f"{_gb(moved[1])} of weights, {_gb(facts.cache_bytes)} of cache"
        return Limit(evidence=(Evidence(claim, size),))
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


# ---- prefill -------------------------------------------------------------------------------------


def prefill_limit(r: Report, facts: Facts, shape: ModelShape | None, prefill_s: float) -> Limit:
    """2 FLOPs for each parameter and prompt token, against the peak."""
    count = matrix_parameters(shape) if shape else r.active_parameters or r.parameters
    if not count or not facts.peak or not r.prompt_tokens or prefill_s <= 0:
        return Limit(missing=(NO_PEAK if r.prompt_tokens else "the prompt's length",))
    computed = max(1.0, r.prompt_tokens - (r.cached_tokens or 0))
    rate = 2 * count * computed / prefill_s
    share = rate / facts.peak
    arithmetic = (
        f"2 x {count:.3g} x {computed:,.0f} tokens ÷ {text_s(prefill_s)} = "
        f"{per_second(rate, 'FLOP')}, {percent(share)} of {per_second(facts.peak, 'FLOP')}"
    )
    if share > IMPOSSIBLE:
        claim = "more than the machine computes: most of the prompt came from a cache"
        return Limit(evidence=(Evidence(claim, arithmetic),), missing=("how much was cached",))
    if share >= COMPUTE_LIMITED:
        return Limit("compute", (Evidence("prefill uses the machine's FLOP/s", arithmetic),))
    weights = weight_bytes(shape) if shape else None
    moved = (weights, weights) if weights else bytes_of_step(r, None)
    if moved and facts.bandwidth and moved[0] / prefill_s >= BANDWIDTH_LIMITED * facts.bandwidth:
        claim = "so short a prompt costs one reading of the weights"
        return Limit(
            "memory-bandwidth", (Evidence(claim, f"{_gb(moved[0])} in {text_s(prefill_s)}"),)
        )
    claim = "prefill is far from the peak: offload, small chunks or a slow attention kernel"
    return Limit(evidence=(Evidence(claim, arithmetic),), missing=("what runs on which device",))
