"""Toys that the tests share: tiny models with seeded random weights, and traces made by hand.

Nothing is downloaded. The models have two layers, and weights so large that no two candidate tokens
are as good as tied: a tie could hide a wrong cache behind a right token, or blame a right one.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    GPT2Config,
    LlamaConfig,
    MistralConfig,
    PreTrainedConfig,
    Qwen3Config,
)

from labkit.generate import cached, naive, preallocated
from labkit.records import Machine, ModelShape, Settings, Step, Trace

FAMILIES = ("llama", "qwen3", "gpt2", "gemma2", "mistral")
VOCAB = 101
CONTEXT = 320
WINDOW = 40  # tokens that gemma2's and mistral's sliding layers see; shorter than the runs


def config(family: str, context: int = CONTEXT) -> PreTrainedConfig:
    """Two layers of 4 query heads on 2 key-value heads of 12 numbers; no end-of-sequence token."""
    common = {
        "vocab_size": VOCAB,
        "hidden_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": context,
        "initializer_range": 0.3,
        "bos_token_id": None,
        "eos_token_id": None,
        "pad_token_id": None,
        "tie_word_embeddings": False,
    }
    gqa = common | {"num_key_value_heads": 2, "head_dim": 12, "intermediate_size": 96}
    match family:
        case "llama":
            return LlamaConfig(**gqa)
        case "qwen3":
            return Qwen3Config(**gqa)
        case "gpt2":
            return GPT2Config(**common)
        case "gemma2":
            return Gemma2Config(**gqa, sliding_window=WINDOW, query_pre_attn_scalar=12)
        case "mistral":
            return MistralConfig(**gqa, sliding_window=WINDOW)
    raise ValueError(family)


@cache
def tiny_model(family: str, context: int = CONTEXT):
    """The model of that family, in float32 on the CPU, always with the same weights."""
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(config(family, context), dtype=torch.float32).eval()


# ---- runs ---------------------------------------------------------------------------------------

ARMS = (naive, cached, preallocated)
every_arm = pytest.mark.parametrize("arm", ARMS)
PROMPT = [5, 17, 80, 3, 42, 99, 8, 61, 23]


def tokens(forwards, row: int = 0) -> list[int]:
    return [forward.token_ids[row].item() for forward in forwards]


@contextmanager
def watched(model):
    """The keyword arguments of each forward pass, and how many positions its output head saw."""
    calls, head_positions = [], []
    hooks = [
        model.register_forward_pre_hook(lambda _, args, kw: calls.append(kw), with_kwargs=True),
        model.lm_head.register_forward_hook(lambda _, x, y: head_positions.append(y.shape[1])),
    ]
    yield calls, head_positions
    for hook in hooks:
        hook.remove()


# ---- records ------------------------------------------------------------------------------------

SHAPE = ModelShape("tiny", "llama", 2, 48, 4, 2, 12, 96, VOCAB, CONTEXT, tied=False)
MACHINE = Machine("test machine", "cpu", memory_bytes=8 * 2**30)


def trace_of(*wall_ms: float, arm: str = "cached", batch: int = 1, **settings) -> Trace:
    """A trace whose passes took `wall_ms`; token i of every sequence is i, its text "<i>"."""
    steps = tuple(
        Step(
            wall_ns=round(ms * 1e6),
            tokens_in=8 if i == 0 else 1,
            context_tokens=8 + i,
            token_ids=(i,) * batch,
            texts=(f"<{i}>",) * batch,
            top2_gap=0.5,
            kv_bytes=384 * (8 + i) * batch,
        )
        for i, ms in enumerate(wall_ms)
    )
    chosen = Settings(prompt_tokens=8, new_tokens=max(len(steps), 1), batch=batch, **settings)
    return Trace(arm, SHAPE, chosen, MACHINE, steps)
