"""Lesson 06's third panel: a decode step with a growing cache and with a preallocated one.

Both are timed in turns, appending alone as well; dashed stands what the roofs allow, drawn before
anything runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import ipywidgets as w

from .. import caches, figures, models, roofline, sweeps
from ..caches import APPEND, FIXED, GROWING, STEP
from ..records.machine import Roofs
from ..records.model_shape import ModelShape
from ..records.sweep import Sweep
from ..summary import Table, gb, ms
from .controls import ModelControls
from .passes import roofs_on
from .quadratic_text import paragraphs
from .sweep import SweepPanel, longest_choice, rounds_choice

GROWN, GROWN_APPEND = f"{GROWING}: {STEP}", f"{GROWING}: {APPEND}"
FIXED_STEP, FIXED_APPEND = f"{FIXED}: {STEP}", f"{FIXED}: {APPEND}"
GROWTH_HEADER = (
    "positions",
    "growing: step",
    "prediction",
    "appending alone",
    "copying at",
    "preallocated: step",
    "prediction",
    "appending alone",
)
Seconds = Mapping[int, float]  # by context


@dataclass(frozen=True)
class GrowthRequest:
    longest: int
    rounds: int


class CacheGrowth(SweepPanel):
    """Decode steps with a growing and with a preallocated cache, appending told apart."""

    def __init__(
        self, model: str | models.Loaded, longest: int, rounds: int, roofs: Roofs | None = None
    ):
        self._model = ModelControls(model)
        self.longest = longest_choice(longest, (512, 1024, 2048, 4096))
        self.rounds = rounds_choice(rounds)
        self._given_roofs = roofs
        self._said_s: dict[str, list[float]] = {}  # by sweep, at each context
        controls = [self._model, w.HBox([self.longest, self.rounds])]
        super().__init__("cache_growth", figures.cache_growth(), controls)
        chosen = (self._model.model, self._model.device, self._model.dtype, self.longest)
        for control in chosen:
            control.observe(self._changed, "value")
        self._changed()

    def _changed(self, _=None) -> None:
        """What was measured is not of this choice any more."""
        if not self.running and self._model.dtype.value is not None:
            self.sweeps = ()
            self._predict()
            self.draw()

    @property
    def shape(self) -> ModelShape | None:
        """The chosen model's shape; None for one that is known by its name only."""
        given = self._model.given
        return given.shape if given else models.choices().get(self._model.name)

    def _predict(self) -> None:
        roofs = roofs_on(self._model.device.value, self._given_roofs)
        longest = self.longest.value
        self._said_s = growth_said(self.shape, self._model.dtype.value, longest, roofs)

    def read(self) -> GrowthRequest:
        return GrowthRequest(self.longest.value, self.rounds.value)

    def work(self, request: GrowthRequest) -> Iterator[float]:
        loaded = self._model.load(self._worker, self.on_load)
        self._predict()  # the roofs may have been measured since
        at = growth_contexts(request.longest)
        blank = sweeps.new_sweep("", loaded.name, loaded.dtype, loaded.device)
        repeats = caches.decode_step(loaded, at, request.rounds)
        yield from self.gather(repeats, blank, 4 * sum(at) * request.rounds)

    def show(self, measured: tuple[Sweep, ...]) -> None:
        at, said_s = growth_contexts(self.longest.value), self._said_s
        curves = figures.cache_growth_curves(measured) + figures.cache_growth_said(at, said_s)
        self.figure.show_curves(curves, {"title.text": figures.where(measured)})
        said = {name: dict(zip(at, seconds, strict=True)) for name, seconds in said_s.items()}
        self.text.value = growth_told(measured, self.shape, said)


def growth_said(
    shape: ModelShape | None, dtype: str, longest: int, roofs: Roofs | None
) -> dict[str, list[float]]:
    """By sweep, the seconds that the roofs allow at each context; nothing where it can't be told.

    Appending to a preallocated cache writes one position: too little to predict anything of.
    """
    if shape is None or roofs is None or longest > shape.max_context:
        return {}
    if dtype not in roofs.flops_per_s or roofs.copy_bytes_per_s is None:
        return {}
    at = growth_contexts(longest)
    grown = [roofline.decode_step(shape, n, dtype=dtype) for n in at]
    fixed = [roofline.decode_step(shape, n, dtype=dtype, slots=longest) for n in at]
    return {
        GROWN: [roofline.predict(cost, roofs).seconds for cost in grown],
        FIXED_STEP: [roofline.predict(cost, roofs).seconds for cost in fixed],
        GROWN_APPEND: [cost.kv_copy_bytes / roofs.copy_bytes_per_s for cost in grown],
    }


