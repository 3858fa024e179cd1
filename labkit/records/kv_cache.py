"""How large the KV cache is: 2 · layers · KV heads · head size · positions · bytes.

Two things bend that line. A sliding-window layer forgets: transformers keeps window − 1 positions,
since the next token is the window's last. MLA keeps one latent vector for each position instead of
keys and values of every head. The formulas equal the tensors of `DynamicCache`, to the byte. What
fits in a memory asks for them as much as the theory does, so they stand here, below both.
"""

from __future__ import annotations

from .model_shape import ModelShape
from .workload import dtype_bytes


def kv_elements(shape: ModelShape) -> int:
    """Numbers that one layer caches for one position.

    With MLA the latent and the shared rotated key: that is what transformers 5 stores too, and
    expands again at each step (DeepSeek-V2, arXiv:2405.04434, table 1).
    """
    if shape.mla:
        return shape.mla.kv_rank + shape.mla.rope_dim
    return 2 * shape.kv_heads * shape.head_dim


def kv_bytes(shape: ModelShape, context: int, batch: int = 1, dtype: str = "bfloat16") -> int:
    """The cache of `batch` sequences after `context` positions each.

    Raises ValueError for negative lengths.
    """
    if context < 0 or batch < 0:
        raise ValueError(f"context {context}, batch {batch}: give 0 or more of each")
    kept = layer_positions(shape, context, held=True)
    return int(batch * kept * kv_elements(shape) * dtype_bytes(dtype))


def layer_positions(shape: ModelShape, context: int, held: bool = False) -> int:
    """Positions, summed over layers, that a token at position `context` attends to (itself too).

    With `held`, those that stay in the cache afterwards: one fewer in a window that is full.
    """
    full = (shape.layers - shape.window_layers) * context
    if shape.window is None:
        return full
    return full + shape.window_layers * min(context, shape.window - held)
