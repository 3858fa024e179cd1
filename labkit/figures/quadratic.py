"""Lesson 02's figures: the attention matrix, attention's time, a naive pass, the cost of a token.

What is measured is solid with dots. What is computed from a shape is dashed and says so.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ..records.sweep import PowerLaw, Sweep
from .passes import shown
from .style import INK, STYLE, Curve, plain
from .sweeps import NONE, doubling_axis, log_axes, room_for_legend, sweep_curves, sweep_lines, where

BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"  # Okabe-Ito
KERNEL_LINES = {
    "causal": (BLUE, "circle"),
    "all pairs": (ORANGE, "square"),
    "written out": (PURPLE, "diamond"),
}
PART_LINES = {
    "whole pass": (INK, "square"),
    "everything else": (GREEN, "diamond"),
    "attention": (BLUE, "circle"),
}

# ---- the matrix ----------------------------------------------------------------------------------

FLOP_LINES = {
    "linear layers": (GREEN, "dash"),
    "attention, causal": (BLUE, "dash"),
    "attention, all pairs": (ORANGE, "dot"),
}


def attention_matrix(plane: int) -> go.Figure:
    """The causal matrix on a plane of `plane` tokens a side, and the FLOPs of one pass; empty."""
    figure = make_subplots(cols=2, column_widths=[0.42, 0.58], horizontal_spacing=0.14)
    figure.add_trace(_area("masked", "rgba(213,94,0,0.3)"), row=1, col=1)
    figure.add_trace(_area("seen", BLUE), row=1, col=1)
    for name, look in FLOP_LINES.items():
        figure.add_trace(_computed(name, name, *look, "FLOP"), row=1, col=2)
        figure.add_trace(_dot(f"{name}-here", look[0]), row=1, col=2)
    plain(figure, height=400)
    side = {"showgrid": False, "zeroline": False, "constrain": "domain"}
    figure.update_xaxes(title="key", range=[0, plane], row=1, col=1, **side)
    figure.update_yaxes(title="query", range=[plane, 0], scaleanchor="x", row=1, col=1, **side)
    log_axes(figure, "tokens L", "FLOPs of one pass", row=1, col=2)
    figure.update_yaxes(exponentformat="power", row=1, col=2)
    room_for_legend(figure, lines=2)
    figure.update_layout(title_text="computed from the shape, nothing measured")
    return figure


def attention_matrix_curves(length: int, flops: Sequence[Curve]) -> list[Curve]:
    """The two triangles of `length` tokens, the curves named in FLOP_LINES, and a dot on each."""
    low = Curve("seen", *_corners((0, 0), (length, length), (0, length)))
    high = Curve("masked", *_corners((0, 0), (length, 0), (length, length)))
    dots = [_at(f"{curve.name}-here", length, curve) for curve in flops]
    return [high, low, *flops, *dots]


def _corners(*corners: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """x and y of a closed area."""
    x, y = np.array([*corners, corners[0]], dtype="f8").T
    return x.copy(), y.copy()


def _at(name: str, x: float, curve: Curve) -> Curve:
    """The point of a curve of powers at `x`."""
    y = np.exp(np.interp(np.log(x), np.log(curve.x), np.log(curve.y)))
    return Curve(name, np.array([x], dtype="f8"), np.array([y], dtype="f8"))


def _area(name: str, color: str) -> go.Scatter:
    return go.Scatter(
        meta=name,
        name=f"pairs {name}",
        x=NONE,
        y=NONE,
        mode="lines",
        fill="toself",
        fillcolor=color,
        line={"width": 0, "color": color},
        hoverinfo="skip",
    )


def _computed(meta: str, name: str, color: str, dash: str, unit: str) -> go.Scatter:
    return go.Scatter(
        meta=meta,
        name=name,
        x=NONE,
        y=NONE,
        mode="lines",
        line={"color": color, "dash": dash, "width": 2.5},
        hovertemplate=f"%{{x:,}}: %{{y:{shown(unit)}}} {unit}<extra>{name}</extra>",
    )


def _dot(name: str, color: str) -> go.Scatter:
    return go.Scatter(
        meta=name,
        x=NONE,
        y=NONE,
        mode="markers",
        marker={"color": color, "size": 10},
        showlegend=False,
        hoverinfo="skip",
    )


# ---- attention's time ----------------------------------------------------------------------------


def attention_sweep() -> go.Figure:
    """One layer's attention over the length, by kernel; empty."""
    figure = go.Figure()
    for name, look in KERNEL_LINES.items():
        figure.add_traces(sweep_lines(name, *look))
    plain(figure, height=400)
    log_axes(figure, "tokens L", "ms for one layer's attention")
    doubling_axis(figure)
    room_for_legend(figure)
    figure.update_layout(title_text=where(()))
    return figure


