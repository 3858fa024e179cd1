"""Lesson 02's second calculator: what token n costs on a machine of the catalogue, both ways.

All of it is predicted from shape and datasheet; nothing is measured.
"""

from __future__ import annotations

from collections.abc import Sequence

import ipywidgets as w
import numpy as np

from .. import catalog, figures, roofline
from ..figures import Curve
from ..records.machine import Machine
from ..records.model_shape import ModelShape
from .calculator import Calculator, dtype_choice, length_slider, machine_choice, shape_choice
from .quadratic_text import TokenCost, cost_told

TOKENS = (10, 1_000, 10_000)
ARMS = {"naive": roofline.naive_step, "cached": roofline.decode_step}


class TokenCosts(Calculator):
    """What token n costs with and without a cache on a machine of the catalogue: predicted."""

    def __init__(self, model: str, machine: str):
        self.model = shape_choice(model)
        self.machine = machine_choice(machine)
        self.dtype = dtype_choice("bfloat16", ("bfloat16", "float16", "float32"))
        self.reach = length_slider(16384, 1024, 131072, "Up to token")
        controls = [w.HBox([self.model, self.machine, self.dtype]), self.reach]
        super().__init__(figures.token_cost(), controls)

    def compute(self) -> tuple[list[Curve], str]:
        shape, machine = catalog.model(self.model.value), catalog.machine(self.machine.value)
        curves = cost_curves(shape, machine, self.dtype.value, self.reach.value)
        marks = [n for n in TOKENS if n <= curves[0].x[-1]]
        costs = [token_cost(shape, machine, self.dtype.value, n, curves) for n in marks]
        where = (
            f"{shape.name} in {self.dtype.value} on {machine.name}, from its datasheet: no pass "
            "can be faster, and the host's time comes on top"
        )
        return figures.token_cost_curves(curves, marks), cost_told(costs, where)


def cost_curves(shape: ModelShape, machine: Machine, dtype: str, reach: int) -> list[Curve]:
    """Predicted ms of token n and of all up to n, naive and cached, as far as the model goes.

    Raises ValueError where the model does not fit, or a roof is unknown.
    """
    roofs = roofline.datasheet_roofs(machine)
    last = min(reach, roofline.largest_context(shape, machine.memory_bytes, dtype=dtype))
    grid = [*np.geomspace(1, last, 160).round(), *(n for n in TOKENS if n <= last)]
    numbers = np.unique(grid)
    curves = []
    for arm, cost_of in ARMS.items():
        costs = [cost_of(shape, int(n), dtype=dtype) for n in numbers]
        seconds = np.array([roofline.predict(cost, roofs).seconds for cost in costs])
        curves.append(Curve(f"{arm}-each", numbers, seconds * 1e3))
        curves.append(Curve(f"{arm}-total", numbers, running_total(numbers, seconds) * 1e3))
    return curves


def running_total(numbers: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Σ over all tokens up to each of `numbers`, taking the time as straight between two."""
    steps = np.diff(numbers)
    between = (seconds[1:] + seconds[:-1]) / 2 * steps + (seconds[1:] - seconds[:-1]) / 2
    return np.concatenate([seconds[:1], seconds[0] + np.cumsum(between)])


def token_cost(
    shape: ModelShape, machine: Machine, dtype: str, number: int, curves: Sequence[Curve]
) -> TokenCost:
    """Token `number`, which is one of the curves' points."""
    at = {c.name: float(c.y[np.searchsorted(c.x, number)]) * 1e-3 for c in curves}
    return TokenCost(
        number=number,
        naive=roofline.naive_step(shape, number, dtype=dtype),
        cached=roofline.decode_step(shape, number, dtype=dtype),
        naive_s=at["naive-each"],
        cached_s=at["cached-each"],
        naive_total_s=at["naive-total"],
        cached_total_s=at["cached-total"],
    )