def growth_contexts(longest: int) -> list[int]:
    """A short one and four evenly spaced: few and far apart, so that each can be timed often."""
    return [longest * part // 16 for part in (1, 4, 8, 12, 16)]


# ---- the text twin -------------------------------------------------------------------------------


def growth_told(
    sweeps: Sequence[Sweep], shape: ModelShape | None, said: Mapping[str, Seconds]
) -> str:
    """Which cache was the faster where, what the copy costs, and how far the theory was off."""
    found = {s.name: {p.length: p.median_s for p in s.points} for s in sweeps}
    if FIXED_APPEND not in found:  # the last of the four that a context gives
        return _growth_before(said)
    dtype, done = sweeps[0].dtype, list(found[FIXED_APPEND])
    rows = tuple(_growth_row(found, n, shape, dtype, said) for n in done)
    lines = (_winner(found, done), _growth_line(found, done[-1]))
    return paragraphs(*lines) + Table(GROWTH_HEADER, rows).html()


def _growth_before(said: Mapping[str, Seconds]) -> str:
    if not said:
        return paragraphs("No prediction: model or roofs are not known. Lesson 00 measures roofs.")
    longest = max(said[GROWN])
    return paragraphs(
        f"Predicted from this machine's roofs at {longest:,} positions: "
        f"{ms(said[GROWN][longest])} for a step with the growing cache, "
        f"{ms(said[FIXED_STEP][longest])} with the preallocated one."
    )


def _winner(found: Mapping[str, Seconds], done: Sequence[int]) -> str:
    """At which contexts the preallocated cache's step was the shorter one."""
    faster = [n for n in done if found[FIXED_STEP][n] < found[GROWN][n]]
    if not faster:
        return "The growing cache's step was the shorter one at every context so far."
    if len(faster) == len(done):
        return "The preallocated cache's step was the shorter one at every context so far."
    if faster == done[-len(faster) :]:
        return (
            f"Up to {done[-len(faster) - 1]:,} positions the growing cache's step was the shorter "
            f"one, from {faster[0]:,} on the preallocated one's."
        )
    where = ", ".join(f"{n:,}" for n in faster)
    return f"The preallocated cache's step was the shorter one at {where} positions."


def _growth_line(found: Mapping[str, Seconds], length: int) -> str:
    grow_s, fixed_s = found[GROWN][length], found[FIXED_STEP][length]
    append_s = found[GROWN_APPEND][length]
    return (
        f"At {length:,} positions the growing cache's step took {ms(grow_s)} and the preallocated "
        f"one's {ms(fixed_s)} ({fixed_s / grow_s:.2f} times). Appending alone takes "
        f"{ms(append_s)} there, {append_s / grow_s:.0%} of the growing cache's step."
    )


def _growth_row(
    found: Mapping[str, Seconds],
    length: int,
    shape: ModelShape | None,
    dtype: str,
    said: Mapping[str, Seconds],
) -> tuple[str, ...]:
    append_s = found[GROWN_APPEND][length]
    speed = "unknown"
    if shape:
        moved = 2 * roofline.kv_bytes(shape, length - 1, dtype=dtype)  # read once, written once
        speed = f"{gb(moved / append_s)}/s"
    return (
        f"{length:,}",
        ms(found[GROWN][length]),
        _off(said, GROWN, length, found),
        ms(append_s),
        speed,
        ms(found[FIXED_STEP][length]),
        _off(said, FIXED_STEP, length, found),
        ms(found[FIXED_APPEND][length]),
    )


def _off(said: Mapping[str, Seconds], name: str, at: int, found: Mapping[str, Seconds]) -> str:
    known = said.get(name, {}).get(at)
    return "unknown" if known is None else f"{known / found[name][at] - 1:+.0%}"
