"""What the physics needs to know of a model: its shape, not its weights.

Speed, bytes and FLOPs follow from these few integers alone. The weights' values and the tokenizer are
unknown here; so is whether anybody could load the model.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelShape:
    """The shape of one decoder-only transformer.

    `family` is transformers' `model_type`. `window` is the sliding window in tokens, `window_layers`
    how many of the layers have it; the others attend to everything.
    """

    name: str
    family: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    mlp: int
    vocab: int
    max_context: int
    tied: bool  # one matrix serves as embedding and as output head
    window: int | None = None
    window_layers: int = 0
