"""Fewer bytes for each weight: tokens/s, the text's change, and the prefill, which gains nothing.

All formats run the same compiled step. The best float32 step is the yardstick; what a format costs
the text is its perplexity on a short text, against that of float32.
"""

from __future__ import annotations

from functools import partial

import torch

from ..generate import cached, last_logits
from ..lean import fastest
from ..measure import in_rounds
from ..models import Loaded
from ..perplexity import TEXT, perplexity
from ..quantised import KINDS, kv8, quantised, stored_bytes
from ..roofline.quantised import quantised_step
from ..summary import gb
from .stats import Figure, ratios
from .steps import PROMPT, side, take_turns, times

AT_LEAST = 1.8
WHOLE = "float32"
PREFILL = 256  # tokens
CACHE = "float32, cache in 8 bits"


def measure(loaded: Loaded, rounds: int = 5, new_tokens: int = 48) -> tuple[Figure, ...]:
    """`loaded` is in float32, its weights row by row."""
    forms = {WHOLE: loaded, **{kind: quantised(loaded, kind) for kind in KINDS}}
    ids = loaded.tokenizer.encode(PROMPT, chat=True)
    sides = {n: side(fastest(f.model), ids, new_tokens, f.device) for n, f in forms.items()}
    take_turns(sides, rounds)
    gains = {n: ratios(sides[WHOLE].medians_s, sides[n].medians_s) for n in KINDS}
    best = max(KINDS, key=lambda kind: sorted(gains[kind])[rounds // 2])
    return (
        Figure(f"best format, {best}: tokens/s ÷ {WHOLE}'s", gains[best], at_least=AT_LEAST),
        *(Figure(f"{n}: tokens/s ÷ {WHOLE}'s", gain) for n, gain in gains.items()),
        *times(sides),
        *(_bytes(name, form, len(ids) + new_tokens // 2) for name, form in forms.items()),
        *_perplexities(forms),
        *_prefills(forms, rounds),
        *_cache(loaded, ids, new_tokens, rounds),
    )


def _bytes(name: str, form: Loaded, context: int) -> Figure:
    """MB that a step must move by the theory; the weights' tensors stand in the name."""
    cost = quantised_step(form.shape, context, name, slots=context)
    return Figure(
        f"{name}, MB a token ({gb(stored_bytes(form.model))} stored)", (cost.bytes / 1e6,)
    )


def _perplexities(forms: dict[str, Loaded]) -> list[Figure]:
    ids = forms[WHOLE].tokenizer.encode(TEXT)
    return [Figure(f"{n}: perplexity", (perplexity(f.model, ids),)) for n, f in forms.items()]


@torch.inference_mode()
def _prefills(forms: dict[str, Loaded], rounds: int) -> list[Figure]:
    """Prefill time of each format ÷ float32's: fewer bytes don't help where arithmetic is waited
    for.
    """
    prompt = torch.ones(1, PREFILL, dtype=torch.long, device=forms[WHOLE].device)
    calls = {name: partial(last_logits, form.model, prompt) for name, form in forms.items()}
    taken: dict[str, list[int]] = {name: [] for name in forms}
    for name, ns in in_rounds(calls, rounds, forms[WHOLE].device):
        taken[name].append(ns)
    return [
        Figure(f"{n}: prefill of {PREFILL} tokens ÷ {WHOLE}'s", ratios(taken[n], taken[WHOLE]))
        for n in KINDS
    ]


def _cache(loaded: Loaded, ids: list[int], new_tokens: int, rounds: int) -> list[Figure]:
    """The growing cache in 8 bits ÷ in float32: it saves memory, and each step expands it."""
    loops = {
        WHOLE: partial(cached, loaded.model),
        CACHE: lambda *asked: cached(loaded.model, *asked, cache=kv8(loaded.model)),
    }
    sides = {name: side(loop, ids, new_tokens, loaded.device) for name, loop in loops.items()}
    take_turns(sides, rounds)
    slower = ratios(sides[CACHE].medians_s, sides[WHOLE].medians_s)
    return [Figure("cache in 8 bits: step ÷ that with a float32 cache, eager", slower)]
