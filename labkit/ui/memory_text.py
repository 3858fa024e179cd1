"""The text twins of lesson 06's panels: sentences and tables. Pure functions to HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .. import roofline
from ..caches import CacheCount
from ..records.machine import Machine
from ..records.model_shape import ModelShape
from ..records.workload import dtype_bytes
from ..summary import Table, digits, gb, gib
from .quadratic_text import paragraphs


def kind(shape: ModelShape) -> str:
    """How a model shares keys and values: "MHA", "GQA", "MQA" or "MLA"; its windows apart."""
    if shape.mla:
        return "MLA"
    if shape.kv_heads == 1:
        return "MQA"
    return "MHA" if shape.kv_heads == shape.heads else "GQA"


def kind_with_windows(shape: ModelShape) -> str:
    """The kind, or what its windows make of it where it has some."""
    if shape.window is None:
        return kind(shape)
    return "all windows" if shape.window_layers == shape.layers else "half windows"


def both(n_bytes: float) -> str:
    """1,073,741,824 bytes as "1.07 GB (1.00 GiB)": the same bytes by 1000s and by 1024s."""
    return f"{gb(n_bytes)} ({gib(n_bytes)})"


# ---- the cache of any model ----------------------------------------------------------------------


def arithmetic(shape: ModelShape, dtype: str) -> str:
    """Where the bytes of one position come from, factor by factor."""
    numbers = dtype_bytes(dtype)
    if shape.mla:
        latent = f"({shape.mla.kv_rank} latent + {shape.mla.rope_dim} rotated)"
        product = f"{shape.layers} layers × {latent} numbers × {numbers:g} bytes"
    else:
        product = (
            f"2 (key and value) × {shape.layers} layers × {shape.kv_heads} KV heads × "
            f"{shape.head_dim} numbers × {numbers:g} bytes"
        )
    return f"{product} = {roofline.kv_bytes_per_token(shape, dtype):,} bytes for each position"


def kv_told(shape: ModelShape, context: int, batch: int, dtype: str) -> str:
    """One model's cache, where it comes from, and what sharing and windows save."""
    size = roofline.kv_bytes(shape, context, batch, dtype)
    own = roofline.mha_kv_bytes_per_token(shape, dtype)
    saved = own / roofline.kv_bytes_per_token(shape, dtype)
    lines = [
        f"{shape.name}: {arithmetic(shape, dtype)}.",
        f"{batch:,} × {context:,} positions take {both(size)}. A pair for each of its "
        f"{shape.heads} query heads would take {digits(saved)} times as much.",
    ]
    if shape.window:
        lines.append(
            f"{shape.window_layers} of its {shape.layers} layers keep at most "
            f"{shape.window - 1:,} positions, whatever the length of the text."
        )
    if context > shape.max_context:
        lines.append(f"{shape.name} itself takes at most {shape.max_context:,} positions.")
    lines.append(_equal(shape, batch, dtype))
    return paragraphs(*lines)


def _equal(shape: ModelShape, batch: int, dtype: str) -> str:
    weights = roofline.weight_bytes(shape, "bfloat16")
    equal = roofline.context_for(shape, weights, batch, dtype)
    if equal is None:
        return f"Its weights in bfloat16 are {gb(weights)}; the cache never gets that large."
    beyond = " (further than the model goes)" if equal > shape.max_context else ""
    return (
        f"Its weights in bfloat16 are {gb(weights)}; the cache equals them at {equal:,.0f} "
        f"positions of each sequence{beyond}."
    )


def all_models(shapes: Sequence[ModelShape], context: int, batch: int, dtype: str) -> str:
    """A row for each model, folded away: the twin of the dots."""
    rows = tuple(
        (
            shape.name,
            kind(shape) + (" + windows" if shape.window else ""),
            f"{roofline.kv_bytes_per_token(shape, dtype):,}",
            gb(roofline.kv_bytes(shape, context, batch, dtype)),
        )
        for shape in shapes
    )
    table = Table(("model", "kind", "bytes for a position", "at this context and batch"), rows)
    return f"<details><summary>All models as a table</summary>{table.html()}</details>"


# ---- formula and tensors -------------------------------------------------------------------------


def proof_told(counts: Sequence[CacheCount]) -> str:
    """How many caches were weighed, whether all agree, and the longest of each kind."""
    if not counts:
        return ""
    off = [count for count in counts if count.formula_bytes != count.tensor_bytes]
    agree = "all to the byte" if not off else f"{len(off)} of them differently"
    line = f"{len(counts)} caches weighed; formula and tensors agree, {agree}."
    if off:
        line = f"{len(counts)} caches weighed; formula and tensors disagree on {len(off)}."
    longest = {count.kind: count for count in counts}  # later ones are longer
    rows = tuple(
        (
            f"{name}, {count.context:,} positions",
            f"{count.formula_bytes:,}",
            f"{count.tensor_bytes:,}",
            f"{count.tensor_bytes - count.formula_bytes:,}",
        )
        for name, count in longest.items()
    )
    return paragraphs(line) + Table(("", "formula, bytes", "tensors, bytes", "off by"), rows).html()


# ---- what fits -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """A choice of model, machine and sizes, in bytes, and the most that would fit."""

    shape: ModelShape
    machine: Machine
    context: int
    batch: int
    weight_bytes: int
    cache_bytes: int
    largest_batch: int
    largest_context: int

    @property
    def room_bytes(self) -> int:
        """What is left beside the weights and the cache; below 0: it does not fit."""
        return self.machine.memory_bytes - self.weight_bytes - self.cache_bytes


def plan_told(plan: Plan) -> str:
    """Whether it fits, with the arithmetic in GB and GiB, and what would."""
    fits = "It fits" if plan.room_bytes >= 0 else "It does not fit"
    one = plan.cache_bytes / plan.batch
    beside = plan.machine.memory_bytes - plan.weight_bytes
    goes = (
        "the model's own limit"
        if plan.largest_context == plan.shape.max_context
        else "the memory's limit"
    )
    lines = [
        f"{fits}: {gb(plan.weight_bytes)} of weights and {gb(plan.cache_bytes)} of cache, in "
        f"{gb(plan.machine.memory_bytes)} of memory.",
        f"Beside the weights {gb(beside)} stay for the cache, and one sequence of "
        f"{plan.context:,} positions takes {gb(one)}: {plan.largest_batch:,} of them fit. A batch "
        f"of {plan.batch:,} can be {plan.largest_context:,} positions long, {goes}.",
        "Counted are weights and cache. A real run needs room for activations and work space "
        "besides, and the driver keeps some: how much, the engine's own log says.",
    ]
    parts = {
        "memory of the machine": plan.machine.memory_bytes,
        "weights": plan.weight_bytes,
        "cache": plan.cache_bytes,
        "left": plan.room_bytes,
    }
    rows = tuple((name, f"{n:,}", _signed(gb, n), _signed(gib, n)) for name, n in parts.items())
    return paragraphs(*lines) + Table(("", "bytes", "by 1000s", "by 1024s"), rows).html()


def _signed(show, n_bytes: int) -> str:
    return f"−{show(-n_bytes)}" if n_bytes < 0 else show(n_bytes)
