"""What the size of the KV cache means: for one more token, against the weights, in a memory.

The size itself is `records.kv_cache`. Quantised weights keep a 16-bit cache unless `kv_dtype` says
otherwise.
"""

from __future__ import annotations

from ..records.kv_cache import kv_bytes, kv_elements
from ..records.model_shape import ModelShape
from ..records.workload import compute_dtype, dtype_bytes
from .weights import weight_bytes


def kv_bytes_per_token(shape: ModelShape, dtype: str = "bfloat16") -> int:
    """What one more position of one sequence adds while no window is full."""
    return int(shape.layers * kv_elements(shape) * dtype_bytes(dtype))


def mha_kv_bytes_per_token(shape: ModelShape, dtype: str = "bfloat16") -> int:
    """What it would add if each query head had a key and a value of its own: no sharing, no latent.

    Divided by `kv_bytes_per_token`, the saving of GQA, MQA or MLA.
    """
    value = shape.mla.v_dim if shape.mla else shape.head_dim
    return int(shape.layers * shape.heads * (shape.head_dim + value) * dtype_bytes(dtype))


def context_for(
    shape: ModelShape, budget_bytes: float, batch: int = 1, dtype: str = "bfloat16"
) -> float | None:
    """The context whose cache is `budget_bytes` large: `kv_bytes` the other way round.

    None where windows keep the cache below the budget however long the text.
    """
    positions = budget_bytes / (batch * kv_elements(shape) * dtype_bytes(dtype))  # over layers
    if shape.window is None or positions <= shape.layers * (shape.window - 1):
        return positions / shape.layers
    growing = shape.layers - shape.window_layers
    if not growing:
        return None
    return (positions - shape.window_layers * (shape.window - 1)) / growing


def context_where_kv_equals_weights(
    shape: ModelShape, dtype: str = "bfloat16", batch: int = 1, kv_dtype: str | None = None
) -> float | None:
    """Beyond this context a decode step reads more cache than weights; None: it never does."""
    return context_for(shape, weight_bytes(shape, dtype), batch, kv_dtype or compute_dtype(dtype))


def largest_context(
    shape: ModelShape,
    memory_bytes: float,
    batch: int = 1,
    dtype: str = "bfloat16",
    kv_dtype: str | None = None,
) -> int:
    """The longest context that fits beside the weights, at most the model's own.

    Counts weights and cache only; a real run needs some room for activations besides. Raises
    ValueError where not even the weights fit.
    """
    room = _room(shape, memory_bytes, dtype)
    fits = context_for(shape, room, batch, kv_dtype or compute_dtype(dtype))
    return shape.max_context if fits is None else min(int(fits), shape.max_context)


def largest_batch(
    shape: ModelShape,
    memory_bytes: float,
    context: int,
    dtype: str = "bfloat16",
    kv_dtype: str | None = None,
) -> int:
    """How many sequences of `context` positions fit beside the weights; 0: not one.

    Raises ValueError where not even the weights fit, or for a context that the model can't have.
    """
    if not 1 <= context <= shape.max_context:
        raise ValueError(f"context is {context}; {shape.name} takes 1 to {shape.max_context}")
    one = kv_bytes(shape, context, 1, kv_dtype or compute_dtype(dtype))
    return int(_room(shape, memory_bytes, dtype) // one)


def _room(shape: ModelShape, memory_bytes: float, dtype: str) -> float:
    weights = weight_bytes(shape, dtype)
    if weights > memory_bytes:
        raise ValueError(
            f"{shape.name} in {dtype} has {weights / 1e9:.1f} GB of weights and the memory holds "
            f"{memory_bytes / 1e9:.1f} GB: choose a smaller model, fewer bits or a larger machine"
        )
    return memory_bytes - weights
