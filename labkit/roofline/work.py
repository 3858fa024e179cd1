"""FLOPs and bytes of one forward pass: prefill, a decode step, a naive step.

All three are the same pass, `forward`, over some new tokens that end at some position; only the
cache and the number of new tokens differ. Softmax, norms and other small operations are left out:
they have no matrix product and less than 1 % of the FLOPs.
"""

from __future__ import annotations

from ..records.estimate import Cost
from ..records.kv_cache import kv_bytes, kv_elements, layer_positions
from ..records.model_shape import ModelShape
from ..records.workload import compute_dtype, dtype_bytes
from .weights import (
    expansion_parameters,
    head_parameters,
    matrix_parameters,
    matrix_size,
    parameters_read,
)


def prefill(
    shape: ModelShape,
    prompt_tokens: int,
    batch: int = 1,
    dtype: str = "bfloat16",
    kv_dtype: str | None = None,
) -> Cost:
    """The pass over the whole prompt, which fills the cache."""
    return forward(shape, prompt_tokens, prompt_tokens, batch, dtype, kv_dtype)


def decode_step(
    shape: ModelShape,
    context: int,
    batch: int = 1,
    dtype: str = "bfloat16",
    kv_dtype: str | None = None,
    slots: int | None = None,
) -> Cost:
    """The pass for one new token of each sequence, the one at position `context`.

    `slots` is the size of a preallocated cache: nothing is copied, but every slot is read. None is
    a growing cache: it is copied whole to append one position.
    """
    return forward(shape, 1, context, batch, dtype, kv_dtype, slots)


def naive_step(shape: ModelShape, context: int, batch: int = 1, dtype: str = "bfloat16") -> Cost:
    """The pass that recomputes all `context` positions for one new token, without a cache."""
    return forward(shape, context, context, batch, dtype, cached=False)


def forward(
    shape: ModelShape,
    new: int,
    context: int,
    batch: int = 1,
    dtype: str = "bfloat16",
    kv_dtype: str | None = None,
    slots: int | None = None,
    cached: bool = True,
    causal: bool = True,
    logits: int = 1,
) -> Cost:
    """The pass over `new` tokens of each sequence, the last of them at position `context`.

    Weights are read once, however many the tokens. Logits are computed for the last position only,
    as our generators do, or for the last `logits` where guesses are checked. With `causal` a query
    is counted with the keys that its mask lets through, the work that can't be avoided; without it
    with all keys, which is what torch's FlopCounterMode counts and what a kernel does that knows no
    mask. Raises ValueError for impossible lengths.
    """
    _check(shape, new, context, batch, slots)
    tokens, before, rows = batch * new, context - new, batch * logits
    products = compute_dtype(dtype)
    weight, number = dtype_bytes(dtype), dtype_bytes(products)
    kv_dtype = kv_dtype or products
    kv_token = batch * kv_elements(shape) * dtype_bytes(kv_dtype)  # one position, one layer
    copied = kv_bytes(shape, before, batch, kv_dtype) if cached and not slots else 0
    return Cost(
        tokens=tokens,
        dtype=products,
        linear_flops=2 * tokens * matrix_parameters(shape),
        attention_flops=batch * attention_flops(shape, new, context, causal),
        head_flops=2 * rows * head_parameters(shape),
        linear_bytes=int(parameters_read(shape, tokens) * weight + tokens * shape.hidden * number),
        head_bytes=int(head_parameters(shape) * weight + rows * shape.vocab * number),
        kv_read_bytes=int(_positions_read(shape, new, before, slots) * kv_token) if cached else 0,
        kv_write_bytes=int(new * shape.layers * kv_token) if cached else 0,
        kv_copy_bytes=2 * copied,  # read once, written once
        activation_bytes=int(activation_numbers(shape) * tokens * number),
        sequences=batch,
        logit_rows=rows,
        layers=shape.layers,
        matrix_bytes=int(matrix_size(shape) * weight),
    )


