"""The same work at growing lengths, under the clock: attention alone, and whole naive passes.

    for repeat in attention(shape, ("causal",), lengths(64, 2048), rounds=5):
        ...                                # no clock runs here: draw, print, break

Each function checks the request, then gives one `Repeat` after the other. `measure` has the clock
and the rules; nothing is shown here, and no exponent is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from . import generate, measure, models, roofline
from .models.memory import free_bytes
from .records import ModelShape
from .records.sweep import Sweep

WHOLE, ATTENTION, REST = "whole pass", "attention", "everything else"


class BadSweep(ValueError):
    """Nothing can be timed like this; the message says what to change."""


@dataclass(frozen=True)
class Repeat:
    """One repeat: what was timed, at which length, and how long it took."""

    name: str
    length: int
    wall_ns: int


def lengths(shortest: int, longest: int, per_doubling: int = 1) -> list[int]:
    """From `shortest` up to `longest`, so many to each doubling, rounded to whole tokens."""
    if not 1 <= shortest <= longest:
        raise BadSweep(f"lengths from {shortest} to {longest}: give 1 or more, in this order")
    found, place = [], 0
    while (length := round(shortest * 2 ** (place / per_doubling))) <= longest:
        found.append(length)
        place += 1
    return found


def new_sweep(name: str, model: str, dtype: torch.dtype, device: torch.device) -> Sweep:
    """A sweep without points: who measures what, where and with which versions."""
    return Sweep(
        name=name,
        points=(),
        model=model,
        dtype=models.dtype_name(dtype),
        machine=measure.this_machine(device),
        versions=measure.versions(),
        threads=torch.get_num_threads() if device.type == "cpu" else None,
    )


# ---- attention alone -----------------------------------------------------------------------------


def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """torch's attention kernel, told that no query sees a later key."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def all_pairs(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The same kernel with no mask: every query with every key."""
    return F.scaled_dot_product_attention(q, k, v)


def written_out(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The formula as it is printed: the whole matrix of scores goes to memory and back."""
    scores = q @ k.mT / q.shape[-1] ** 0.5  # (1, heads, L, L)
    later = torch.ones_like(scores[0, 0], dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -torch.inf).softmax(-1) @ v


KERNELS = {"causal": causal, "all pairs": all_pairs, "written out": written_out}


@torch.inference_mode()
def attention(
    shape: ModelShape,
    kernels: Sequence[str],
    at: Sequence[int],
    rounds: int = 5,
    dtype: torch.dtype = torch.float32,
    device: torch.device | None = None,
) -> Iterator[Repeat]:
    """One layer's attention over random numbers of the model's sizes, for one sequence.

    Keys and values stand there for every query head already, so grouped heads cost what all cost.
    """
    device = device or torch.device("cpu")
    _check_attention(shape, kernels, at, rounds, dtype, device)
    calls = {}
    for length in at:
        inputs = queries_keys_values(shape, length, dtype, device)
        calls |= {(name, length): partial(KERNELS[name], *inputs) for name in kernels}
    for (name, length), wall_ns in measure.in_rounds(calls, rounds, device):
        yield Repeat(name, length, wall_ns)


def queries_keys_values(
    shape: ModelShape, length: int, dtype: torch.dtype, device: torch.device
) -> list[Tensor]:
    """Random inputs (1, heads, length, head size) of one layer's attention, the same each time."""
    value = shape.mla.v_dim if shape.mla else shape.head_dim
    widths = (shape.head_dim, shape.head_dim, value)
    random = torch.Generator().manual_seed(length)
    sizes = [(1, shape.heads, length, width) for width in widths]
    return [torch.randn(size, generator=random).to(device, dtype) for size in sizes]


def _check_attention(shape, kernels, at, rounds, dtype, device) -> None:
    if not kernels:
        raise BadSweep(f"nothing to time: choose from {', '.join(KERNELS)}")
    if unknown := [name for name in kernels if name not in KERNELS]:
        raise BadSweep(f"unknown kernel {unknown[0]!r}: choose from {', '.join(KERNELS)}")
    check_rounds(rounds)
    if "written out" in kernels:  # scores, masked scores and softmax stand side by side
        needed = 3 * roofline.score_bytes(shape, max(at), models.dtype_name(dtype))
        check_room(needed, device, "the attention matrices written out", max(at))


# ---- a naive pass, attention told apart ----------------------------------------------------------


def naive_pass(loaded: models.Loaded, at: Sequence[int], rounds: int = 3) -> Iterator[Repeat]:
    """Whole passes without a cache over random tokens; of each, also its attention's share.

    Three timings for each pass: the whole, attention in all layers, and the difference.
    """
    check_rounds(rounds)
    check_context(loaded, max(at))
    return _naive_pass(loaded, at, rounds)


@torch.inference_mode()
def _naive_pass(loaded: models.Loaded, at: Sequence[int], rounds: int) -> Iterator[Repeat]:
    for round_number in range(rounds):
        for length in at:
            ids = random_ids(loaded, length)
            run = partial(generate.last_logits, loaded.model, ids)
            if not round_number:
                run()  # warm-up
            watch = measure.Stopwatch(loaded.device)
            with measure.WatchAttention(watch):
                whole_ns = measure.timed(run, loaded.device)
            if not watch.calls:
                raise BadSweep(_NO_SDPA.format(loaded.model.config._attn_implementation))
            yield Repeat(WHOLE, length, whole_ns)
            yield Repeat(ATTENTION, length, watch.wall_ns())
            yield Repeat(REST, length, whole_ns - watch.wall_ns())


_NO_SDPA = (
    "this model runs attention by {!r}, which can't be told apart here: call "
    "model.set_attn_implementation('sdpa') first"
)


# ---- checks --------------------------------------------------------------------------------------


def random_ids(loaded: models.Loaded, length: int) -> Tensor:
    random = torch.Generator().manual_seed(length)
    ids = torch.randint(loaded.model.config.vocab_size, (1, length), generator=random)
    return ids.to(loaded.device)


def check_rounds(rounds: int) -> None:
    if rounds < 1:
        raise BadSweep(f"{rounds} rounds measure nothing: ask for 1 or more")


def check_context(loaded: models.Loaded, longest: int) -> None:
    limit = getattr(loaded.model.config, "max_position_embeddings", None)
    if limit and longest > limit:
        raise BadSweep(
            f"{loaded.name} can attend to {limit:,} tokens, and {longest:,} are asked for: "
            f"choose a shorter longest length"
        )


def check_room(needed: float, device: torch.device, what: str, longest: int) -> None:
    free = free_bytes(device)
    if needed > free:
        raise BadSweep(
            f"{what} need {needed / 1e9:.1f} GB at {longest:,} tokens, and {free / 1e9:.1f} GB are "
            "free: choose a shorter longest length"
        )
