"""Whether all arms give the same tokens, as they must in float32."""

from __future__ import annotations

from .. import experiments
from ..experiments import ARMS, RaceRequest
from ..models import Loaded
from .stats import Figure, differing


def measure(loaded: Loaded, new_tokens: int = 256) -> tuple[Figure, ...]:
    """For each arm but the naive one: how many of its tokens are not the naive arm's."""
    request = RaceRequest(loaded, new_tokens=new_tokens, arms=tuple(ARMS), chat=True)
    runs = experiments.prepare(request, loaded)
    for _ in experiments.steps(request, runs):
        pass
    naive, *others = ([step.token_ids[0] for step in run.steps] for run in runs)
    return tuple(
        Figure(f"{run.arm.name}: tokens unlike naive's", (differing(naive, ids),), at_most=0)
        for run, ids in zip(runs[1:], others, strict=True)
    )
