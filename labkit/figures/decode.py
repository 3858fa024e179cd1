"""One decode step from four sides: the figure of lesson 05.

The bytes that it moves, and its time over the tokens processed together, over the context, and in
two formats. What the roofs allow is given, not computed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ..records.estimate import Cost
from ..records.passes import Timing
from .passes import (
    MEASURED,
    NUMBER,
    PREDICTED,
    mark,
    measured_line,
    median_ms,
    points,
    predicted_line,
    spread,
    spread_line,
)
from .style import Curve, bar, plain

TITLES = (
    "bytes of one step",
    "time of a step over tokens processed together",
    "time of a step over context",
    "time of a step in two formats",
)
# part of a step's bytes -> colour; Okabe-Ito, from what stays to what grows
PARTS = {
    "weights of the layers": "#0072B2",
    "weights of the output head": "#56B4E9",
    "logits": "#E69F00",
    "KV cache read": "#D55E00",
    "KV cache written": "#CC79A7",
    "KV cache copied to grow": "#009E73",
}


@dataclass(frozen=True)
class Line:
    """One chart of a time over a number: `x` of each timing, and what the roofs allow."""

    x: tuple[float, ...] = ()
    timings: tuple[Timing, ...] = ()
    predicted_x: tuple[float, ...] = ()
    predicted_s: tuple[float, ...] = ()


@dataclass(frozen=True)
class DecodeView:
    """All that the figure shows. `ledger` maps a label to the bytes of each of `PARTS`."""

    ledger: dict[str, dict[str, float]]
    together: Line = Line()
    context: Line = Line()
    formats: Line = Line()  # x counts the formats from 0
    format_names: tuple[str, ...] = ()
    ridge: float | None = None


def bytes_by_part(cost: Cost, logit_bytes: float) -> dict[str, float]:
    """A step's bytes as `PARTS` has them; the logits stand apart from the head that makes them."""
    return {
        "weights of the layers": cost.linear_bytes,
        "weights of the output head": cost.head_bytes - logit_bytes,
        "logits": logit_bytes,
        "KV cache read": cost.kv_read_bytes,
        "KV cache written": cost.kv_write_bytes,
        "KV cache copied to grow": cost.kv_copy_bytes,
    }


def decode() -> go.Figure:
    """The figure without points; `decode_curves` has them."""
    figure = make_subplots(
        rows=2, cols=2, subplot_titles=TITLES, horizontal_spacing=0.08, vertical_spacing=0.19
    )
    for part, color in PARTS.items():
        figure.add_trace(_part(part, color), 1, 1)
    for name, row, column in (("together", 1, 2), ("context", 2, 1)):
        first = name == "together"
        legend = "predicted from the roofs" if first else None
        figure.add_trace(predicted_line(f"{name}-predicted", "ms", legend), row, column)
        figure.add_trace(spread_line(f"{name}-spread"), row, column)
        legend = "measured (median, 5 to 95 %)" if first else None
        figure.add_trace(measured_line(f"{name}-measured", "ms", legend), row, column)
    figure.add_trace(mark("ridge", "top right"), 1, 2)
    figure.add_trace(_format_bars("formats-measured", MEASURED, ""), 2, 2)
    figure.add_trace(_format_bars("formats-predicted", PREDICTED, "/"), 2, 2)
    _axes(figure)
    figure.update_layout({"title.text": "nothing measured yet"})
    return figure


def _axes(figure: go.Figure) -> None:
    plain(figure, height=700)
    figure.update_layout(
        barmode="stack",
        bargap=0.25,
        legend={"y": -0.14, "yanchor": "top", "x": 0, "xanchor": "left", "traceorder": "normal"},
        margin={"b": 126, "t": 72},
    )
    figure.update_annotations(font_size=13)
    figure.update_yaxes(title_text="MB", row=1, col=1)
    figure.update_xaxes(title_text="context", type="category", row=1, col=1)
    figure.update_xaxes(title_text="tokens processed together", type="log", dtick=1, row=1, col=2)
    figure.update_yaxes(title_text="ms", type="log", dtick="D2", row=1, col=2)
    figure.update_xaxes(title_text="context", rangemode="tozero", row=2, col=1)
    figure.update_yaxes(title_text="ms", row=2, col=1)
    figure.update_xaxes(type="category", row=2, col=2)
    figure.update_yaxes(title_text="ms", row=2, col=2)


def decode_curves(view: DecodeView) -> list[Curve]:
    """All bars and lines of the figure."""
    return [
        *_ledger(view.ledger),
        *_lines("together", view.together),
        *_lines("context", view.context),
        _ridge(view),
        *_formats(view),
    ]


def _ledger(ledger: dict[str, dict[str, float]]) -> list[Curve]:
    labels = np.array(list(ledger), dtype=object)
    return [
        Curve(part, labels, np.array([bars[part] / 1e6 for bars in ledger.values()], dtype="f8"))
        for part in PARTS
    ]


def _lines(name: str, sweep: Line) -> list[Curve]:
    text = [f"{x:,.0f}" for x in sweep.x]
    return [
        points(f"{name}-predicted", sweep.predicted_x, [s * 1e3 for s in sweep.predicted_s]),
        spread(f"{name}-spread", sweep.x, sweep.timings),
        points(f"{name}-measured", sweep.x, median_ms(sweep.timings), text),
    ]


def _ridge(view: DecodeView) -> Curve:
    times = [*(s * 1e3 for s in view.together.predicted_s), *median_ms(view.together.timings)]
    if view.ridge is None or not times:
        return points("ridge", [], [])
    text = ["", f"&nbsp;ridge,<br>&nbsp;predicted:<br>&nbsp;{view.ridge:.0f} tokens"]
    return points("ridge", [view.ridge] * 2, [max(times), min(times)], text)


def _formats(view: DecodeView) -> list[Curve]:
    names = view.format_names
    measured = [names[int(x)] for x in view.formats.x]
    predicted = [names[int(x)] for x in view.formats.predicted_x]
    times = median_ms(view.formats.timings)
    said = [s * 1e3 for s in view.formats.predicted_s]
    return [_bars("formats-measured", measured, times), _bars("formats-predicted", predicted, said)]


def _bars(name: str, labels: Sequence[str], ms: Sequence[float]) -> Curve:
    text = tuple(f"{value:.3g} ms" for value in ms)
    return Curve(name, np.array(labels, dtype=object), np.array(ms, dtype="f8"), text, bool(labels))


def _part(part: str, color: str) -> go.Bar:
    return go.Bar(
        meta=part,
        name=part,
        marker_color=color,
        hovertemplate=f"context %{{x}}: %{{y:{NUMBER}}} MB<extra>{part}</extra>",
    )


def _format_bars(name: str, color: str, pattern: str) -> go.Bar:
    """Beside each other, though the ledger's bars are stacked: each has its own offset group."""
    kind = name.removeprefix("formats-")
    return bar(
        name,
        color,
        pattern,
        name=kind,
        showlegend=False,
        visible=False,
        offsetgroup=kind,
        hovertemplate=f"%{{x}}: %{{y:{NUMBER}}} ms<extra>{kind}</extra>",
    )