def activation_numbers(shape: ModelShape) -> int:
    """Numbers read and written for one token by all operators that are no product.

    Counted from transformers' layers as they run without a compiler, where each operator reads its
    inputs from memory and writes its output back: an RMSNorm is a square, a mean and two products
    (7 passes over the hidden state; LayerNorm is one kernel: 2), a residual 3, the rotation of
    queries and keys 10, the activation 2, and its product with the gate 3. A mixture's are counted
    for the experts that work on the token.
    """
    norms = shape.norms * (2 if shape.norm_bias else 7) * shape.hidden
    rotated = 0 if shape.learned_positions else 10 * (shape.heads + shape.kv_heads) * shape.head_dim
    width = shape.mlp
    if shape.experts:
        width = (shape.experts.active + shape.experts.shared) * shape.experts.mlp
    return shape.layers * (norms + 6 * shape.hidden + rotated + (5 if shape.gated else 2) * width)


def _positions_read(shape: ModelShape, new: int, before: int, slots: int | None) -> int:
    """Cached positions that attention reads, over all layers: the earlier ones and the new.

    A prompt's keys are fresh from the layer, so a prefill reads none; a preallocated cache is read
    whole.
    """
    if slots:
        return layer_positions(shape, slots)
    return layer_positions(shape, before, held=True) + shape.layers * new if before else 0


def attention_flops(shape: ModelShape, new: int, context: int, causal: bool = True) -> int:
    """Scores and weighted sums of one sequence, over all layers.

    2 · heads · (length of a key + length of a value) for each pair of query and key. MLA, as
    transformers runs it, also expands the latents of all earlier positions again at each step.
    """
    value = shape.mla.v_dim if shape.mla else shape.head_dim
    full = (shape.layers - shape.window_layers) * query_key_pairs(new, context, None, causal)
    windowed = shape.window_layers * query_key_pairs(new, context, shape.window, causal)
    expanded = 2 * shape.layers * (context - new) * expansion_parameters(shape)
    return 2 * shape.heads * (shape.head_dim + value) * (full + windowed) + expanded


def query_key_pairs(new: int, context: int, window: int | None, causal: bool = True) -> int:
    """Pairs that one head of one layer multiplies for the last `new` of `context` positions.

    Causal: position p sees min(p, window) keys, so `new` = `context` = L without a window gives
    L·(L + 1)/2. Not causal: the full rectangle of queries and of the keys at hand.
    """
    before = context - new
    if not causal:
        return new * (new + (before if window is None else min(before, window - 1)))
    return _sum_of_keys(context, window) - _sum_of_keys(before, window)


def _sum_of_keys(last: int, window: int | None) -> int:
    """Σ min(p, window) for p = 1 … last."""
    ramp = last if window is None else min(last, window)
    return ramp * (ramp + 1) // 2 + (last - ramp) * ramp


def score_bytes(shape: ModelShape, context: int, dtype: str = "bfloat16", batch: int = 1) -> int:
    """The attention matrices of one layer, written out: heads · L · L numbers.

    Kernels of the FlashAttention kind never write them to memory; the FLOPs stay.
    """
    return int(batch * shape.heads * context * context * dtype_bytes(dtype))


def length_where_attention_equals_linear(shape: ModelShape, causal: bool = True) -> int | None:
    """The prompt length from which attention's FLOPs exceed those of the linear layers.

    Without windows near matrix_parameters ÷ (heads · head size · layers). None: windows keep it
    below for any length.
    """
    linear = 2 * matrix_parameters(shape)
    enough = 1
    while attention_flops(shape, enough, enough, causal) < linear * enough:
        enough *= 2
        if enough > 2**40:
            return None
    low = enough // 2
    while enough - low > 1:
        middle = (low + enough) // 2
        if attention_flops(shape, middle, middle, causal) < linear * middle:
            low = middle
        else:
            enough = middle
    return enough


def _check(shape: ModelShape, new: int, context: int, batch: int, slots: int | None) -> None:
    if batch < 1 or new < 1 or context < new:
        raise ValueError(
            f"{new} new tokens at position {context}, batch {batch}: give 1 or more of each, and "
            "a position that is not before the new tokens"
        )
    if context > shape.max_context:
        raise ValueError(
            f"{shape.name} takes at most {shape.max_context} positions, not {context}: "
            "shorten the context or choose another model"
        )
    if slots is not None and slots < context:
        raise ValueError(f"{slots} slots can't hold {context} positions; give {context} or more")
