"""The compiled float32 step against the machine's roof, and against the best one without compiler.

The roof is what a probe reads from memory, measured in each round beside the steps. The host's part
of a step is that of a model with as many layers and hardly any weights: where there is nothing to
compute and nothing to read, what is left is the host's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from transformers import AutoModelForCausalLM

from .. import probing, roofline
from ..compiled import Compiled
from ..generate import preallocated
from ..lean import fastest
from ..models import Loaded
from ..models.shapes import config_of
from ..records import ModelShape, Roofs
from .stats import Figure, differing, ratios
from .steps import PROMPT, by_loop, side, take_turns, times

OF_THE_ROOF = 0.75
EAGER, COMPILED = "preallocated", "compiled"


def measure(
    fast: Loaded,
    plain: Loaded,
    rounds: int = 5,
    new_tokens: int = 48,
    probe: Callable[..., Roofs] = probing.probe,
) -> tuple[Figure, ...]:
    """`fast` has the lab's order of weights, for the eager step; `plain` has them row by row."""
    ids = fast.tokenizer.encode(PROMPT, chat=True)
    loops = {EAGER: partial(preallocated, fast.model), COMPILED: fastest(plain.model)}
    sides = {name: side(loop, ids, new_tokens, fast.device) for name, loop in loops.items()}
    roofs: list[float] = []
    take_turns(
        sides,
        rounds,
        before=lambda: roofs.append(probe(plain.device, quick=True).read_bytes_per_s),
    )
    eager_s, compiled_s = (one.medians_s for one in sides.values())
    needed = bytes_needed(plain.shape, len(ids) + new_tokens // 2)
    rates = [needed / seconds for seconds in compiled_s]
    unlike = differing(*(one.token_ids for one in sides.values()))
    return (
        Figure("compiled ÷ the read roof", ratios(rates, roofs), at_least=OF_THE_ROOF),
        Figure("compiled: tokens/s ÷ preallocated's", ratios(eager_s, compiled_s)),
        Figure("tokens that differ", (unlike,), at_most=0),
        *_compilation(loops[COMPILED]),
        *times(sides),
        *_host(plain, {EAGER: eager_s, COMPILED: compiled_s}, new_tokens),
    )


def bytes_needed(shape: ModelShape, context: int) -> int:
    """What a float32 step at that context must move: weights and cache once, and no copy."""
    return roofline.decode_step(shape, context, dtype="float32", slots=context).bytes


def _compilation(program: Compiled) -> tuple[Figure, ...]:
    return (
        Figure("recompilations inside steps", (program.recompiles,), at_most=0),
        Figure("compiling, s, before the first token", (program.compile_s,)),
    )


def _host(loaded: Loaded, steps_s: dict[str, list[float]], new_tokens: int) -> list[Figure]:
    """The host's share of each side's step, %."""
    small = ModelShape(
        "small", "llama", loaded.shape.layers, max_context=512, tied=True, **probing.SMALL
    )
    with torch.random.fork_rng(devices=[]), loaded.device:
        model = AutoModelForCausalLM.from_config(config_of(small)).eval()
    loops = {EAGER: partial(preallocated, model), COMPILED: fastest(model)}
    figures = []
    for name, loop in loops.items():
        by_loop(loop, [1, 2, 3], 4, loaded.device)  # warm-up
        host_s, _ = by_loop(loop, [1, 2, 3], new_tokens, loaded.device)
        shares = tuple(100 * min(1.0, host_s / seconds) for seconds in steps_s[name])
        figures.append(Figure(f"{name}: the host's share of a step, %", shares))
    return figures
