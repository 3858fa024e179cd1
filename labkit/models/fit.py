"""Whether a model and a request fit in memory, with the arithmetic, before anything is built.

Weights are counted exactly, on PyTorch's meta device, which builds a model without its numbers.
The KV cache follows from the shape (`records.kv_cache`). The workspace is an upper bound for the
attention back end `sdpa`; `eager` stores its scores and needs more. How fast anything would be is
unknown here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import torch

from .. import catalog
from ..records import ModelShape
from ..records.kv_cache import kv_bytes
from .devices import dtype_name, dtypes
from .memory import free_bytes

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

USABLE = 0.9  # of free memory: allocators round up and leave gaps


@dataclass(frozen=True)
class Fit:
    """What a request needs against what is free, in bytes. `remedy` is empty where it fits."""

    weight_bytes: int
    kv_bytes: int
    workspace_bytes: int
    free_bytes: int
    remedy: str = ""

    @property
    def needed_bytes(self) -> int:
        return self.weight_bytes + self.kv_bytes + self.workspace_bytes

    @property
    def ok(self) -> bool:
        return self.needed_bytes <= USABLE * self.free_bytes

    def __str__(self) -> str:
        parts = (self.weight_bytes, self.kv_bytes, self.workspace_bytes, self.needed_bytes)
        weights, kv, workspace, needed = (f"{part / 1e9:.2f}" for part in parts)
        verdict = "fits" if self.ok else "does not fit"
        return (
            f"weights {weights} + KV cache {kv} + workspace {workspace} = {needed} GB; "
            f"{self.free_bytes / 1e9:.2f} GB are free, {USABLE:.0%} of them usable: {verdict}. "
            f"{self.remedy}"
        ).rstrip()


@dataclass(frozen=True)
class Request:
    """`batch` sequences of `tokens`, prompt and answer together.

    A `loaded` model's weights are in memory already and cost nothing more.
    """

    shape: ModelShape
    dtype: torch.dtype
    tokens: int
    batch: int = 1
    loaded: bool = False

    def fit(self, free: int) -> Fit:
        """The arithmetic against `free` bytes, without a remedy."""
        weights = 0 if self.loaded else parameters(self.shape) * self.dtype.itemsize
        cache = kv_bytes(self.shape, self.tokens, self.batch, dtype_name(self.dtype))
        workspace = workspace_bytes(self.shape, self.dtype, self.tokens, self.batch)
        return Fit(weights, cache, workspace, free)


def fits(
    shape: ModelShape,
    dtype: torch.dtype,
    device: torch.device,
    prompt_tokens: int,
    new_tokens: int,
    batch: int = 1,
    loaded: bool = False,
) -> Fit:
    """Whether `batch` such sequences fit on `device` beside what is there now, and what else would.

    With `loaded` the weights are in memory already, and only KV cache and workspace are new.
    """
    request = Request(shape, dtype, prompt_tokens + new_tokens, batch, loaded)
    fit = request.fit(free_bytes(device))
    return fit if fit.ok else replace(fit, remedy=_remedy(request, device, fit.free_bytes))


@cache
def parameters(shape: ModelShape) -> int:
    """Numbers to store for a model of this shape; a tied head counts once."""
    from .shapes import config_of

    return parameters_of(config_of(shape))


def parameters_of(config: PreTrainedConfig) -> int:
    """Numbers to store for a model of this config; a tied head counts once."""
    from copy import deepcopy

    from transformers import AutoModelForCausalLM

    with torch.device("meta"):  # deepcopy: from_config writes into the config it is given
        model = AutoModelForCausalLM.from_config(deepcopy(config), dtype=torch.float32)
    return sum(parameter.numel() for parameter in model.parameters())


def workspace_bytes(shape: ModelShape, dtype: torch.dtype, tokens: int, batch: int = 1) -> int:
    """Upper bound of what lives only during a forward pass over all `tokens`, in bytes.

    A position: residual, normed input, attention's output, and a float32 copy of one of them;
    queries, keys and values, before and after rotation; three vectors as wide as the MLP; one
    layer's keys and values again, while the growing cache is copied. A sequence: two rows of
    float32 logits, and what attention needs for each pair of positions.
    """
    keys_values = 2 * shape.kv_heads * shape.head_dim
    heads = 2 * (shape.heads * shape.head_dim + keys_values) + keys_values
    position = (3 * shape.hidden + heads + 3 * shape.mlp) * dtype.itemsize + 4 * shape.hidden
    pairs = tokens * tokens * _pair_bytes(shape, dtype, batch)
    return batch * (tokens * position + 8 * shape.vocab + pairs)


def _pair_bytes(shape: ModelShape, dtype: torch.dtype, batch: int) -> int:
    """Bytes for each pair of positions: none while attention keeps neither mask nor scores.

    Sequences of different lengths and windows need a mask, as booleans and as numbers. Gemma 2 caps
    its scores, which no fused kernel does here: three copies in up to float32, for each head.
    """
    mask = dtype.itemsize + 1 if batch > 1 or shape.window else 0
    return mask + (3 * 4 * shape.heads if shape.family == "gemma2" else 0)


# ------------------------------------------------------------------------------------------------


def _remedy(request: Request, device: torch.device, free: int) -> str:
    """Each single change that would make the request fit, or the news that none does."""

    def ok(**change: object) -> bool:
        return replace(request, **change).fit(free).ok

    found = []
    narrow = [d for d in dtypes(device) if d.itemsize < request.dtype.itemsize]
    if narrow and not request.loaded and ok(dtype=narrow[0]):
        found.append(dtype_name(narrow[0]))
    if batch := _largest(request.batch - 1, lambda n: ok(batch=n)):
        found.append(f"a batch of {batch}")
    if tokens := _largest(request.tokens - 1, lambda n: ok(tokens=n)):
        found.append(f"{tokens:,} tokens, prompt and answer together")
    if smaller := _smaller_model(request, ok):
        found.append(f"the smaller model {smaller}")
    if found:
        return f"What would fit: {'; or '.join(found)}."
    return "Nothing smaller would: close other programs, or use a machine with more memory."


def _largest(limit: int, ok: Callable[[int], bool]) -> int:
    """The largest n of 1 to `limit` that is ok, by bisection; 0 where none is."""
    low, high = 0, max(limit, 0)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if ok(middle) else (low, middle - 1)
    return low


def _smaller_model(request: Request, ok: Callable[..., bool]) -> str | None:
    """The largest known model, smaller than this one, that would take the same request."""
    if request.loaded:
        return None
    size = parameters(request.shape)
    smaller = [s for s in catalog.models().values() if parameters(s) < size]
    long_enough = (s for s in smaller if s.max_context >= request.tokens)
    for shape in sorted(long_enough, key=parameters, reverse=True):
        if ok(shape=shape):
            return shape.name
    return None
