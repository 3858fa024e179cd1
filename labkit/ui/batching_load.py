"""Lesson 07's third panel: how long a first token takes when people come as they like.

The same traffic arrives at several rates, as shares of what the server does when all come at once;
both policies serve each of them, all in turns. What a queue does depends on the rates, not on the
model: a toy shows it in seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import ipywidgets as w

from .. import batching, figures, models
from ..batching import Service, Traffic
from ..records.serving import Serving, servings_to_csv, servings_to_json
from .batching import SLOTS, dropdown
from .batching_text import waits_told
from .controls import WIDE, ModelControls
from .download import Export
from .live import LiveFigure
from .panel import Panel

LOADS = (0.3, 0.6, 0.9, 1.2)


@dataclass(frozen=True)
class LoadRequest:
    """Who comes, at rates still to be found, and how many can be served at once."""

    traffic: Traffic
    slots: int


class Load(Panel):
    """The wait for a first token under load. `loads` holds (load, serving) of the latest run."""

    def __init__(self, model: str | models.Loaded, traffic: Traffic, slots: int):
        self.loads: tuple[tuple[float, Serving], ...] = ()
        self._rated_services: list[tuple[float, Service]] = []
        self._traffic = traffic
        self._model = ModelControls(model)
        self.slots = dropdown("Slots", SLOTS, slots)
        self.count = w.BoundedIntText(
            value=traffic.count, min=2, max=1000, description="Requests", style=WIDE
        )
        self.count.layout.width = "140px"
        self.figure, self.text = LiveFigure(figures.load()), w.HTML()
        self.export = Export("load", self._write)
        row = w.HBox([self.slots, self.count])
        super().__init__([self._model, row], [self.figure.framed(), self.text, self.export])
        self.draw()

    def read(self) -> LoadRequest:
        return LoadRequest(replace(self._traffic, count=self.count.value), self.slots.value)

    def work(self, request: LoadRequest) -> Iterator[float]:
        loaded = self._model.load(self._worker, self.on_load)
        everybody = request.traffic.requests()
        batching.check(loaded, everybody, request.slots, services=2 * len(LOADS))
        self.on_load("warming up", None)
        made, total = 0, (1 + 2 * len(LOADS)) * sum(each.new_tokens for each in everybody)
        (whole,) = batching.serve(loaded, everybody, request.slots, ["continuous"])
        whole.warm_up()
        for _, done in batching.in_turns([whole]):
            made += done.made
            yield made / total
        rated = self._rated(loaded, request, len(everybody) / whole.record().span_s)
        for _, done in batching.in_turns([service for _, service in rated]):
            self._rated_services = rated  # until now the last run stays on show
            made += done.made
            yield made / total

    def _rated(
        self, loaded: models.Loaded, request: LoadRequest, most_per_s: float
    ) -> list[tuple[float, Service]]:
        """Both policies at each load, warmed up."""
        rated = []
        for load in LOADS:
            per_s = load * most_per_s
            requests = replace(request.traffic, per_s=per_s).requests()
            services = batching.serve(loaded, requests, request.slots, per_s=per_s)
            rated += [(load, service) for service in services]
        for _, service in rated:
            service.warm_up()
        return rated

    def draw(self) -> None:
        if all(service.passes for _, service in self._rated_services):
            records = ((load, service.record()) for load, service in self._rated_services)
            self.loads = tuple(records) or self.loads
        servings = [serving for _, serving in self.loads]
        title = figures.serving_place(servings)
        self.figure.show_curves(figures.load_curves(waits(self.loads)), {"title.text": title})
        self.text.value = waits_told(self.loads) or "<p>Nothing was measured yet.</p>"
        self.export.ready = bool(self.loads)

    def wait(self, timeout_s: float | None = None) -> tuple[tuple[float, Serving], ...]:
        """(load, serving), static first at each load. Starts a run if none was; raises what it
        raised."""
        super().wait(timeout_s)
        return self.loads

    def _show_outcome(self, error: BaseException | None) -> None:
        super()._show_outcome(error)
        self._rated_services = []  # with them goes their cache

    def _write(self, kind: str) -> str:
        servings = [serving for _, serving in self.loads]
        return {"json": servings_to_json, "csv": servings_to_csv}[kind](servings)


def waits(loads: tuple[tuple[float, Serving], ...]) -> dict[str, list[tuple[float, float, float]]]:
    """For each policy: load, median and 95th percentile of the time to the first token."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for load, serving in loads:
        place = (load, serving.ttft_s(), serving.ttft_s(95))
        found.setdefault(serving.policy, []).append(place)
    return found
