"""What the panels of lessons 04 and 05 share: passes are timed in turns and drawn as they come.

A subclass plans the passes of a request and draws the `Passes` measured so far. Roofs come with the
panel or from an earlier probe of this machine; a panel never probes by itself. Without roofs, or
without a model's shape, there is nothing to predict.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import ipywidgets as w

from .. import models, probing, sweeps_passes
from ..records.machine import Roofs
from ..records.model_shape import ModelShape
from ..records.passes import Passes, passes_to_csv, passes_to_json
from ..sweeps_passes import PassRun
from .controls import ModelControls
from .download import Export
from .panel import Panel


def roofs_on(device: str, given: Roofs | None) -> Roofs | None:
    """The roofs handed over if they are of that kind of device, else those probed here earlier."""
    where = models.resolve_device(device)
    if given is not None and given.device == where.type:
        return given
    return probing.known_roofs(where)


class PassPanel(Panel):
    """Base of panels that time single passes. `passes` holds the latest run's, None before."""

    def __init__(
        self,
        name: str,
        model: str | models.Loaded,
        roofs: Roofs | None,
        controls: list[w.Widget],
        body: list[w.Widget],
    ):
        self.passes: Passes | None = None
        self._given_roofs = roofs
        self._runs: list[PassRun] = []
        self._loaded: models.Loaded | None = None
        self._before: Passes | None = None
        self._model = ModelControls(model)
        self._text = w.HTML()
        self.export = Export(name, self._write)
        self.roofs = roofs_on(self._model.device.value, roofs)
        super().__init__([self._model, *controls], [*body, self._text, self.export])
        for control in (self._model.model, self._model.device, self._model.dtype):
            control.observe(self._changed, "value")

    # ---- what a subclass gives -------------------------------------------------------------------

    def plan(self, request, loaded: models.Loaded) -> list[PassRun]:
        """The passes to time. Raises ValueError, with the remedy, for what can't be run."""
        raise NotImplementedError

    # ---- running ---------------------------------------------------------------------------------

    def work(self, request) -> Iterator[float]:
        loaded = self._model.load(self._worker, self.on_load)
        self.roofs = roofs_on(str(loaded.device), self._given_roofs)
        runs = self.plan(request, loaded)
        self.on_load("warming up", None)
        before, self._loaded = self.passes, loaded
        for share in sweeps_passes.time_all(runs):
            self._before, self._runs = before, runs
            yield share

    def wait(self, timeout_s: float | None = None) -> Passes | None:
        """The finished run's passes. Starts a run if none was; raises what it raised."""
        super().wait(timeout_s)
        return self.passes

    def collect(self) -> None:
        """Takes over what the run has measured so far; curves that it does not time are kept."""
        if any(run.wall_ns for run in self._runs):
            new = sweeps_passes.passes_of(self._runs, self._loaded, self.roofs)
            timed = {run.curve for run in self._runs}
            old = self._before.timings if self._before else ()
            kept = tuple(timing for timing in old if timing.curve not in timed)
            self.passes = replace(new, timings=kept + new.timings)
        self.export.ready = self.passes is not None

    def _show_outcome(self, error: BaseException | None) -> None:
        super()._show_outcome(error)
        self._runs, self._loaded, self._before = (
            [],
            None,
            None,
        )  # or an old panel would keep its model in memory

    # ---- what can be said before a run -----------------------------------------------------------

    @property
    def shape(self) -> ModelShape | None:
        """The chosen model's shape; None for one that is known by its name only."""
        given = self._model.given
        return given.shape if given else models.choices().get(self._model.name)

    @property
    def dtype(self) -> str:
        return self._model.dtype.value

    def _changed(self, _=None) -> None:
        """A control was moved: what was measured is not of this choice any more."""
        if not self.running and self.dtype is not None:
            self.passes = None
            self.roofs = roofs_on(self._model.device.value, self._given_roofs)
            self.draw()

    def _write(self, kind: str) -> str:
        return {"json": passes_to_json, "csv": passes_to_csv}[kind](self.passes)
