"""How well a model foresees a text: the number of equally likely tokens it hesitates between.

exp of the mean of −log p(token | what stands before it). Rounded weights raise it; by how much is
what fewer bytes cost. A short text tells two formats of one model apart, not two models.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F

TEXT = (
    "The river rises in the hills, where rain falls on most days of the winter. It runs through a "
    "narrow valley, turns the wheel of an old mill, and reaches the town after about twenty miles. "
    "People have lived here for a thousand years. They built a bridge of stone, then one of iron, "
    "and every spring they watch the water, because a flood once took both. In summer the river "
    "is slow and warm, children swim below the bridge, and the mill sells bread on Sundays."
)


@torch.inference_mode()
def perplexity(model, ids: Sequence[int]) -> float:
    """Of the tokens after the first. Raises ValueError for fewer than two."""
    if len(ids) < 2:
        raise ValueError("perplexity needs a text of 2 tokens or more")
    tokens = torch.tensor([ids], device=model.device)
    logits = model(input_ids=tokens, use_cache=False).logits[0, :-1].float()
    return F.cross_entropy(logits, tokens[0, 1:]).exp().item()
