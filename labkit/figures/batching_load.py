"""Lesson 07's other figures: what a batch gives and costs, and how long a first token takes.

Measured is solid with dots; what the roofs allow is dashed and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from .batching import POLICIES, POLICY_STYLE, serving_place
from .passes import NOTHING, mark, measured_line, points, predicted_line
from .style import INK, Curve, plain

# ---- what a batch gives --------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """Batches with the time of a step, which a user waits for a token, and all users' tokens/s."""

    batches: tuple[int, ...] = ()
    step_s: tuple[float, ...] = ()
    tokens_per_s: tuple[float, ...] = ()


def batch_sizes() -> go.Figure:
    """All users' tokens/s against one user's wait for a token, over the batch; empty."""
    figure = go.Figure()
    said = predicted_line("predicted", "", "predicted from the roofs")
    said.update(hovertemplate="%{text} sequences: %{x:.3g} ms, %{y:.3g} tokens/s<extra></extra>")
    measured = measured_line("measured", "", "measured (median), by number of sequences")
    measured.update(
        mode="lines+markers+text",
        textposition="top left",
        hovertemplate="%{text} sequences: %{x:.3g} ms, %{y:.3g} tokens/s<extra></extra>",
    )
    figure.add_traces([said, mark("saturation", "top right"), measured])
    plain(figure, height=400)
    figure.update_xaxes(title_text="ms that a user waits for a token", rangemode="tozero")
    figure.update_yaxes(title_text="tokens/s of all users")
    figure.update_layout({"title.text": serving_place(())})
    return figure


def batch_sizes_curves(
    measured: Line, predicted: Line, saturation: tuple[float, float, float] | None
) -> list[Curve]:
    """`saturation` is a batch, the time of its step, and its tokens/s, all predicted."""
    return [_line("predicted", predicted), _line("measured", measured), _saturation(saturation)]


def _line(name: str, line: Line) -> Curve:
    text = [f"{batch:,}" for batch in line.batches]
    return points(name, [s * 1e3 for s in line.step_s], line.tokens_per_s, text)


def _saturation(place: tuple[float, float, float] | None) -> Curve:
    if place is None:
        return points("saturation", [], [])
    batch, step_s, rate = place
    text = ["", f"saturation, predicted:<br>{batch:.0f} sequences"]
    return points("saturation", [step_s * 1e3] * 2, [0, rate], text)


# ---- under load ----------------------------------------------------------------------------------

Waits = Sequence[tuple[float, float, float]]  # load, median and 95th percentile of TTFT


def load() -> go.Figure:
    """The wait for a first token over the load, for each policy; empty."""
    figure = go.Figure()
    for policy in POLICIES:
        for percent in ("median", "95 %"):
            figure.add_trace(_wait_line(policy, percent))
    plain(figure, height=400)
    figure.add_vline(x=1, line={"color": INK, "width": 1, "dash": "dot"})
    figure.update_xaxes(title_text="arrivals ÷ what the server can do", rangemode="tozero")
    figure.update_yaxes(title_text="s to the first token")
    figure.update_layout({"title.text": serving_place(())})
    return figure


def load_curves(waits: dict[str, Waits]) -> list[Curve]:
    curves = []
    for policy in POLICIES:
        rows = waits.get(policy, ())
        x = [load for load, _, _ in rows]
        curves.append(points(f"{policy}-median", x, [median for _, median, _ in rows]))
        curves.append(points(f"{policy}-95 %", x, [late for _, _, late in rows]))
    return curves


def _wait_line(policy: str, percent: str) -> go.Scatter:
    color, _ = POLICY_STYLE[policy]
    name = f"{policy}, {percent}"
    return go.Scatter(
        meta=f"{policy}-{percent}",
        name=name,
        x=NOTHING,
        y=NOTHING,
        visible=False,
        mode="lines+markers",
        line={"color": color, "width": 2, "dash": "solid" if percent == "median" else "dot"},
        marker={"size": 7, "symbol": "square" if policy == "static" else "circle"},
        hovertemplate=f"load %{{x:.2f}}: %{{y:.3g}} s<extra>{name}</extra>",
    )
