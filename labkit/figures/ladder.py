"""The ladder of lesson 08: tokens a second of each rung, what was predicted, and its roof."""

from __future__ import annotations

from html import escape

import numpy as np
import plotly.graph_objects as go

from ..records.ladder import Ladder, Rung
from .passes import MEASURED, NOTHING, PREDICTED
from .style import INK, Curve, bar, plain, provenance


def ladder() -> go.Figure:
    """The figure without bars; `ladder_curves` has them. The first rung stands at the bottom."""
    figure = go.Figure()
    figure.add_trace(_bar("measured", MEASURED, ""))
    figure.add_trace(_bar("predicted", PREDICTED, "/"))
    figure.add_trace(
        go.Scatter(
            meta="roof",
            name="roof: this machine's bandwidth ÷ the rung's bytes",
            x=NOTHING,
            y=NOTHING,
            mode="markers",
            visible=False,
            marker={"symbol": "line-ns", "size": 34, "line": {"color": INK, "width": 2}},
            hovertemplate="%{y}: at most %{x:.3s} tokens/s<extra>roof</extra>",
        )
    )
    plain(figure, height=440)
    figure.update_layout(
        {"title.text": "nothing measured yet"},
        barmode="group",
        bargap=0.3,
        legend={"y": -0.22, "yanchor": "top", "x": 0, "xanchor": "left", "traceorder": "normal"},
        margin={"l": 110, "b": 104},
    )
    figure.update_xaxes(title_text="tokens/s", rangemode="tozero")
    figure.update_yaxes(type="category")
    return figure


def ladder_curves(climbed: Ladder) -> list[Curve]:
    """Bars and marks of the rungs that were measured."""
    measured = climbed.measured
    said = [rung for rung in measured if rung.predicted_s]
    roofs = [(rung, rung.roof_tokens_per_s(climbed.roofs)) for rung in measured]
    known = [(rung, roof) for rung, roof in roofs if roof]
    return [
        _bars("measured", measured, [rung.tokens_per_s for rung in measured]),
        _bars("predicted", said, [1 / rung.predicted_s for rung in said]),
        _bars("roof", [rung for rung, _ in known], [roof for _, roof in known]),
    ]


def ladder_layout(climbed: Ladder) -> dict:
    """The title: what was measured, and where."""
    traces = [trace for rung in climbed.measured[:1] for trace in rung.traces]
    return {"title.text": provenance(traces)}


def _bars(name: str, rungs: list[Rung] | tuple[Rung, ...], per_s: list[float]) -> Curve:
    labels = np.array([escape(rung.name) for rung in rungs], dtype=object)
    text = tuple(f"{value:.1f}" for value in per_s)
    return Curve(name, np.array(per_s, dtype="f8"), labels, text, bool(rungs))


def _bar(name: str, color: str, pattern: str) -> go.Bar:
    return bar(
        name,
        color,
        pattern,
        orientation="h",
        x=NOTHING,
        y=NOTHING,
        visible=False,
        hovertemplate=f"%{{y}}: %{{x:.3s}} tokens/s<extra>{name}</extra>",
    )
