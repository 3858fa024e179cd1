"""One small shape for each family, and the model with random weights that transformers makes of it.

Hardly two sizes are equal, so that a formula which takes one for another can't come out right.
"""

from __future__ import annotations

from functools import cache

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from labkit.models.shapes import config_of
from labkit.records.model_shape import Experts, Mla, ModelShape

COMMON = {
    "layers": 3,
    "hidden": 72,
    "heads": 6,
    "kv_heads": 2,
    "head_dim": 20,
    "mlp": 100,
    "vocab": 211,
    "max_context": 400,
    "tied": False,
}
LAYER_NORM = {"gated": False, "norm_bias": True, "head_dim": 12}
EXPERTS = Experts(count=8, active=2, mlp=44, shared=1, dense_layers=1)
MLA = {"head_dim": 18, "kv_heads": 6}


def small(family: str, **different) -> ModelShape:
    return ModelShape(name=f"small {family}", family=family, **(COMMON | different))


SHAPES = [
    small("llama", tied=True),
    small("qwen2", head_dim=12, qkv_bias=True),
    small("qwen3", qk_norm=True),
    small("mistral", window=9, window_layers=3),
    small("gemma2", window=9, window_layers=2, norms=4, tied=True),
    small(
        "gpt2",
        **LAYER_NORM,
        kv_heads=6,
        tied=True,
        qkv_bias=True,
        dense_bias=True,
        learned_positions=True,
    ),
    small("falcon", **LAYER_NORM, kv_heads=1, norms=1, tied=True),
    small("mixtral", experts=Experts(count=4, active=2, mlp=100)),
    small("deepseek_v2", **MLA, experts=EXPERTS, mla=Mla(24, 14, 4, 10)),
    small("deepseek_v3", **MLA, experts=EXPERTS, mla=Mla(24, 14, 4, 10, q_rank=28)),
]
BY_FAMILY = {shape.family: shape for shape in SHAPES}

# 2 layers of 4 heads on 2 KV heads of 8. A layer: queries and output 2·32·32, keys and values
# 2·32·16, MLP 3·32·64: 9,216 matrix weights. Head and embedding: 100·32 = 3,200 each.
HAND = ModelShape("by hand", "llama", 2, 32, 4, 2, 8, 64, 100, 1000, tied=False)


@cache
def build(shape: ModelShape) -> PreTrainedModel:
    """The model with random weights, in plain operations that torch's FLOP counter can see."""
    config = config_of(shape)
    config._experts_implementation = "eager"
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
