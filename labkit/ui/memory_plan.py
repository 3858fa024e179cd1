"""Lesson 06's second calculator: what fits a machine of the catalogue, from shape and datasheet."""

from __future__ import annotations

import ipywidgets as w
import numpy as np

from .. import catalog, figures, roofline
from ..figures import Curve
from ..records.workload import DTYPE_BYTES, compute_dtype
from .calculator import (
    CACHE_DTYPES,
    Calculator,
    batch_choice,
    dtype_choice,
    length_slider,
    machine_choice,
    shape_choice,
)
from .memory_text import Plan, plan_told

GB = 1e9


class MemoryPlan(Calculator):
    """Model and machine: what the memory goes to, and the largest batch over the context."""

    def __init__(self, model: str, machine: str, context: int):
        self.model, self.machine = shape_choice(model), machine_choice(machine)
        self.dtype = dtype_choice("bfloat16", DTYPE_BYTES, "Weights")
        self.kv_dtype = dtype_choice("bfloat16", CACHE_DTYPES, "Cache")
        self.context = length_slider(context, 128, 131_072, "Context")
        self.batch = batch_choice(1)
        first = w.HBox([self.model, self.machine, self.dtype, self.kv_dtype])
        super().__init__(figures.memory_plan(), [first, w.HBox([self.context, self.batch])])

    def compute(self) -> tuple[list[Curve], str]:
        made = plan(
            self.model.value,
            self.machine.value,
            self.context.value,
            self.batch.value,
            self.dtype.value,
            self.kv_dtype.value,
        )
        batches = batch_curve(made, self.dtype.value, self.kv_dtype.value)
        chosen = (made.context, made.batch)
        return figures.memory_plan_curves(parts_gb(made), batches, chosen), plan_told(made)


def plan(
    model: str,
    machine: str,
    context: int,
    batch: int = 1,
    dtype: str = "bfloat16",
    kv_dtype: str | None = None,
) -> Plan:
    """What that takes there, and the most that fits. Raises ValueError, with the remedy."""
    shape, where = catalog.model(model), catalog.machine(machine)
    kv_dtype = kv_dtype or compute_dtype(dtype)
    memory = where.memory_bytes
    return Plan(
        shape=shape,
        machine=where,
        context=context,
        batch=batch,
        weight_bytes=roofline.weight_bytes(shape, dtype),
        cache_bytes=roofline.kv_bytes(shape, context, batch, kv_dtype),
        largest_batch=roofline.largest_batch(shape, memory, context, dtype, kv_dtype),
        largest_context=roofline.largest_context(shape, memory, batch, dtype, kv_dtype),
    )


def parts_gb(made: Plan) -> dict[str, float]:
    """The bars: what is beyond the memory is a part of its own."""
    weights, room = made.weight_bytes / GB, made.room_bytes / GB
    if room >= 0:
        return {"weights": weights, "cache": made.cache_bytes / GB, "free": room}
    inside = (made.machine.memory_bytes - made.weight_bytes) / GB
    return {"weights": weights, "cache": inside, "too much": -room}


def batch_curve(made: Plan, dtype: str, kv_dtype: str) -> Curve:
    """The largest batch for each context that the model takes; where not one fits, no point."""
    contexts = np.unique(np.geomspace(128, max(made.shape.max_context, 256), 80).round())
    room = made.machine.memory_bytes
    most = [
        (n, roofline.largest_batch(made.shape, room, int(n), dtype, kv_dtype))
        for n in contexts
        if n <= made.shape.max_context
    ]
    x, y = zip(*[(n, b) for n, b in most if b] or [(np.nan, np.nan)], strict=True)
    return Curve("largest batch", np.array(x, "f8"), np.array(y, "f8"))
