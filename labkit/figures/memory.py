"""Lesson 06's figures: the cache of any model, formula and tensors, two caches timed, what fits.

What is measured is solid or a dot. What is computed from a shape is dashed and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ..records.sweep import Sweep
from .style import INK, STYLE, Curve, plain
from .sweeps import NONE, doubling_axis, log_axes, room_for_legend, sweep_curves, sweep_lines, where

BLUE, ORANGE, GREEN, PURPLE, YELLOW = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"
KINDS = {  # how a model shares keys and values -> (colour, symbol)
    "MHA": (ORANGE, "square"),
    "GQA": (BLUE, "circle"),
    "MQA": (GREEN, "diamond"),
    "MLA": (PURPLE, "star"),
    "half windows": (YELLOW, "triangle-up"),
    "all windows": (INK, "triangle-down"),
}
MODEL_LINES = {
    "as it is": (BLUE, "solid"),
    "MHA: a pair for each query head": (ORANGE, "dash"),
    "MQA: one pair for all heads": (GREEN, "dot"),
    "without windows": (YELLOW, "dashdot"),
    "weights": (INK, "longdash"),
}

# ---- the cache of any model ----------------------------------------------------------------------


def kv_calculator(models: Sequence[tuple[str, str]]) -> go.Figure:
    """A model's cache over the context, and the caches of all `models` (name, kind); empty."""
    figure = make_subplots(cols=2, column_widths=[0.5, 0.5], horizontal_spacing=0.22)
    for name, (color, dash) in MODEL_LINES.items():
        figure.add_trace(_line(name, color, dash), row=1, col=1)
    figure.add_trace(_dots("chosen", BLUE, "circle"), row=1, col=1)
    for kind, look in KINDS.items():
        if any(kind == other for _, other in models):
            dots = _dots(kind, *look, legend=True).update(legend="legend2")
            figure.add_trace(dots, row=1, col=2)
    plain(figure, height=660)
    log_axes(figure, "positions of each sequence", "GB of cache", row=1, col=1)
    log_axes(figure, "GB at the context chosen", "", row=1, col=2)
    figure.update_yaxes(
        type="linear",
        tickvals=list(range(len(models))),
        ticktext=[name for name, _ in models],
        range=[-0.7, len(models) - 0.3],
        row=1,
        col=2,
    )
    figure.update_layout(title_text="computed from the shapes, nothing measured")
    room_for_legend(figure, lines=3)
    side = {"x": 1.01, "xanchor": "left", "y": 1, "yanchor": "top", "bgcolor": "rgba(0,0,0,0)"}
    figure.update_layout(legend2=side, margin_r=120)
    return figure


def _line(name: str, color: str, dash: str) -> go.Scatter:
    return go.Scatter(
        meta=name,
        name=name,
        x=NONE,
        y=NONE,
        visible=False,
        mode="lines",
        line={"color": color, "dash": dash, "width": 2.5},
        hovertemplate=f"%{{x:.4s}} positions: %{{y:.3g}} GB<extra>{name}</extra>",
    )


def _dots(name: str, color: str, symbol: str, legend: bool = False) -> go.Scatter:
    return go.Scatter(
        meta=name,
        name=name,
        x=NONE,
        y=NONE,
        mode="markers",
        marker={"color": color, "symbol": symbol, "size": 10},
        showlegend=legend,
        hovertemplate="%{text}<extra></extra>" if legend else None,
        hoverinfo=None if legend else "skip",
    )


# ---- formula and tensors -------------------------------------------------------------------------


def cache_proof() -> go.Figure:
    """For each kind a dashed line, the formula, and dots, the tensors' bytes; empty."""
    figure = go.Figure()
    for kind, (color, symbol) in KINDS.items():
        figure.add_trace(_dots(kind, color, symbol, legend=True))
        line = _line(f"{kind}-formula", color, "dash").update(showlegend=False, hoverinfo="skip")
        figure.add_trace(line.update(hovertemplate=None))
    plain(figure, height=400)
    log_axes(figure, "positions in the cache", "kB of keys and values")
    doubling_axis(figure)
    room_for_legend(figure)
    figure.update_layout(title_text="dashed: the formula · dots: the tensors of real caches")
    return figure


# ---- two caches timed ----------------------------------------------------------------------------

