"""Decode for many sequences at once: tokens a second over the batch, and where they stop growing.

A step reads the weights once for all sequences, does arithmetic for each, and reads each one's own
cache. The first is shared, the two others are not: where they take as long as the shared part, a
further sequence no longer rides for free.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..records.estimate import Estimate
from ..records.machine import Roofs
from ..records.model_shape import ModelShape
from .cache import kv_bytes
from .times import predict
from .weights import matrix_parameters
from .work import decode_step


@dataclass(frozen=True)
class BatchPoint:
    """A decode step for `batch` sequences, as the roofs allow it."""

    batch: int
    estimate: Estimate

    @property
    def step_s(self) -> float:
        """What a user waits for the next token."""
        return self.estimate.seconds

    @property
    def tokens_per_s(self) -> float:
        """What all users get together."""
        return self.batch / self.estimate.seconds


def batch_points(
    shape: ModelShape, context: int, batches: list[int], roofs: Roofs, dtype: str = "bfloat16"
) -> list[BatchPoint]:
    """Steps of several sizes, every sequence at position `context`, in a preallocated cache.

    Raises ValueError where a roof is unknown or the model can't have that context.
    """
    costs = [decode_step(shape, context, batch, dtype, slots=context) for batch in batches]
    return [BatchPoint(b, predict(cost, roofs)) for b, cost in zip(batches, costs, strict=True)]


def saturation_batch(
    shape: ModelShape, context: int, roofs: Roofs, dtype: str = "bfloat16"
) -> float:
    """The batch whose own work takes as long as the work that it shares.

    weights ÷ bandwidth, over the longer of one sequence's FLOPs ÷ FLOP/s and its cache ÷ bandwidth.
    Well below it throughput grows with the batch; well above it hardly. With short contexts it is
    the ridge; with long ones the batch whose caches are as large as the weights.
    """
    step = decode_step(shape, context, 1, dtype)
    if roofs.read_bytes_per_s is None or step.dtype not in roofs.flops_per_s:
        raise ValueError(f"no roofs known for {step.dtype} here: probe the machine first")
    shared_s = step.weight_bytes / roofs.read_bytes_per_s
    flops_s = 2 * matrix_parameters(shape) / roofs.flops_per_s[step.dtype]
    cache_s = kv_bytes(shape, context, 1, step.dtype) / roofs.read_bytes_per_s
    return shared_s / max(flops_s, cache_s)
