"""What the panels of timed sweeps share: repeats become sweeps, and are drawn as they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import ipywidgets as w
import plotly.graph_objects as go

from ..records.sweep import PowerLaw, Sweep, power_law, sweeps_to_csv, sweeps_to_json
from ..sweeps import Repeat
from .controls import WIDE
from .download import Export
from .live import LiveFigure
from .panel import Panel


class SweepPanel(Panel):
    """Base of panels that time the same work at several lengths. `sweeps` holds the latest run."""

    power = 1  # how the work grows with the length, to tell how much of a run is done

    def __init__(self, name: str, figure: go.Figure, controls: list[w.Widget]):
        self.sweeps: tuple[Sweep, ...] = ()
        self.figure = LiveFigure(figure)
        self.text = w.HTML()
        self.export = Export(name, self._write)
        super().__init__(controls, [self.figure.framed(), self.text, self.export])

    # ---- what a subclass gives, besides `read` and `work` ----------------------------------------

    def show(self, sweeps: tuple[Sweep, ...]) -> None:
        """Draws the sweeps and writes their text twin."""
        raise NotImplementedError

    # ---- running ---------------------------------------------------------------------------------

    def gather(self, repeats: Iterable[Repeat], blank: Sweep, total: float) -> Iterator[float]:
        """Adds each repeat to the sweep of its name; gives the share of `total` that is done."""
        found: dict[str, Sweep] = {}
        done = 0
        for repeat in repeats:
            sweep = found.get(repeat.name) or replace(blank, name=repeat.name)
            found[repeat.name] = sweep.add(repeat.length, repeat.wall_ns)
            self.sweeps = tuple(found.values())  # only now: until then, the last run stays on show
            done += repeat.length**self.power
            yield done / total

    def draw(self) -> None:
        self.show(self.sweeps)
        self.export.ready = bool(self.sweeps)

    def wait(self, timeout_s: float | None = None) -> tuple[Sweep, ...]:
        """The finished run's sweeps. Starts a run if none was; raises what it raised."""
        super().wait(timeout_s)
        return self.sweeps

    def _write(self, kind: str) -> str:
        return {"json": sweeps_to_json, "csv": sweeps_to_csv}[kind](self.sweeps)


def fits(sweeps: Iterable[Sweep]) -> dict[str, PowerLaw | None]:
    """The power law of each sweep's longer lengths; None while there are too few."""
    return {sweep.name: power_law(sweep.upper_half()) for sweep in sweeps}


def longest_choice(value: int, choices: Iterable[int]) -> w.Dropdown:
    """The longest length of a sweep. Another value than the usual choices is offered too."""
    options = [(f"{n:,} tokens", n) for n in sorted({*choices, value})]
    return w.Dropdown(
        options=options,
        value=value,
        description="Up to",
        style=WIDE,
        layout={"width": "180px"},
    )


def rounds_choice(value: int) -> w.BoundedIntText:
    """How often each length is timed."""
    return w.BoundedIntText(
        value=value,
        min=1,
        max=50,
        description="Repeats",
        style=WIDE,
        layout={"width": "140px"},
    )