def attention_sweep_curves(
    sweeps: Sequence[Sweep], fits: dict[str, PowerLaw | None]
) -> list[Curve]:
    by_name = {sweep.name: sweep for sweep in sweeps}
    return [
        curve
        for name in KERNEL_LINES
        for curve in sweep_curves(name, by_name.get(name), fits.get(name))
    ]


# ---- a naive pass --------------------------------------------------------------------------------


def naive_split() -> go.Figure:
    """A pass over the length in its two parts, and below attention's share of it; empty."""
    figure = make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.1, row_heights=[0.6, 0.4])
    for name, look in PART_LINES.items():
        figure.add_traces(sweep_lines(name, *look), rows=1, cols=1)
    share = {"x": NONE, "y": NONE, "legendgroup": "share", "showlegend": True}
    figure.add_trace(
        go.Scatter(
            meta="share-predicted",
            name="share of FLOPs, predicted",
            mode="lines",
            line={"color": BLUE, "dash": "dash", "width": 1.5},
            hovertemplate="length %{x:.4s}: %{y:.0f} %<extra>of the FLOPs, predicted</extra>",
            **share,
        ),
        row=2,
        col=1,
    )
    figure.add_trace(
        go.Scatter(
            meta="share",
            name="share of time, measured",
            mode="lines+markers",
            line={"color": BLUE, "width": 2},
            marker={"size": 7},
            hovertemplate="length %{x}: %{y:.0f} %<extra>of the time, measured</extra>",
            **share,
        ),
        row=2,
        col=1,
    )
    figure.add_hline(y=50, line={"color": INK, "dash": "dot", "width": 1}, row=2, col=1)
    plain(figure, height=520)
    log_axes(figure, "", "ms", row=1, col=1)
    doubling_axis(figure)
    room_for_legend(figure, lines=2)
    figure.update_xaxes(title="tokens L in the pass", type="log", row=2, col=1)
    figure.update_yaxes(title="attention, %", range=[0, 100], row=2, col=1)
    figure.update_layout(title_text=where(()))
    return figure


def naive_split_curves(
    sweeps: Sequence[Sweep],
    fits: dict[str, PowerLaw | None],
    predicted_share: Curve,
    reach: float | None = None,
) -> list[Curve]:
    """`reach` is how far the two parts' fits are drawn: beyond where they meet."""
    by_name = {sweep.name: sweep for sweep in sweeps}
    curves = [
        curve
        for name in PART_LINES
        for curve in sweep_curves(name, by_name.get(name), fits.get(name), reach)
    ]
    whole, attention = by_name.get("whole pass"), by_name.get("attention")
    pairs = list(zip(whole.points, attention.points, strict=False)) if whole and attention else []
    x = np.array([one.length for one, _ in pairs], dtype="f8")
    y = np.array([100 * part.median_s / one.median_s for one, part in pairs], dtype="f8")
    return [*curves, Curve("share", x, y), predicted_share]


# ---- the cost of a token -------------------------------------------------------------------------


def token_cost() -> go.Figure:
    """Predicted ms of the pass for token n, and of all passes up to it, naive and cached; empty."""
    figure = make_subplots(cols=2, horizontal_spacing=0.12)
    for column, which in ((1, "each"), (2, "total")):
        for arm in ("naive", "cached"):
            line = _computed(f"{arm}-{which}", f"{arm}, predicted", STYLE[arm][0], "dash", "ms")
            line.update(legendgroup=arm, showlegend=column == 1)
            figure.add_trace(line, row=1, col=column)
            dots = _dot(f"{arm}-{which}-here", STYLE[arm][0]).update(legendgroup=arm)
            figure.add_trace(dots, row=1, col=column)
    plain(figure, height=400)
    log_axes(figure, "token n", "ms for token n alone", row=1, col=1)
    log_axes(figure, "token n", "ms for all tokens up to n", row=1, col=2)
    room_for_legend(figure)
    figure.update_layout(title_text="predicted, nothing measured")
    return figure


def token_cost_curves(curves: Sequence[Curve], marks: Sequence[int]) -> list[Curve]:
    """`curves` are named "naive-each", "cached-total" and so on; a dot at each of `marks`."""
    dots = []
    for curve in curves:
        chosen = np.isin(curve.x, marks)
        dots.append(Curve(f"{curve.name}-here", curve.x[chosen], curve.y[chosen]))
    return [*curves, *dots]
