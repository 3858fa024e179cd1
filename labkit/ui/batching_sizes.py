"""Lesson 07's first panel: what a batch gives the server, and what it costs a user.

Full batches of several sizes decode in turns, pass by pass: measured beside what the roofs allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import ipywidgets as w

from .. import batching, figures, models
from ..batching import Service, Traffic
from ..figures.batching_load import Line
from ..records.machine import Roofs
from ..records.model_shape import ModelShape
from ..records.serving import Serving, servings_to_csv, servings_to_json
from ..records.trace import NS
from ..roofline.batching import BatchPoint, batch_points, saturation_batch
from .batching import dropdown
from .batching_text import batches_told, saturation_said
from .controls import ModelControls
from .download import Export
from .live import LiveFigure
from .panel import Panel
from .passes import roofs_on

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
CONTEXTS = (16, 32, 64, 128, 256, 512, 1024, 2048)
STEPS = 4  # decode passes of each batch


@dataclass(frozen=True)
class SizesRequest:
    """Batches of 1, 2, 4, … up to `most`, around a context."""

    most: int
    context: int


class BatchSizes(Panel):
    """Throughput against a user's wait. `batches` holds the latest run's servings."""

    def __init__(self, model: str | models.Loaded, most: int, context: int, roofs: Roofs | None):
        self.batches: tuple[Serving, ...] = ()
        self._given_roofs = roofs
        self._services: list[Service] = []
        self._model = ModelControls(model)
        self.most = dropdown("Batches up to", BATCHES, most)
        self.context = dropdown("at context", CONTEXTS, context)
        self.figure, self.text = LiveFigure(figures.batch_sizes()), w.HTML()
        self.export = Export("batch_sizes", self._write)
        row = w.HBox([self.most, self.context])
        super().__init__([self._model, row], [self.figure.framed(), self.text, self.export])
        for control in (self._model.model, self._model.dtype, self.most, self.context):
            control.observe(self._changed, "value")
        self.draw()

    def read(self) -> SizesRequest:
        return SizesRequest(self.most.value, self.context.value)

    # ---- running ---------------------------------------------------------------------------------

    def work(self, request: SizesRequest) -> Iterator[float]:
        loaded = self._model.load(self._worker, self.on_load)
        sizes = [batch for batch in BATCHES if batch <= request.most]
        full = {size: _full(size, request.context).requests() for size in sizes}
        batching.check(loaded, full[sizes[-1]], sum(sizes))  # all caches are there at once
        services = [batching.serve(loaded, full[size], size, ["static"])[0] for size in sizes]
        for service in services:
            self.on_load("warming up", None)
            service.warm_up()
        made, total = 0, sum(sizes) * (STEPS + 1)
        for _, done in batching.in_turns(services):
            self._services = services
            made += done.made
            yield made / total

    def wait(self, timeout_s: float | None = None) -> tuple[Serving, ...]:
        """The batches, smallest first. Starts a run if none was; raises what it raised."""
        super().wait(timeout_s)
        return self.batches

    def _show_outcome(self, error: BaseException | None) -> None:
        super()._show_outcome(error)
        self._services = []  # with them goes their cache

    # ---- showing ---------------------------------------------------------------------------------

    def draw(self) -> None:
        begun = [service for service in self._services if len(service.passes) > 1]
        if begun:
            self.batches = tuple(service.record() for service in begun)
        steps = [(serving, step_s(serving)) for serving in self.batches]
        said, end = self.said(), self.saturation()
        curves = figures.batch_sizes_curves(
            _line([(serving.slots, seconds) for serving, seconds in steps]),
            _line([(point.batch, point.step_s) for point in said]),
            end and (end.batch, end.step_s, end.tokens_per_s),
        )
        self.figure.show_curves(curves, {"title.text": figures.serving_place(self.batches)})
        sentence = f"<p>{saturation_said(end and end.batch)}</p>"
        self.text.value = sentence + batches_told(steps, said)
        self.export.ready = bool(self.batches)

    @property
    def shape(self) -> ModelShape | None:
        """The chosen model's shape; None for one that is known by its name only."""
        given = self._model.given
        return given.shape if given else models.choices().get(self._model.name)

    def said(self) -> list[BatchPoint]:
        """Decode steps of the chosen sizes as the roofs allow them; none where they are unknown."""
        return self._points([batch for batch in BATCHES if batch <= self.most.value])

    def saturation(self) -> BatchPoint | None:
        """The step of the batch whose own work equals the shared work."""
        if not self.said():
            return None
        where = (self.shape, self.context.value, self._roofs(), self._model.dtype.value)
        return self._points([max(1, round(saturation_batch(*where)))])[0]

    def _points(self, batches: list[int]) -> list[BatchPoint]:
        shape, roofs, dtype = self.shape, self._roofs(), self._model.dtype.value
        known = shape is not None and roofs is not None and dtype in roofs.flops_per_s
        if not known or self.context.value > shape.max_context:
            return []
        return batch_points(shape, self.context.value, batches, roofs, dtype)

    def _roofs(self) -> Roofs | None:
        return roofs_on(self._model.device.value, self._given_roofs)

    def _changed(self, _=None) -> None:
        """A control was moved: what was measured is not of this choice any more."""
        if not self.running and self._model.dtype.value is not None:
            self.batches = ()
            self.draw()

    def _write(self, kind: str) -> str:
        return {"json": servings_to_json, "csv": servings_to_csv}[kind](self.batches)


def step_s(serving: Serving) -> float:
    """The median decode pass."""
    return median(each.wall_ns for each in serving.passes if each.kind == "decode") * NS


def _full(size: int, context: int) -> Traffic:
    """A batch of that size that stays full, around that context."""
    prompt = max(1, context - STEPS // 2)
    return Traffic(size, "equal", (prompt, prompt), (STEPS + 1, STEPS + 1))


def _line(steps: list[tuple[int, float]]) -> Line:
    batches, seconds = zip(*steps, strict=True) if steps else ((), ())
    return Line(batches, seconds, tuple(batch / s for batch, s in steps))
