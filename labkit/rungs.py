"""What stands on the ladder: seven ways to generate the same text, each with what it must move.

A rung is prepared from a loaded model (`ready`), which may find that something is missing here: a
compiler, a library, memory. What a pass of it asks of the machine is `cost`. Nothing runs here.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from . import generate, models
from .generate import BadRequest
from .models.layout import wants_cpu_layout
from .models.memory import free_bytes
from .records import Cost, ModelShape
from .records.speculation import GuessPass
from .roofline import forward, naive_step
from .roofline.quantised import quantised_step
from .speculative import speculative

Arm = Callable[..., Iterator[generate.Forward]]  # (prompts, new tokens) -> tokens
CostOf = Callable[[ModelShape, GuessPass, str, int], Cost]  # shape, pass, dtype, slots


class NotHere(ValueError):
    """This rung can't be climbed on this machine; the message says why, and what would help."""


@dataclass(frozen=True)
class Kind:
    """One rung before it is climbed.

    Without `eager` the host's time does not count. With `row_by_row` the weights lie in torch's own
    order, else as they were loaded.
    """

    name: str
    changed: str
    costs: str
    ready: Callable[[models.Loaded], Arm]
    cost: CostOf
    eager: bool = True
    row_by_row: bool = False
    guesses: bool = False


# ---- getting ready -------------------------------------------------------------------------------


def eager(loop: Callable, loaded: models.Loaded) -> Arm:
    return partial(loop, loaded.model)


def row_by_row(loaded: models.Loaded) -> models.Loaded:
    """The model itself if its weights lie so already, else a copy that is turned back."""
    if all(weight.is_contiguous() for weight in loaded.model.parameters()):
        return loaded
    needed = sum(weight.nbytes for weight in loaded.model.parameters())
    if needed > free_bytes(loaded.device):
        raise NotHere(f"a second copy of the weights needs {needed / 1e9:.1f} GB, not free here")
    twin = copy.deepcopy(loaded.model)
    for weight in twin.parameters():
        weight.data = weight.data.contiguous()
    return replace(loaded, model=twin)


def turned(loaded: models.Loaded) -> Arm:
    """The preallocated loop over weights in the order that a CPU streams faster."""
    if not wants_cpu_layout("fast", loaded.device, loaded.dtype):
        raise NotHere("another order of the weights is known to help float32 on a CPU only")
    return partial(generate.preallocated, loaded.model)


def compiled(loaded: models.Loaded) -> Arm:
    """The compiled step, which wants the weights row by row."""
    from .lean import fastest  # brings the compiler, which only this rung needs

    return fastest(loaded.model)


def eight_bits(loaded: models.Loaded) -> Arm:
    """The compiled step over weights in int8."""
    if loaded.shape and (loaded.shape.experts or loaded.shape.mla):
        raise NotHere("int8 weights are counted for dense models only")
    from .lean import fastest
    from .quantised import quantised

    return fastest(quantised(loaded, "int8").model)


def guessing(loaded: models.Loaded) -> Arm:
    return partial(speculative, loaded.model)


# ---- what a pass asks for ------------------------------------------------------------------------


def all_again(shape: ModelShape, one: GuessPass, dtype: str, slots: int) -> Cost:
    return naive_step(shape, one.context, dtype=dtype)


def growing(shape: ModelShape, one: GuessPass, dtype: str, slots: int) -> Cost:
    new = one.guesses + 1
    return forward(shape, new, one.context, dtype=dtype, logits=new)


def fixed(shape: ModelShape, one: GuessPass, dtype: str, slots: int) -> Cost:
    return forward(shape, 1, one.context, dtype=dtype, slots=slots)


def fused(shape: ModelShape, one: GuessPass, dtype: str, slots: int) -> Cost:
    """As compiled: what operators hand to each other stays in registers."""
    return replace(fixed(shape, one, dtype, rounded_up(slots)), activation_bytes=0)


def fewer(shape: ModelShape, one: GuessPass, dtype: str, slots: int) -> Cost:
    """As compiled, with matrices in int8 and their scales; the cache as it was."""
    step = quantised_step(shape, one.context, "int8", rounded_up(slots), dtype)
    return replace(step, activation_bytes=0)


def rounded_up(slots: int) -> int:
    """The slots that a compiled step's cache really has."""
    from . import compiled  # brings the compiler, which a rung that was climbed has by now

    return compiled.rounded_up(slots)


KINDS = (
    Kind(
        "naive",
        "nothing is kept from token to token",
        "a pass over all positions for each token",
        partial(eager, generate.naive),
        all_again,
        row_by_row=True,
    ),
    Kind(
        "cached",
        "keys and values are kept; a pass reads one token",
        "memory for the cache, copied at each step to grow",
        partial(eager, generate.cached),
        growing,
        row_by_row=True,
    ),
    Kind(
        "preallocated",
        "the cache has its final size from the start: no copy",
        "attention reads empty slots as well",
        partial(eager, generate.preallocated),
        fixed,
        row_by_row=True,
    ),
    Kind(
        "weight layout",
        "tall weights lie column by column, all in large pages, as a CPU streams them faster",
        "turning them once while loading",
        turned,
        fixed,
    ),
    Kind(
        "compiled",
        "one program for a step: no host in between, no activations through memory",
        "compiling, once for each size of cache",
        compiled,
        fused,
        eager=False,
        row_by_row=True,
    ),
    Kind(
        "quantised",
        "compiled, with weights of 8 bits that are widened in a register",
        "rounding, which can change the text",
        eight_bits,
        fewer,
        eager=False,
    ),
    Kind(
        "speculative",
        "guesses from the text so far are checked in one pass; with a growing cache",
        "arithmetic for wrong guesses",
        guessing,
        growing,
        guesses=True,
    ),
)
NAMES = tuple(kind.name for kind in KINDS)


def chosen(names: tuple[str, ...]) -> tuple[Kind, ...]:
    """The kinds of those names, in the ladder's order. Raises BadRequest for an unknown name."""
    if unknown := [name for name in names if name not in NAMES]:
        raise BadRequest(f"unknown rung {unknown[0]!r}: choose from {', '.join(NAMES)}")
    if not names:
        raise BadRequest(f"no rung is chosen: choose from {', '.join(NAMES)}")
    return tuple(kind for kind in KINDS if kind.name in names)
