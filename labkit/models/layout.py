"""How a weight matrix lies in memory, which decides how fast one CPU core can stream it.

A decode step multiplies every weight matrix with a single vector, so its time is the time to walk
through the matrix. PyTorch stores a linear layer's weight (out, in) row by row; for a vector, MKL
walks the other order, column by column, faster wherever the matrix is at least as tall as wide.
On two x86 cores without a GPU this took a cached step of SmolLM2 from 62 to 46 ms. Large pages of
memory (`pages`) took off another tenth.

The values, the shapes and the tokens stay as they were; only the order of the bytes changes. It is
not known to help GPUs (other kernels) or 16-bit weights on CPUs, and is left alone there.
"""

from __future__ import annotations

import torch
from torch import nn

from ..pages import in_large_pages

LAYOUTS = ("fast", "plain")


def cpu_layout(model: nn.Module) -> int:
    """Store each tall linear weight column by column, in place; returns how many were changed.

    All linear weights move into large pages. A weight shared by two modules (a tied output head) is
    one storage and is turned once. Peak extra memory: the largest matrix twice more.
    `load(..., layout="plain")` leaves them all alone.
    """
    linears = [module for module in model.modules() if isinstance(module, nn.Linear)]
    weights = {id(linear.weight): linear.weight for linear in linears}
    tall = [weight for weight in weights.values() if weight.shape[0] >= weight.shape[1]]
    for weight in tall:
        weight.data = weight.data.t().contiguous().t()  # still (out, in); strides (1, out)
    for weight in weights.values():
        weight.data = in_large_pages(weight.data)
    return len(tall)


def wants_cpu_layout(layout: str, device: torch.device, dtype: torch.dtype) -> bool:
    """Whether the "fast" layout is faster here. Raises ValueError for an unknown layout."""
    if layout not in LAYOUTS:
        raise ValueError(f"unknown layout {layout!r}: use one of {', '.join(LAYOUTS)}")
    return layout == "fast" and device.type == "cpu" and dtype == torch.float32
