"""Attention back ends side by side: what a kernel that keeps its scores to itself saves, and what
not.
"""

from __future__ import annotations

from .. import attention, catalog, models, roofline
from .stats import Figure

LENGTH = 1024
AT_LEAST = 4.0  # times as much memory for the scores written out
EAGER, FLASH = attention.EAGER, "sdpa: flash"


def measure(name: str, rounds: int = 5, length: int = LENGTH) -> tuple[Figure, ...]:
    """Memory against memory where both are there, then time and memory of every back end."""
    shape, device = catalog.model(name), models.default_device()
    dtype = models.dtypes(device)[0]
    found = list(attention.compare(shape, (length,), None, rounds, dtype, device))
    peaks = {one.back_end: one.peak_bytes for one in found}
    saved = [Figure("memory: eager ÷ flash", (peaks[EAGER] / peaks[FLASH],), at_least=AT_LEAST)]
    flops = roofline.attention_flops(shape, length, length) / shape.layers
    return (
        *(saved if FLASH in peaks else []),
        *(
            figure
            for one in found
            for figure in (
                Figure(
                    f"{one.back_end}, ms for {flops / 1e9:.2f} GFLOP",
                    tuple(ns * 1e-6 for ns in one.wall_ns),
                ),
                Figure(f"{one.back_end}, MB", (one.peak_bytes / 1e6,)),
            )
        ),
    )
