"""How much longer a naive step takes than a cached one, at one length of context.

Naive and cached steps take turns, at contexts of `context` − pairs ÷ 2 to `context` + pairs ÷ 2
tokens; the prefill is no step and is left out.
"""

from __future__ import annotations

from .. import experiments
from ..experiments import RaceRequest
from ..models import Loaded
from .stats import Figure, ratios

AT_LEAST = 3.0


def measure(loaded: Loaded, pairs: int = 9, context: int = 256) -> tuple[Figure, ...]:
    """naive ÷ cached, and both times. `pairs` must be below 2 × `context`."""
    request = RaceRequest(loaded, prompt=context - 1 - pairs // 2, new_tokens=pairs + 1)
    runs = experiments.prepare(request, loaded)
    for _ in experiments.steps(request, runs):
        pass
    naive_s, cached_s = (run.trace().itl_s for run in runs)
    return (
        Figure(f"naive ÷ cached at {context} tokens", ratios(naive_s, cached_s), at_least=AT_LEAST),
        Figure("naive, ms a token", tuple(s * 1e3 for s in naive_s)),
        Figure("cached, ms a token", tuple(s * 1e3 for s in cached_s)),
    )
