"""Where the wait goes: one bar for each run, cut into the shares of its phases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import plotly.graph_objects as go

from .style import INK, Curve, plain
from .sweeps import NONE

# phase -> (colour, pattern): told apart without colours too
PARTS = {
    "queue": ("#E69F00", "/"),
    "load": ("#CC79A7", "x"),
    "prefill": ("#D55E00", ""),
    "decode": ("#0072B2", ""),
    "overhead": (INK, "."),
}
OVER = {"fillmode": "overlay", "fgcolor": "white", "fgopacity": 0.4, "size": 10, "solidity": 0.15}
ROW, FRAME = 34, 110  # pixels


def shares() -> go.Figure:
    """The figure without bars; `shares_curves` has them."""
    figure = go.Figure()
    for name, (color, pattern) in PARTS.items():
        bar = go.Bar(
            meta=name,
            name=name,
            x=NONE,
            y=NONE,
            orientation="h",
            marker={"color": color, "pattern": {"shape": pattern, **OVER}},
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            hovertemplate=f"%{{y}}: {name} %{{x:.1f}} %<extra></extra>",
        )
        figure.add_trace(bar)
    plain(figure, height=FRAME + ROW)
    figure.update_layout(
        barmode="stack",
        bargap=0.25,
        legend={"traceorder": "normal"},
        margin={"t": 40, "b": 40, "r": 40},
    )
    figure.update_xaxes(range=[0, 100], ticksuffix=" %", rangemode="tozero")
    figure.update_yaxes(type="category", autorange="reversed", ticksuffix=" ")
    return figure


def shares_curves(rows: Sequence[tuple[str, Mapping[str, float]]]) -> list[Curve]:
    """`rows` are a run's label, different from all others, and its shares, 0 to 1."""
    labels = np.array([escape(label) for label, _ in rows], dtype=object)
    curves = []
    for name in PARTS:
        percents = np.array([100 * parts.get(name, 0.0) for _, parts in rows], "f8")
        text = tuple(f"{percent:.0f} %" if percent >= 4 else "" for percent in percents)
        curves.append(Curve(name, percents, labels, text, visible=bool(percents.any())))
    return curves


def shares_layout(rows: Sequence[tuple[str, Mapping[str, float]]]) -> dict:
    """As tall as its bars need."""
    return {"height": FRAME + ROW * max(1, len(rows))}
