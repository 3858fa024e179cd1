"""Lesson 07's second panel: the same requests through the same slots, by two policies, live.

A Gantt chart for each policy fills while both serve in turns, pass by pass; below it the cache in
use. The charts are drawn between two passes, when the service's clock stands still.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import ipywidgets as w

from .. import batching, figures, models
from ..batching import LENGTHS, Service, Traffic
from ..records.serving import Serving, servings_to_csv, servings_to_json
from .batching_text import slots_told
from .controls import WIDE, ModelControls
from .download import Export
from .live import LiveFigure
from .panel import Panel

SLOTS = (1, 2, 4, 8, 16)
ANSWERS = (8, 16, 32, 48, 64, 128, 256)


@dataclass(frozen=True)
class SlotsRequest:
    """Who comes, and how many can be served at once."""

    traffic: Traffic
    slots: int


class Batching(Panel):
    """Static against continuous batching. `servings` holds the latest run's, by policy."""

    def __init__(self, model: str | models.Loaded, traffic: Traffic, slots: int):
        self.servings: tuple[Serving, ...] = ()
        self._services: list[Service] = []
        self._model = ModelControls(model)
        self._traffic = traffic
        self.slots = dropdown("Slots", SLOTS, slots)
        self.count = w.BoundedIntText(
            value=traffic.count, min=1, max=500, description="Requests", style=WIDE
        )
        self.lengths = dropdown("Lengths", LENGTHS, traffic.lengths)
        self.longest = dropdown("Answers up to", ANSWERS, traffic.answer[1])
        self.per_s = w.BoundedFloatText(
            value=traffic.per_s or 0,
            min=0,
            max=1e6,
            description="Arrivals a second (0: all at the start)",
            style=WIDE,
        )
        self.seed = w.IntText(value=traffic.seed, description="Seed", style=WIDE)
        for number in (self.count, self.seed):
            number.layout.width = "140px"
        self.per_s.layout.width = "320px"
        self.figure, self.text = LiveFigure(figures.slots()), w.HTML()
        self.export = Export("batching", self._write)
        first = w.HBox([self.slots, self.count, self.lengths, self.longest])
        rows = [first, w.HBox([self.per_s, self.seed])]
        super().__init__([self._model, *rows], [self.figure.framed(), self.text, self.export])
        self.draw()

    def read(self) -> SlotsRequest:
        """Raises nothing: what can't be is refused when it runs."""
        return SlotsRequest(self._chosen(), self.slots.value)

    def _chosen(self) -> Traffic:
        shortest = min(self._traffic.answer[0], self.longest.value)
        return Traffic(
            count=self.count.value,
            lengths=self.lengths.value,
            prompt=self._traffic.prompt,
            answer=(shortest, self.longest.value),
            per_s=self.per_s.value or None,
            seed=self.seed.value,
        )

    def work(self, request: SlotsRequest) -> Iterator[float]:
        loaded = self._model.load(self._worker, self.on_load)
        requests = request.traffic.requests()
        services = batching.serve(loaded, requests, request.slots, per_s=request.traffic.per_s)
        self.on_load("warming up", None)
        for service in services:
            service.warm_up()
        made, total = 0, len(services) * sum(each.new_tokens for each in requests)
        for _, done in batching.in_turns(services):
            self._services = services
            made += done.made
            yield made / total

    def draw(self) -> None:
        if self._services:
            self.servings = tuple(service.record() for service in self._services)
        slots = self.servings[0].slots if self.servings else self.slots.value
        layout = figures.slots_layout(self.servings, slots)
        self.figure.show_curves(figures.slots_curves(self.servings), layout)
        self.text.value = slots_told(self.servings)
        self.export.ready = bool(self.servings)

    def wait(self, timeout_s: float | None = None) -> tuple[Serving, ...]:
        """The finished run's servings, static first. Starts a run if none was; raises what it
        raised."""
        super().wait(timeout_s)
        return self.servings

    def _show_outcome(self, error: BaseException | None) -> None:
        super()._show_outcome(error)
        self._services = []  # with them goes their cache

    def _write(self, kind: str) -> str:
        return {"json": servings_to_json, "csv": servings_to_csv}[kind](self.servings)


def dropdown(name: str, options: tuple, value: int | str) -> w.Dropdown:
    """A choice that also offers the value it begins with."""
    shown = options if value in options else tuple(sorted({*options, value}))
    chosen = w.Dropdown(options=shown, value=value, description=name, style=WIDE)
    chosen.layout.width = "auto"
    return chosen
