"""How many weights a model has, and how many of them one forward pass reads.

A matrix of m × n weights costs 2·m·n FLOPs for each token, so the same counts give FLOPs too.
They follow the layer equations of each family and equal the tensors that transformers builds.
"""

from __future__ import annotations

from ..records.model_shape import ModelShape
from ..records.workload import dtype_bytes


def parameters(shape: ModelShape) -> int:
    """All weights of the model; a matrix that is both embedding and head counts once."""
    embeddings = shape.vocab * shape.hidden * (1 if shape.tied else 2)
    positions = shape.max_context * shape.hidden if shape.learned_positions else 0
    last_norm = _norm_parameters(shape)
    stored = shape.experts.count if shape.experts else 0
    return embeddings + positions + last_norm + _layers(shape, stored)


def weight_bytes(shape: ModelShape, dtype: str = "bfloat16") -> int:
    """Bytes of the stored weights."""
    return int(parameters(shape) * dtype_bytes(dtype))


def parameters_read(shape: ModelShape, tokens: int) -> int:
    """Weights of the layers that a pass over `tokens` tokens reads, embedding and head left out."""
    return _norm_parameters(shape) + _layers(shape, experts_hit(shape, tokens))


def head_parameters(shape: ModelShape) -> int:
    """The matrix from hidden state to logits."""
    return shape.vocab * shape.hidden


def matrix_parameters(shape: ModelShape) -> int:
    """Weights that one token is multiplied with in the layers: times 2, its linear FLOPs.

    Of a mixture of experts only the active and the shared ones. Biases and norms are no matrices.
    """
    active = shape.experts.active if shape.experts else 0
    return _layers(shape, active) - shape.layers * _vector_parameters(shape)


def matrix_size(shape: ModelShape) -> float:
    """Weights of one of the layers' matrices, on average: small ones are read at a lower rate."""
    width = shape.experts.mlp if shape.experts else shape.mlp
    in_mlp = 3 if shape.gated else 2
    return (attention_parameters(shape) + mlp_parameters(shape, width)) / (4 + in_mlp)


def experts_hit(shape: ModelShape, tokens: int) -> float:
    """Routed experts of a layer that at least one of `tokens` tokens is sent to, as an expectation.

    E·(1 − (1 − k/E)^tokens) for k of E experts, each equally likely and tokens independent: why a
    mixture's decode step reads more weights as the batch grows. 0 without experts.
    """
    if not shape.experts:
        return 0.0
    count = shape.experts.count
    return count * (1 - (1 - shape.experts.active / count) ** tokens)


def attention_parameters(shape: ModelShape) -> int:
    """The matrices of one layer's attention: to queries, keys, values, and back."""
    if shape.mla:
        return _mla_parameters(shape)
    queries = shape.hidden * shape.heads * shape.head_dim
    keys = shape.hidden * shape.kv_heads * shape.head_dim
    return 2 * queries + 2 * keys  # the output matrix is as large as the queries', values as keys


def expansion_parameters(shape: ModelShape) -> int:
    """MLA's matrix from the latent of one position to keys and values of all heads; else 0."""
    if not shape.mla:
        return 0
    return shape.mla.kv_rank * shape.heads * (shape.mla.nope_dim + shape.mla.v_dim)


def mlp_parameters(shape: ModelShape, width: int) -> int:
    """The matrices of one MLP `width` wide: up, down, and the gate where there is one."""
    return (3 if shape.gated else 2) * shape.hidden * width


# ---- parts ---------------------------------------------------------------------------------------


def _layers(shape: ModelShape, experts: float) -> int:
    """All weights of all layers, with `experts` routed experts in each layer that has them."""
    common = attention_parameters(shape) + _vector_parameters(shape)
    if not shape.experts:
        return shape.layers * (common + mlp_parameters(shape, shape.mlp))
    dense = shape.experts.dense_layers
    router = shape.hidden * shape.experts.count
    one = mlp_parameters(shape, shape.experts.mlp)
    sparse = (shape.layers - dense) * (router + (experts + shape.experts.shared) * one)
    return round(shape.layers * common + dense * mlp_parameters(shape, shape.mlp) + sparse)


def _mla_parameters(shape: ModelShape) -> int:
    mla = shape.mla
    wide = shape.heads * shape.head_dim  # queries of all heads
    rank = mla.q_rank
    queries = (shape.hidden + wide) * rank if rank else shape.hidden * wide
    latent = shape.hidden * (mla.kv_rank + mla.rope_dim)
    back = shape.heads * mla.v_dim * shape.hidden
    return queries + latent + expansion_parameters(shape) + back


def _vector_parameters(shape: ModelShape) -> int:
    """Norms and biases of one layer."""
    vectors = shape.norms * _norm_parameters(shape)
    if shape.qk_norm:
        vectors += 2 * shape.head_dim
    if shape.mla:
        vectors += shape.mla.kv_rank + (shape.mla.q_rank or 0)  # norms of the two latents
    if shape.qkv_bias:
        vectors += (shape.heads + 2 * shape.kv_heads) * shape.head_dim
    if shape.dense_bias:
        vectors += 2 * shape.hidden + (2 if shape.gated else 1) * shape.mlp
    return vectors


def _norm_parameters(shape: ModelShape) -> int:
    return shape.hidden * (2 if shape.norm_bias else 1)
