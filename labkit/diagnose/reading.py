"""What a prefill reached of the machine's FLOP/s, from the products with the weights alone.

Attention's own FLOPs grow with the square of the prompt and need the model's shape; where they may
be what is missing, nothing is said of the limit.
"""

from __future__ import annotations

from ..records.model_shape import ModelShape
from ..records.report import Report
from ..records.verdict import Evidence
from ..roofline import matrix_parameters, weight_bytes
from .figures import per_second, percent, size
from .figures import seconds as text_s
from .hardware import Facts, Limit, bytes_of_step
from .thresholds import BANDWIDTH_LIMITED, COMPUTE_LIMITED, IMPOSSIBLE, LONG_FOR_ATTENTION

NO_PEAK = "the machine's peak FLOP/s and the model's parameters"


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
            "memory-bandwidth", (Evidence(claim, f"{size(moved[0])} in {text_s(prefill_s)}"),)
        )
    if computed >= LONG_FOR_ATTENTION:
        claim = "the weights' products alone don't fill the time; attention over so much text may"
        return Limit(evidence=(Evidence(claim, arithmetic),), missing=("TTFT of shorter prompts",))
    claim = "prefill is far from the peak: offload, small chunks or a slow attention kernel"
    return Limit(evidence=(Evidence(claim, arithmetic),), missing=("what runs on which device",))
