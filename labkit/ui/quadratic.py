"""Lesson 02's panels: the attention matrix, attention timed, and a naive pass in its two parts.

The first computes from a shape and measures nothing; the two others measure here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import ipywidgets as w
import numpy as np

from .. import catalog, figures, models, roofline, sweeps
from ..figures import Curve
from ..records.model_shape import ModelShape
from ..records.sweep import Sweep
from ..sweeps import KERNELS
from .calculator import Calculator, dtype_choice, shape_choice
from .controls import WIDE, ModelControls
from .quadratic_text import (
    attention_told,
    linear_flops,
    matrix_told,
    meeting,
    naive_told,
)
from .sweep import SweepPanel, fits, longest_choice, rounds_choice

SHORTEST = 64
PLANE = 4096  # tokens along a side of the picture
NARROW = {"width": "auto"}


# ---- the matrix ----------------------------------------------------------------------------------


class AttentionMatrix(Calculator):
    """The causal attention matrix growing with the text, and the FLOPs of a pass over it."""

    def __init__(self, model: str, length: int):
        self.model = shape_choice(model)
        self.dtype = dtype_choice("bfloat16", ("bfloat16", "float32"))
        self.length = w.IntSlider(
            value=length,
            min=SHORTEST,
            max=PLANE,
            step=SHORTEST,
            description="Tokens L",
            style=WIDE,
            layout={"width": "480px"},
        )
        controls = [w.HBox([self.model, self.dtype, self.length])]
        super().__init__(figures.attention_matrix(PLANE), controls)

    def compute(self) -> tuple[list[Curve], str]:
        shape, length = catalog.model(self.model.value), self.length.value
        text = matrix_told(shape, length, self.dtype.value)
        return figures.attention_matrix_curves(length, flop_curves(shape)), text


def flop_curves(shape: ModelShape) -> list[Curve]:
    """FLOPs of one pass over L tokens, for L from 16 to 131,072."""
    lengths = [2**power for power in range(4, 18)]
    x = np.array(lengths, dtype="f8")
    parts = {
        "linear layers": [linear_flops(shape, n) for n in lengths],
        "attention, causal": [roofline.attention_flops(shape, n, n) for n in lengths],
        "attention, all pairs": [roofline.attention_flops(shape, n, n, False) for n in lengths],
    }
    return [Curve(name, x, np.array(y, dtype="f8")) for name, y in parts.items()]


# ---- attention's time ----------------------------------------------------------------------------


@dataclass(frozen=True)
class AttentionRequest:
    shape: ModelShape
    device: str
    dtype: str
    kernels: tuple[str, ...]
    longest: int
    rounds: int


class AttentionSweep(SweepPanel):
    """One layer's attention of a model's sizes, timed over the length."""

    power = 2

    def __init__(self, model: str, kernels: Sequence[str], longest: int, rounds: int):
        self.model = shape_choice(model)
        self.device = dtype_choice(
            str(models.default_device()), map(str, models.devices()), "Device"
        )
        self.dtype = dtype_choice("float32", ("float32", "bfloat16"))
        self.kernels = [
            w.Checkbox(value=k in kernels, description=k, indent=False) for k in KERNELS
        ]
        for box in self.kernels:
            box.layout.width = "auto"
        self.longest = longest_choice(longest, (512, 1024, 2048, 4096, 8192))
        self.rounds = rounds_choice(rounds)
        first = w.HBox([self.model, self.device, self.dtype])
        second = w.HBox([w.Label("Pairs"), *self.kernels, self.longest, self.rounds])
        super().__init__("attention", figures.attention_sweep(), [first, second])

    def read(self) -> AttentionRequest:
        return AttentionRequest(
            shape=catalog.model(self.model.value),
            device=self.device.value,
            dtype=self.dtype.value,
            kernels=tuple(box.description for box in self.kernels if box.value),
            longest=self.longest.value,
            rounds=self.rounds.value,
        )

    def work(self, request: AttentionRequest) -> Iterator[float]:
        self._shape = request.shape
        device = models.resolve_device(request.device)
        dtype = models.resolve_dtype(request.dtype, device)
        at = sweeps.lengths(SHORTEST, request.longest, per_doubling=2)
        blank = sweeps.new_sweep("", request.shape.name, dtype, device)
        repeats = sweeps.attention(
            request.shape, request.kernels, at, request.rounds, dtype, device
        )
        total = sum(n**2 for n in at) * len(request.kernels) * request.rounds
        yield from self.gather(repeats, blank, total)

    def show(self, measured: tuple[Sweep, ...]) -> None:
        found = fits(measured)
        curves = figures.attention_sweep_curves(measured, found)
        self.figure.show_curves(curves, {"title.text": figures.where(measured)})
        self.text.value = attention_told(measured, found, self._shape) if measured else ""


# ---- a naive pass --------------------------------------------------------------------------------


@dataclass(frozen=True)
class SplitRequest:
    longest: int
    rounds: int


class NaiveSplit(SweepPanel):
    """Whole passes without a cache, with attention's share told apart."""

    def __init__(self, model: str | models.Loaded, longest: int, rounds: int):
        self._model = ModelControls(model)
        self.longest = longest_choice(longest, (256, 512, 1024, 2048, 4096))
        self.rounds = rounds_choice(rounds)
        controls = [self._model, w.HBox([self.longest, self.rounds])]
        super().__init__("naive_pass", figures.naive_split(), controls)
        for control in (self._model.model, self.longest):
            control.observe(lambda _: self.draw(), "value")
        self.draw()

    @property
    def shape(self) -> ModelShape | None:
        """The chosen model's shape; None for one that is known by its name only."""
        given = self._model.given
        return given.shape if given else models.choices().get(self._model.name)

    def read(self) -> SplitRequest:
        return SplitRequest(self.longest.value, self.rounds.value)

    def work(self, request: SplitRequest) -> Iterator[float]:
        loaded = self._model.load(self._worker, self.on_load)
        at = sweeps.lengths(SHORTEST, request.longest)
        blank = sweeps.new_sweep("", loaded.name, loaded.dtype, loaded.device)
        repeats = sweeps.naive_pass(loaded, at, request.rounds)
        yield from self.gather(repeats, blank, 3 * sum(at) * request.rounds)

    def show(self, measured: tuple[Sweep, ...]) -> None:
        shape, found = self.shape, fits(measured)
        met = meeting(measured, found, shape)
        reach = max(self.longest.value, 2 * (met.measured or 0) if met else 0)
        share = share_curve(shape, reach)
        curves = figures.naive_split_curves(measured, found, share, min(reach, 10**6))
        self.figure.show_curves(curves, {"title.text": figures.where(measured)})
        self.text.value = naive_told(measured, found, shape)


def share_curve(shape: ModelShape | None, reach: float) -> Curve:
    """Attention's predicted share of a pass's FLOPs in percent, causal; empty without a shape."""
    if shape is None:
        return Curve("share-predicted", np.empty(0), np.empty(0), visible=False)
    meet = roofline.length_where_attention_equals_linear(shape) or 0
    end = min(max(reach, 2 * meet, 2048), 10**6)
    x = np.geomspace(SHORTEST, end, 40).round()
    parts = [
        (roofline.attention_flops(shape, int(n), int(n)), linear_flops(shape, int(n))) for n in x
    ]
    y = np.array([100 * attention / (attention + linear) for attention, linear in parts])
    return Curve("share-predicted", x, y)
