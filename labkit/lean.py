"""A Llama's decode step for one token of one stream, written out so that a compiler sees all of it.

A matrix times a vector is written as what it is: products, summed over each row (`times`). Eager
torch would write all products to memory first. The compiler makes one loop of it, which reads each
weight once, converts it in a register where it has fewer bits, and adds up in another. Such a loop
waits for memory alone, and at batch 1 no program can do better than that.

One layer is compiled and runs for all of them: they differ in their tensors only. The weights are
the model's own, where they lie row by row, so a lean step costs no further memory.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import StaticCache

from .compiled import SHAPES, Compiled, Step
from .generate import BadRequest
from .quantised import Matrix, QuantisedLinear, Rows, times

FAMILIES = ("llama", "mistral")


class UnknownFamily(BadRequest):
    """The step written here is not what this model computes."""


class Layer(NamedTuple):
    """The weights of one layer, in the order of use."""

    norm: Tensor
    q: Matrix
    k: Matrix
    v: Matrix
    out: Matrix
    mlp_norm: Tensor
    gate: Matrix
    up: Matrix
    down: Matrix


# ---- the mathematics ----------------------------------------------------------------------------


def normed(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """RMSNorm."""
    return weight * (x * torch.rsqrt(x.square().mean() + eps))


def rotated(heads: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding of heads (n, head_dim)."""
    first, second = heads.chunk(2, dim=-1)
    return heads * cos + torch.cat([-second, first], dim=-1) * sin


def attended(q: Tensor, keys: Tensor, values: Tensor, position: Tensor) -> Tensor:
    """What query heads (heads, head_dim) read from keys and values (kv_heads, slots, head_dim)."""
    kv_heads, slots, head_dim = keys.shape
    groups = q.view(kv_heads, -1, 1, head_dim)  # query heads that share a KV head
    scores = (groups * keys[:, None]).sum(-1) * head_dim**-0.5  # (kv_heads, group, slots)
    seen = torch.arange(slots, device=q.device) <= position
    shares = scores.masked_fill(~seen, -torch.inf).softmax(-1)
    return (shares[..., None] * values[:, None]).sum(-2).reshape(-1)


def run_layer(
    x: Tensor,
    layer: Layer,
    keys: Tensor,
    values: Tensor,
    turn: Tensor,
    position: Tensor,
    eps: float,
) -> Tensor:
    """One layer for the token at `position`, hidden state (hidden,) in and out.

    Writes the token's key and value into the cache. `turn` (2, head_dim) is the rotation's cosine
    and sine there.
    """
    inside, head_dim = normed(x, layer.norm, eps), keys.shape[-1]
    q, k, v = (times(m, inside).view(-1, head_dim) for m in (layer.q, layer.k, layer.v))
    keys.index_copy_(1, position, rotated(k, *turn)[:, None].to(keys.dtype))
    values.index_copy_(1, position, v[:, None].to(values.dtype))
    x = x + times(layer.out, attended(rotated(q, *turn), keys, values, position))
    inside = normed(x, layer.mlp_norm, eps)
    return x + times(layer.down, F.silu(times(layer.gate, inside)) * times(layer.up, inside))


def run_head(x: Tensor, norm: Tensor, head: Matrix, eps: float) -> Tensor:
    """Logits (1, vocab)."""
    return times(head, normed(x, norm, eps))[None]


# ---- from a model -------------------------------------------------------------------------------


def lean(model) -> Compiled:
    """The model with this step: called like an arm, for one sequence. Raises BadRequest."""
    return Compiled(model, step_of(model))


def fastest(model) -> Compiled:
    """The compiled step that suits one stream best: on a CPU the lean one, where it is written."""
    if model.device.type != "cpu":
        return Compiled(model)
    try:
        return lean(model)
    except UnknownFamily:
        return Compiled(model)


def step_of(model) -> Step:
    """The decode step of a Llama, to be compiled on its first call.

    Raises UnknownFamily for a family, or a variant of one, that computes something else.
    """
    check_family(model.config)
    how = {"dynamic": False, "fullgraph": True, "recompile_limit": SHAPES}
    eps = model.config.rms_norm_eps
    layer_of = torch.compile(partial(run_layer, eps=eps), **how)
    head_of = torch.compile(partial(run_head, eps=eps), **how)
    inner, head = model.model, matrix_of(model.lm_head)
    layers = [_layer(layer) for layer in inner.layers]

    def step(ids: Tensor, positions: Tensor, mask: Tensor | None, cache: StaticCache) -> Tensor:
        if len(ids) > 1:
            raise BadRequest("the lean step is for one stream: ask for a batch of 1")
        x = inner.embed_tokens(ids)[0, 0].float()
        turn = torch.cat(inner.rotary_emb(x, positions))[:, 0]
        for layer, kept in zip(layers, cache.layers, strict=True):
            x = layer_of(x, layer, kept.keys[0], kept.values[0], turn, positions[0])
        return head_of(x, inner.norm.weight, head)

    return step


def matrix_of(linear: nn.Module) -> Matrix:
    """The weights of a linear layer; of a plain one row by row: in place if they lie so."""
    if isinstance(linear, QuantisedLinear):
        return linear.matrix
    return Rows(linear.weight.data.contiguous())


def _layer(layer: nn.Module) -> Layer:
    attention, mlp = layer.self_attn, layer.mlp
    return Layer(
        layer.input_layernorm.weight,
        *map(matrix_of, (attention.q_proj, attention.k_proj, attention.v_proj, attention.o_proj)),
        layer.post_attention_layernorm.weight,
        *map(matrix_of, (mlp.gate_proj, mlp.up_proj, mlp.down_proj)),
    )


def check_family(config) -> None:
    """Raises UnknownFamily unless the step here is what the model computes."""
    plain = {
        "attention_bias": False,
        "mlp_bias": False,
        "sliding_window": None,
        "hidden_act": "silu",
    }
    unlike = [name for name, value in plain.items() if getattr(config, name, value) != value]
    if config.model_type not in FAMILIES or unlike:
        what = f" with {unlike[0]}={getattr(config, unlike[0])}" if unlike else ""
        raise UnknownFamily(
            f"the lean step is written for the Llama family, not for {config.model_type}{what}: "
            "use 'compiled', which takes any model"
        )
