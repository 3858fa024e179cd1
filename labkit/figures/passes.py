"""What the charts of timed passes share: measured points with their spread, predicted lines, marks.

Measured is solid with dots, predicted is dashed and says so; a roof or a knee is a thin grey line.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from ..records.passes import Timing
from .style import INK, Curve

MEASURED, PREDICTED = "#0072B2", "#D55E00"  # Okabe-Ito
NOTHING = np.empty(0)
NUMBER = ",.3~r"  # three digits: 0.512, 1,290


def shown(unit: str) -> str:
    """How Plotly writes a number of that unit; FLOPs with a letter for the power of ten."""
    return ".3s" if unit.startswith("FLOP") else NUMBER


def points(name: str, x: Sequence[float], y: Sequence[float], text: Sequence[str] = ()) -> Curve:
    """A curve as float64; invisible, so without an entry in the legend, while it has no points."""
    return Curve(name, floats(x), floats(y), tuple(text), len(x) > 0)


def spread(name: str, x: Sequence[float], timings: Sequence[Timing]) -> Curve:
    """A vertical bar at each x from the 5th to the 95th percentile, in ms; NaN ends each bar."""
    xs = [value for place in x for value in (place, place, np.nan)]
    ys = [v for t in timings for v in (t.percentile_s(5) * 1e3, t.percentile_s(95) * 1e3, np.nan)]
    return points(name, xs, ys)


def floats(values: Sequence[float]) -> np.ndarray:
    return np.asarray(values, dtype="f8")


def median_ms(timings: Sequence[Timing]) -> list[float]:
    return [timing.median_s * 1e3 for timing in timings]


# ---- lines of a figure, empty until they are given points ----------------------------------------


def measured_line(name: str, unit: str, legend: str | None = None) -> go.Scatter:
    """Dots joined by a solid line. `legend` is its entry there, None for none."""
    return go.Scatter(
        meta=name,
        x=NOTHING,
        y=NOTHING,
        name=legend or "measured",
        showlegend=legend is not None,
        legendgroup="measured",
        visible=False,
        mode="lines+markers",
        line={"color": MEASURED, "width": 2},
        marker={"size": 7},
        hovertemplate=f"%{{text}}: %{{y:{shown(unit)}}} {unit}<extra>measured</extra>",
    )


def spread_line(name: str) -> go.Scatter:
    return go.Scatter(
        meta=name,
        x=NOTHING,
        y=NOTHING,
        showlegend=False,
        visible=False,
        mode="lines",
        line={"color": MEASURED, "width": 1.5},
        hoverinfo="skip",
    )


def predicted_line(name: str, unit: str, legend: str | None = None) -> go.Scatter:
    """A thin dashed line."""
    return go.Scatter(
        meta=name,
        x=NOTHING,
        y=NOTHING,
        name=legend or "predicted",
        showlegend=legend is not None,
        legendgroup="predicted",
        visible=False,
        mode="lines",
        line={"color": PREDICTED, "width": 1.5, "dash": "dash"},
        hovertemplate=f"%{{x:{NUMBER}}}: %{{y:{shown(unit)}}} {unit}<extra>predicted</extra>",
    )


def mark(name: str, place: str = "top center") -> go.Scatter:
    """A thin dotted line with a word at its last point: a roof, a knee, a ridge."""
    return go.Scatter(
        meta=name,
        x=NOTHING,
        y=NOTHING,
        text=(),
        showlegend=False,
        visible=False,
        mode="lines+text",
        textposition=place,
        textfont={"size": 12},
        line={"color": INK, "width": 1.5, "dash": "dot"},
        hoverinfo="skip",
        cliponaxis=False,
    )
