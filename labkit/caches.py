"""The KV cache itself: its real bytes beside the formula's, and what appending to it takes.

`counts` fills the caches of small models, one of each kind, and weighs the tensors. `decode_step`
times a step with a growing and with a preallocated cache. `sweeps` has what the two share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from transformers import AutoModelForCausalLM, Cache, DynamicCache, StaticCache

from . import generate, measure, models, roofline
from .measure.clock import cache_bytes
from .models.shapes import config_of
from .records import ModelShape
from .records.model_shape import Experts, Mla
from .sweeps import Repeat, check_context, check_room, check_rounds, random_ids

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


# ---- a decode step, appending told apart ---------------------------------------------------------


def decode_step(loaded: models.Loaded, at: Sequence[int], rounds: int = 5) -> Iterator[Repeat]:
    """Decode steps at these contexts with either cache; of each, also what appending took.

    The caches are filled with random numbers: a prefill of that length would give others and take
    as much room. The preallocated one has slots for the longest context, at every length.
    """
    check_rounds(rounds)
    longest = max(at) + rounds + 1  # a warm-up and a new position in each round
    check_context(loaded, longest)
    if loaded.shape:  # both caches, and the copy that the growing one makes of a layer at a time
        one = roofline.kv_bytes(loaded.shape, longest, dtype=models.dtype_name(loaded.dtype))
        check_room(2.2 * one, loaded.device, "two caches", max(at))
    return _decode_step(loaded, at, rounds, longest)


@torch.inference_mode()
def _decode_step(loaded, at: Sequence[int], rounds: int, slots: int) -> Iterator[Repeat]:
    for context in at:
        steps = {
            GROWING: _stepper(loaded, DynamicCache(config=loaded.model.config), context),
            FIXED: _stepper(
                loaded, StaticCache(config=loaded.model.config, max_cache_len=slots), context
            ),
        }
        for step in steps.values():
            step()  # warm-up
        for _ in range(rounds):
            for name, step in steps.items():
                whole_ns, append_ns = step()
                yield Repeat(f"{name}: {STEP}", context, whole_ns)
                yield Repeat(f"{name}: {APPEND}", context, append_ns)


def _stepper(loaded: models.Loaded, cache: Cache, context: int) -> Callable[[], tuple[int, int]]:
    """A function that decodes one more token: its nanoseconds, and those of appending to `cache`.

    The token after it stands one position further; a few positions more change nothing here.
    """
    fill(cache, loaded, context - 1)
    append, past = cache.update, context - 1
    ids = random_ids(loaded, 1)

    def step() -> tuple[int, int]:
        nonlocal past
        watch = measure.Stopwatch(loaded.device)
        cache.update = partial(watch.around, append)
        run = partial(generate.last_logits, loaded.model, ids, past=past, cache=cache)
        whole_ns = measure.timed(run, loaded.device)
        past += 1
        return whole_ns, watch.wall_ns()

    return step


def fill(cache: Cache, loaded: models.Loaded, positions: int) -> None:
    """Random keys and values for so many positions, in the sizes that the model itself caches."""
    sample = DynamicCache(config=loaded.model.config)
    generate.last_logits(loaded.model, random_ids(loaded, 1), cache=sample)
    for number, layer in enumerate(sample.layers):
        pair = [
            torch.randn_like(one.expand(*one.shape[:-2], positions, one.shape[-1]))
            for one in (layer.keys, layer.values)
        ]
        cache.update(*pair, number)
