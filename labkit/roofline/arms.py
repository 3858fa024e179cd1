"""What the roofs allow each arm of a race, token by token, and how far a run was from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ..records.machine import Roofs
from ..records.model_shape import ModelShape
from ..records.workload import Workload
from .times import predict, predict_cached, predict_naive
from .work import decode_step, prefill


@dataclass(frozen=True)
class Said:
    """Predicted seconds of each token of one arm, the first one's prefill first."""

    arm: str
    step_s: tuple[float, ...]


def predict_arm(arm: str, shape: ModelShape, work: Workload, roofs: Roofs) -> Said:
    """The arm's tokens on those roofs. Raises ValueError for an arm that has no prediction."""
    if arm == "naive":
        steps = predict_naive(shape, work, roofs)
    elif arm == "cached":
        steps = predict_cached(shape, work, roofs)
    elif arm == "preallocated":
        later = range(work.prompt_tokens + 1, work.context + 1)
        how = (work.batch, work.dtype, work.kv_dtype)
        costs = [decode_step(shape, place, *how, slots=work.context) for place in later]
        steps = [
            predict(cost, roofs) for cost in (prefill(shape, work.prompt_tokens, *how), *costs)
        ]
    else:
        raise ValueError(f"no prediction for the arm {arm!r}")
    return Said(arm, tuple(step.seconds for step in steps))


def off_by(said: Said, measured_s: Sequence[float]) -> float | None:
    """Predicted ÷ measured − 1, the median over the tokens that both have; None without any."""
    ratios = [p / m - 1 for p, m in zip(said.step_s, measured_s, strict=False)]
    return median(ratios) if ratios else None