CACHE_LINES = {
    "growing": (STYLE["cached"][0], "circle"),
    "preallocated": (STYLE["preallocated"][0], "square"),
}


def cache_growth() -> go.Figure:
    """A decode step over the context with either cache, and below appending alone; empty."""
    figure = make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.1)
    for row, part in ((1, "step"), (2, "append")):
        for name, look in CACHE_LINES.items():
            lines = sweep_lines(f"{name}: {part}", *look)
            lines[0].update(name=name, legendgroup=name, showlegend=row == 1)
            said = _line(f"{name}: {part}, predicted", look[0], "dash")
            said.update(name=f"{name}, predicted", showlegend=row == 1, legendgroup=f"{name} said")
            said.update(hovertemplate=f"%{{x}} positions: %{{y:.3g}} ms<extra>{said.name}</extra>")
            figure.add_traces([*lines, said], rows=row, cols=1)
    plain(figure, height=460)
    figure.update_yaxes(title="ms for a step", row=1, col=1)
    figure.update_yaxes(title="ms to append alone", row=2, col=1)
    figure.update_xaxes(title="positions in the cache", row=2, col=1)
    room_for_legend(figure)
    figure.update_layout(title_text=where(()))
    return figure


def cache_growth_curves(sweeps: Sequence[Sweep]) -> list[Curve]:
    by_name = {sweep.name: sweep for sweep in sweeps}
    names = [f"{name}: {part}" for part in ("step", "append") for name in CACHE_LINES]
    return [curve for name in names for curve in sweep_curves(name, by_name.get(name))]


def cache_growth_said(
    contexts: Sequence[int], said_s: Mapping[str, Sequence[float]]
) -> list[Curve]:
    """The dashed lines. `said_s` has, by the name of a sweep, seconds for each of `contexts`."""
    names = [f"{name}: {part}" for part in ("step", "append") for name in CACHE_LINES]
    return [
        Curve(
            f"{name}, predicted",
            np.array(contexts if name in said_s else (), "f8"),  # without y, x alone is drawn
            1e3 * np.array(said_s.get(name, ()), "f8"),
            visible=name in said_s,
        )
        for name in names
    ]


# ---- what fits -----------------------------------------------------------------------------------

PARTS = {"weights": INK, "cache": BLUE, "free": "rgba(128,128,128,0.2)", "too much": ORANGE}


def memory_plan() -> go.Figure:
    """The machine's memory as one bar, and the largest batch over the context; empty."""
    figure = make_subplots(rows=2, row_heights=[0.25, 0.75], vertical_spacing=0.25)
    for name, color in PARTS.items():
        bar = go.Bar(
            meta=name,
            name=name,
            x=NONE,
            y=NONE,
            orientation="h",
            marker={"color": color, "line": {"color": INK, "width": 1}},
            hovertemplate=f"{name}: %{{x:.4g}} GB<extra></extra>",
        )
        figure.add_trace(bar, row=1, col=1)
    figure.add_trace(_line("largest batch", BLUE, "dash"), row=2, col=1)
    figure.add_trace(_dots("chosen", ORANGE, "diamond", legend=True), row=2, col=1)
    figure.update_traces(
        hovertemplate="%{x:,} positions: %{y:,} sequences fit<extra></extra>",
        selector={"meta": "largest batch"},
    )
    plain(figure, height=460)
    figure.update_yaxes(visible=False, range=[-0.5, 0.5], row=1, col=1)
    figure.update_xaxes(title="GB", rangemode="tozero", row=1, col=1)
    log_axes(figure, "positions of each sequence", "sequences that fit", row=2, col=1)
    room_for_legend(figure)
    figure.update_layout(barmode="stack", title_text="computed from shape and datasheet")
    return figure


def memory_plan_curves(
    parts_gb: dict[str, float], batches: Curve, chosen: tuple[float, float]
) -> list[Curve]:
    """`parts_gb` has the bars of PARTS; `chosen` is a context and a batch."""
    bars = [
        Curve(name, np.array([parts_gb.get(name, 0.0)]), np.zeros(1), visible=name in parts_gb)
        for name in PARTS
    ]
    x, y = chosen
    text = (f"chosen: {y:,.0f} × {x:,.0f} positions",)
    return [*bars, batches, Curve("chosen", np.array([x], "f8"), np.array([y], "f8"), text)]
