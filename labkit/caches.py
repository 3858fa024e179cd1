"""The KV cache itself: its real bytes beside the formula's, and what appending to it takes.

`counts` fills the caches of small models, one of each kind, and weighs the tensors. `decode_step`
times a step with a growing and with a preallocated cache, and appending to each without a step.
`sweeps` has what the two share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, Cache, DynamicCache, StaticCache

from . import generate, measure, models, roofline
from .measure.clock import cache_bytes
from .models.shapes import config_of
from .records import ModelShape
from .records.model_shape import Experts, Mla
from .sweeps import Repeat, check_context, check_room, check_rounds, random_ids

Pairs = Sequence[tuple[Tensor, Tensor]]  # a layer's keys and values, each (1, heads, n, size)
GROWING, FIXED = "growing", "preallocated"
STEP, APPEND = "step", "append"

# ---- bytes: formula and tensors ------------------------------------------------------------------

WINDOW = 64
SIZES = {
    "layers": 4,
    "hidden": 128,
    "heads": 8,
    "head_dim": 16,
    "mlp": 64,
    "vocab": 128,
    "max_context": 1024,
    "tied": True,
}
PLAIN = {"gated": False, "norm_bias": True}
GPT2 = {**PLAIN, "qkv_bias": True, "dense_bias": True, "learned_positions": True}
LATENT = Mla(kv_rank=16, nope_dim=12, rope_dim=4, v_dim=12)
EXPERTS = Experts(count=2, active=1, mlp=64, shared=1, dense_layers=1)  # its family has them


@dataclass(frozen=True)
class CacheCount:
    """The cache of one kind of attention after `context` positions of one sequence, in float32."""

    kind: str
    context: int
    formula_bytes: int
    tensor_bytes: int


def kinds() -> dict[str, ModelShape]:
    """A small model of each kind, all with 4 layers and 8 query heads of 16 numbers."""
    return {
        "MHA": _small("gpt2", kv_heads=8, vocab=50_257, **GPT2),  # its config names token 50,256
        "GQA": _small("llama", kv_heads=2),
        "MQA": _small("falcon", kv_heads=1, norms=1, **PLAIN),
        "MLA": _small("deepseek_v2", kv_heads=8, mla=LATENT, experts=EXPERTS),
        "half windows": _small("gemma2", kv_heads=2, window=WINDOW, window_layers=2, norms=4),
        "all windows": _small("mistral", kv_heads=2, window=WINDOW, window_layers=4),
    }


def _small(family: str, **different) -> ModelShape:
    return ModelShape(name=f"small {family}", family=family, **(SIZES | different))


@torch.inference_mode()
def counts(contexts: Sequence[int]) -> Iterator[CacheCount]:
    """Runs a prompt of each length through each small model and weighs the cache it leaves."""
    for kind, shape in kinds().items():
        model = AutoModelForCausalLM.from_config(config_of(shape)).eval()
        for context in contexts:
            cache = DynamicCache(config=model.config)
            generate.last_logits(model, torch.zeros(1, context, dtype=torch.long), cache=cache)
            formula = roofline.kv_bytes(shape, context, dtype="float32")
            yield CacheCount(kind, context, formula, cache_bytes(cache))


# ---- a decode step, and appending alone ----------------------------------------------------------


def decode_step(loaded: models.Loaded, at: Sequence[int], rounds: int = 5) -> Iterator[Repeat]:
    """Decode steps at these contexts with either cache; and appending alone, in all layers.

    The caches are filled with random numbers: a prefill of that length would give others and take
    as much room. The preallocated one has slots for the longest context, at every length.
    """
    check_rounds(rounds)
    slots = max(at) + 2 * (rounds + 1)  # each round appends twice, and so does the warm-up
    check_context(loaded, slots)
    if loaded.shape:  # both caches, and the copy that the growing one makes of a layer at a time
        one = roofline.kv_bytes(loaded.shape, slots, dtype=models.dtype_name(loaded.dtype))
        check_room(2.2 * one, loaded.device, "two caches", max(at))
    return _decode_step(loaded, at, rounds, slots)


@torch.inference_mode()
def _decode_step(loaded, at: Sequence[int], rounds: int, slots: int) -> Iterator[Repeat]:
    config, new = loaded.model.config, one_position(loaded)
    for context in at:
        made = {
            GROWING: DynamicCache(config=config),
            FIXED: StaticCache(config=config, max_cache_len=slots),
        }
        for cache in made.values():
            fill(cache, new, context - 1)
        for round_number in range(rounds + 1):
            for part in (STEP, APPEND):
                for name, cache in made.items():
                    wall_ns = measure.timed(_call(part, loaded, cache, new), loaded.device)
                    if round_number:  # the first is the warm-up
                        yield Repeat(f"{name}: {part}", context, wall_ns)


def _call(part: str, loaded: models.Loaded, cache: Cache, new: Pairs) -> Callable[[], object]:
    """A step that decodes one more token, or nothing of it but appending one more position.

    Each stands one position further than the last: a few more of some hundred change nothing.
    """
    if part == APPEND:
        return partial(append, cache, new)
    ids, past = random_ids(loaded, 1), int(cache.get_seq_length())
    return partial(generate.last_logits, loaded.model, ids, past=past, cache=cache)


@torch.inference_mode()
def one_position(loaded: models.Loaded) -> Pairs:
    """What the model caches for one token, layer by layer."""
    cache = DynamicCache(config=loaded.model.config)
    generate.last_logits(loaded.model, random_ids(loaded, 1), cache=cache)
    return [(layer.keys, layer.values) for layer in cache.layers]


def fill(cache: Cache, new: Pairs, positions: int) -> None:
    """Random keys and values for so many positions, in the sizes of one position's."""
    append(
        cache,
        [
            tuple(
                torch.randn_like(one.expand(*one.shape[:-2], positions, one.shape[-1]))
                for one in pair
            )
            for pair in new
        ],
    )


def append(cache: Cache, new: Pairs) -> None:
    """All layers' keys and values for the next positions."""
    for number, (keys, values) in enumerate(new):
        cache.update(keys, values, number)
