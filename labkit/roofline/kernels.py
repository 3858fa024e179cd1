"""The time of a pass, kernel by kernel, on roofs whose curves a probe has measured.

A roof is what large operations reach. A model of a few hundred million weights is made of small
ones: its matrices are too small to stream at full rate, its prompts too short to multiply at full
rate, its attention is a kernel of its own, and each operator between the products reads its input
from memory and writes its output back. What such operations reach is measured by the probe, apart
from any model; here the pieces are put together again.

Kernels run one after the other, so each has its own roofline and the times add up. Inside a kernel
compute and memory run at once, with one exception: a CPU copies the weights of a product with
several rows into its kernel's own order before it multiplies, and so waits for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..records.estimate import Cost
from ..records.machine import Rate, Roofs


@dataclass(frozen=True)
class Kernel:
    """Seconds that one kind of kernel computes and moves bytes, over all layers."""

    name: str
    compute_s: float
    memory_s: float
    at_once: bool = True

    @property
    def shared_s(self) -> float:
        """How long it does both."""
        return min(self.compute_s, self.memory_s) if self.at_once else 0.0

    @property
    def seconds(self) -> float:
        return self.compute_s + self.memory_s - self.shared_s


def kernels(cost: Cost, roofs: Roofs, dtype: str) -> Iterator[Kernel]:
    """The kinds of kernels of a pass. Needs roofs with all three curves for `dtype`, and a copy."""
    rows, new = cost.tokens, cost.tokens // cost.sequences
    products, reads = roofs.flops_by_rows[dtype], roofs.read_by_bytes[dtype]
    for name, flops, n_bytes, count, size in (
        ("linear", cost.linear_flops, cost.linear_bytes, rows, cost.matrix_bytes),
        ("head", cost.head_flops, cost.head_bytes, cost.logit_rows, cost.head_bytes),
    ):
        compute_s, memory_s = flops / rate_at(products, count), n_bytes / rate_at(reads, size)
        yield Kernel(name, compute_s, memory_s, roofs.device != "cpu" or count == 1)
    attention_s = cost.attention_flops / rate_at(roofs.attention_by_rows[dtype], new)
    yield Kernel("attention", attention_s, cost.kv_read_bytes / roofs.read_bytes_per_s)
    copied = cost.kv_copy_bytes + 2 * cost.kv_write_bytes  # what is written was read before
    yield Kernel("cache", 0.0, copied / roofs.copy_bytes_per_s)
    yield Kernel("activations", 0.0, cost.activation_bytes / roofs.copy_bytes_per_s)


def has_curves(roofs: Roofs, dtype: str) -> bool:
    """Whether a probe has measured all that `kernels` needs."""
    curves = (roofs.flops_by_rows, roofs.attention_by_rows, roofs.read_by_bytes)
    rates = (roofs.read_bytes_per_s, roofs.copy_bytes_per_s)
    return all(dtype in curve for curve in curves) and None not in rates


def rate_at(curve: Sequence[Rate], size: float) -> float:
    """The rate at any size, from those measured; beyond the ends, that of the end.

    Between two sizes the *time* grows evenly, as it does for a fixed start and a steady rate.
    """
    if size <= curve[0].size:
        return curve[0].per_s
    for low, high in pairwise(curve):
        if size <= high.size:
            low_s, high_s = low.size / low.per_s, high.size / high.per_s
            part = (size - low.size) / (high.size - low.size)
            return size / (low_s + part * (high_s - low_s))
    return curve[-1].per_s
