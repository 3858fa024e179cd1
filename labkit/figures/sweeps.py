"""What the charts of sweeps share: medians with their spread, and the fitted power drawn on.

Both axes are logarithmic, so that a power of the length is a straight line and its slope the
exponent. Measured is solid with dots; a fit is dotted, and goes on beyond the points if asked to.
"""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from ..records.sweep import PowerLaw, Sweep
from .style import Curve, escape, place

NONE = np.empty(0)


def sweep_curves(
    name: str, sweep: Sweep | None, fit: PowerLaw | None = None, reach: float | None = None
) -> list[Curve]:
    """Medians, spread and fit of one sweep in ms; the fit starts at the points that it fits.

    `reach` is the length up to which it is drawn, by default the longest measured.
    """
    points = sweep.points if sweep else ()
    x = np.array([p.length for p in points], dtype="f8")
    median = np.array([p.median_s for p in points], dtype="f8") * 1e3
    bars_x = np.repeat(x, 3)
    bars_y = np.array([v for p in points for v in (p.low_s, p.high_s, np.nan)], dtype="f8") * 1e3
    fit_x = NONE
    if fit:
        fit_x = np.array([sweep.upper_half()[0].length, reach or points[-1].length], dtype="f8")
    fit_y = np.array([fit.seconds(n) * 1e3 for n in fit_x], dtype="f8") if fit else NONE
    return [
        Curve(name, x, median, visible=sweep is not None),
        Curve(f"{name}-spread", bars_x, bars_y, visible=sweep is not None),
        Curve(f"{name}-fit", fit_x, fit_y, visible=fit is not None),
    ]


def sweep_lines(name: str, color: str, symbol: str = "circle") -> list[go.Scatter]:
    """The lines of those curves, without points so far."""
    common = {"x": NONE, "y": NONE, "visible": False, "legendgroup": name}
    return [
        go.Scatter(
            meta=name,
            name=name,
            mode="lines+markers",
            line={"color": color, "width": 2},
            marker={"size": 7, "symbol": symbol},
            hovertemplate=f"length %{{x}}: %{{y:.3g}} ms<extra>{escape(name)}</extra>",
            **common,
        ),
        go.Scatter(
            meta=f"{name}-spread",
            mode="lines",
            line={"color": color, "width": 1.5},
            showlegend=False,
            hoverinfo="skip",
            **common,
        ),
        go.Scatter(
            meta=f"{name}-fit",
            mode="lines",
            line={"color": color, "width": 2, "dash": "dot"},
            showlegend=False,
            hoverinfo="skip",
            **common,
        ),
    ]


def where(sweeps: tuple[Sweep, ...]) -> str:
    """Measured, what, on which machine: the first line of a chart's title."""
    if not sweeps:
        return "nothing measured yet"
    first = sweeps[0]
    threads = [f"{first.threads} thread{'s' * (first.threads > 1)}"] if first.threads else []
    return place(first.origin, first.machine, first.model, first.dtype, *threads)


DOUBLINGS = [2**power for power in range(4, 21)]


def log_axes(figure: go.Figure, x: str, y: str, **place) -> None:
    """Names both axes of a subplot and makes them logarithmic, with a line for each power of 10."""
    for axis, title in ((figure.update_xaxes, x), (figure.update_yaxes, y)):
        axis(
            title=title, type="log", dtick=1, exponentformat="none", separatethousands=True, **place
        )


def doubling_axis(figure: go.Figure, **place) -> None:
    """Marks a logarithmic x axis at powers of 2, which is how the lengths of a sweep grow."""
    ticks = {"tickvals": DOUBLINGS, "ticktext": [f"{n:,}" for n in DOUBLINGS]}
    figure.update_xaxes(tickmode="array", **ticks, **place)


def room_for_legend(figure: go.Figure, lines: int = 1) -> None:
    """The legend below the title, from the left; `lines` of it on a narrow page."""
    legend = {"x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}
    top = 60 + 20 * lines
    figure.update_layout(margin_t=top, legend=legend, title_y=0.98, title_yanchor="top")
