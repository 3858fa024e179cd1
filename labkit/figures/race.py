"""Naive against cached, token by token: the figure of the race."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ..records import Trace
from .style import STYLE, Curve, plain, provenance, shown

ARMS = tuple(STYLE)


KINDS = {"said": "predicted", "also": "also predicted"}  # here, and of another model elsewhere


def race_curves(traces: Sequence[Trace]) -> list[Curve]:
    """Two curves for each arm: tokens per second, and ms per token, over the token's number."""
    by_arm = {trace.arm: trace for trace in traces}
    return [curve for arm in ARMS for curve in _arm_curves(arm, by_arm.get(arm))]


def said_curves(kind: str, step_s: Mapping[str, Sequence[float]], batch: int = 1) -> list[Curve]:
    """The same of predicted seconds by arm; `kind` is one of `KINDS`. Other arms are hidden."""
    curves = []
    for arm in ARMS:
        seconds = np.array(step_s.get(arm, ()), dtype="f8")
        number, visible = np.arange(1, len(seconds) + 1, dtype="f8"), arm in step_s
        curves.append(Curve(f"{arm}-{kind}-rate", number, batch / seconds, (), visible))
        curves.append(Curve(f"{arm}-{kind}-ms", number, seconds * 1e3, (), visible))
    return curves


def _arm_curves(arm: str, trace: Trace | None) -> list[Curve]:
    steps = trace.steps if trace else ()
    number = np.arange(1, len(steps) + 1, dtype="f8")
    step_s = np.array([step.wall_ns for step in steps], dtype="f8") * 1e-9
    batch = trace.settings.batch if trace else 1
    text = tuple(shown(step.texts[0]) for step in steps)
    visible = trace is not None
    return [
        Curve(f"{arm}-rate", number, batch / step_s, text, visible),
        Curve(f"{arm}-ms", number, step_s * 1e3, text, visible),
    ]


def race(traces: Sequence[Trace] = (), new_tokens: int | None = None) -> go.Figure:
    """Naive against cached: tokens per second above, ms per token below."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.09)
    for curve in race_curves(traces):
        figure.add_trace(_line(curve), row=1 if curve.name.endswith("rate") else 2, col=1)
    for kind in KINDS:
        for curve in said_curves(kind, {}):
            figure.add_trace(_said(curve), row=1 if curve.name.endswith("rate") else 2, col=1)
    figure.update_yaxes(title="tokens per second", row=1, col=1)
    figure.update_yaxes(title="ms per token", row=2, col=1)
    figure.update_xaxes(title="token number (1 is the prefill's)", row=2, col=1)
    plain(figure, height=500)
    figure.update_layout(
        legend={"y": -0.14, "yanchor": "top", "x": 0, "xanchor": "left"}, margin={"b": 88}
    )
    figure.update_layout(race_layout(traces, new_tokens))
    return figure


def race_layout(traces: Sequence[Trace], new_tokens: int | None = None, also: str = "") -> dict:
    """What of the layout changes with the run: the title, which says where, and the x range.

    `also` names the other model and machine that are predicted besides; they can be a hundred times
    faster, so the axes are logarithmic then.
    """
    longest = max((len(trace.steps) for trace in traces), default=0)
    span = [0, max(new_tokens or longest, 2) + 0.5]
    title = provenance(traces) + (f"<br>also predicted: {escape(also)}" if also else "")
    kind = "log" if also else "linear"
    axes = {"yaxis.type": kind, "yaxis2.type": kind}
    return {"title.text": title, "xaxis.range": span, "xaxis2.range": span, **axes}


def _line(curve: Curve) -> go.Scatter:
    arm, quantity = curve.name.rsplit("-", 1)
    color, dash = STYLE[arm]
    unit = "tokens/s" if quantity == "rate" else "ms"
    return go.Scatter(
        meta=curve.name,
        x=curve.x,
        y=curve.y,
        text=curve.text,
        visible=curve.visible,
        name=arm,
        legendgroup=arm,
        showlegend=quantity == "rate",
        mode="lines",
        line={"color": color, "dash": dash, "width": 2.5},
        hovertemplate=f"token %{{x}}: %{{text}}<br>%{{y:.1f}} {unit}<extra>{arm}</extra>",
    )


def _said(curve: Curve) -> go.Scatter:
    """Thin and dashed: computed, not measured. Dotted for the other model."""
    arm, kind, quantity = curve.name.split("-")
    unit = "tokens/s" if quantity == "rate" else "ms"
    name = f"{arm}, {KINDS[kind]}"
    return go.Scatter(
        meta=curve.name,
        x=curve.x,
        y=curve.y,
        visible=False,
        name=name,
        legendgroup=name,
        showlegend=quantity == "rate",
        mode="lines",
        line={"color": STYLE[arm][0], "dash": "dash" if kind == "said" else "dot", "width": 1.5},
        hovertemplate=f"token %{{x}}: %{{y:.1f}} {unit}<extra>{name}</extra>",
    )
