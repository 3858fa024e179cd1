"""A run and what it would have been elsewhere: TTFT and TPOT as bars, measured and predicted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from .passes import MEASURED, NUMBER, PREDICTED
from .style import Curve, bar, plain

TITLES = ("time to first token (TTFT), ms", "time per later token (TPOT), ms")


@dataclass(frozen=True)
class Bar:
    """One line of the chart: its label and both times."""

    label: str
    ttft_s: float
    tpot_s: float


def what_if() -> go.Figure:
    """The figure without bars; `what_if_curves` has them."""
    figure = make_subplots(
        rows=1, cols=2, subplot_titles=TITLES, shared_yaxes=True, horizontal_spacing=0.09
    )
    for column, metric in enumerate(("ttft", "tpot"), 1):
        figure.add_trace(_bars(metric, "given", MEASURED, "", column == 1), 1, column)
        figure.add_trace(_bars(metric, "predicted", PREDICTED, "/", column == 1), 1, column)
    plain(figure, height=300)
    figure.update_layout(
        barmode="overlay",
        bargap=0.35,
        legend={"y": -0.12, "yanchor": "top", "x": 0, "xanchor": "left"},
        margin={"t": 40, "b": 60, "r": 48},
    )
    figure.update_annotations(font_size=13)
    figure.update_yaxes(type="category", autorange="reversed", ticksuffix=" ")
    figure.update_xaxes(rangemode="tozero")
    return figure


def what_if_curves(given: Bar, predicted: list[Bar]) -> list[Curve]:
    """The run's bar above, the predicted ones below it."""
    return [
        _curve(f"{metric}-{kind}", bars, [getattr(bar, f"{metric}_s") for bar in bars])
        for metric in ("ttft", "tpot")
        for kind, bars in (("given", [given]), ("predicted", predicted))
    ]


def _curve(name: str, bars: list[Bar], seconds: list[float]) -> Curve:
    labels = np.array([bar.label for bar in bars], dtype=object)
    text = tuple(_ms(1e3 * value) for value in seconds)
    return Curve(name, np.array(seconds, dtype="f8") * 1e3, labels, text)


def _ms(value: float) -> str:
    """Three digits, and never a power of ten."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _bars(metric: str, kind: str, color: str, pattern: str, legend: bool) -> go.Bar:
    return bar(
        f"{metric}-{kind}",
        color,
        pattern,
        orientation="h",
        name="the run" if kind == "given" else "predicted",
        legendgroup=kind,
        showlegend=legend,
        hovertemplate=f"%{{y}}: %{{x:{NUMBER}}} ms<extra>{kind}</extra>",
    )
