"""What a measured pass reached of the machine's roofs, and where a curve of passes bends.

The other direction of `times`: there a time is predicted from roofs, here a measured time is set
against them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..records.estimate import Cost, Estimate
from ..records.machine import Roofs
from ..records.model_shape import ModelShape
from ..records.passes import Pass, Timing
from .times import predict
from .work import forward


def cost_of(shape: ModelShape, what: Pass) -> Cost:
    """FLOPs and bytes of that pass, with a growing cache."""
    return forward(shape, what.new_tokens, what.context, what.batch, what.dtype)


def expected(shape: ModelShape, what: Pass, roofs: Roofs) -> Estimate:
    """The time that the roofs allow that pass."""
    return predict(cost_of(shape, what), roofs)


def mfu(cost: Cost, seconds: float, roofs: Roofs) -> float | None:
    """FLOPs that had to be done ÷ time ÷ achievable FLOP/s; None where that roof is unknown."""
    roof = roofs.flops_per_s.get(cost.dtype)
    return cost.flops / seconds / roof if roof else None


def mbu(cost: Cost, seconds: float, roofs: Roofs) -> float | None:
    """Bytes that had to move ÷ time ÷ achievable bandwidth; None where that roof is unknown."""
    roof = roofs.read_bytes_per_s
    return cost.bytes / seconds / roof if roof else None


def knee(timings: Sequence[Timing]) -> float | None:
    """Tokens in a pass where the flat part of measured times would meet the rising one.

    The flat part is the shortest time T. The rising one is r seconds a token, the least of all
    points. They meet at T / r: twice as many tokens take twice as long from there on. None for
    fewer than two points.
    """
    if len(timings) < 2:
        return None
    flat_s = min(timing.median_s for timing in timings)
    return flat_s / min(timing.median_s / timing.what.tokens for timing in timings)
