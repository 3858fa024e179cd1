"""A panel that computes and measures nothing: each move of a control draws its figure anew.

No worker is needed. A subclass gives one plain function from the controls' values to curves and
their text twin.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import ipywidgets as w
import plotly.graph_objects as go

from .. import catalog
from ..figures import Curve
from .controls import WIDE
from .live import LiveFigure
from .panel import BAD

CACHE_DTYPES = ("bfloat16", "float32", "float8", "int4")


class Calculator(w.VBox):
    """Base of the calculators. `controls` are boxes or single controls; `figure` has no points."""

    def __init__(self, figure: go.Figure, controls: list[w.Widget]):
        self.text = w.HTML()
        self.figure = LiveFigure(figure)
        super().__init__([*controls, self.figure.framed(), self.text])
        self.add_class("labkit-panel")
        for control in _leaves(controls):
            control.observe(self._refresh, "value")
        self._refresh()

    def __repr__(self) -> str:  # constant, so that a notebook's output can be compared
        return f"{type(self).__name__}()"

    def compute(self) -> tuple[list[Curve], str]:
        """The figure's curves and its text twin as HTML. Raises ValueError, with the remedy."""
        raise NotImplementedError

    def _refresh(self, _=None) -> None:
        try:
            curves, text = self.compute()
        except ValueError as error:
            text = (
                f'<p role="alert" style="border-left:4px solid {BAD};padding-left:8px">'
                f"{escape(str(error))}. The chart still shows the choice before this one.</p>"
            )
            curves = []
        self.text.value = text
        self.figure.show_curves(curves, {})


def shape_choice(name: str) -> w.Dropdown:
    """All shapes of the catalogue. Raises ValueError for a name that is none."""
    return w.Dropdown(
        options=list(catalog.models()),
        value=catalog.model(name).name,
        description="Model",
        style=WIDE,
    )


def machine_choice(name: str) -> w.Dropdown:
    """All machines of the catalogue. Raises ValueError for a name that is none."""
    return w.Dropdown(
        options=list(catalog.machines()),
        value=catalog.machine(name).name,
        description="Machine",
        style=WIDE,
    )


def dtype_choice(value: str, options: Iterable[str], name: str = "Format") -> w.Dropdown:
    return w.Dropdown(
        options=list(options),
        value=value,
        description=name,
        style=WIDE,
        layout={"width": "200px"},
    )


def length_slider(value: int, shortest: int, longest: int, name: str) -> w.SelectionSlider:
    """A slider over lengths that double, each also one and a half times."""
    steps, length = [], shortest
    while length <= longest:
        steps += [length, length * 3 // 2]
        length *= 2
    options = [(f"{n:,}", n) for n in steps if n <= longest]
    return w.SelectionSlider(
        options=options,
        value=value,
        description=name,
        style=WIDE,
        layout={"width": "420px"},
    )


def batch_choice(value: int) -> w.BoundedIntText:
    return w.BoundedIntText(
        value=value,
        min=1,
        max=100_000,
        description="Sequences",
        style=WIDE,
        layout={"width": "170px"},
    )


def _leaves(controls: list[w.Widget]) -> list[w.Widget]:
    """The controls that hold a value, out of their boxes."""
    found = []
    for control in controls:
        inner = getattr(control, "children", None)
        found += _leaves(inner) if inner else [control]
    return found
