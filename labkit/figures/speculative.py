"""Speed-up by guessing over how many guesses a pass may read: the second figure of lesson 08."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import plotly.graph_objects as go

from ..records.speculation import Guessed
from .passes import MEASURED, NOTHING, PREDICTED
from .style import INK, Curve, bar, plain, provenance

TITLE = "nothing measured yet"


@dataclass(frozen=True)
class GuessBar:
    """The median over rounds for one task and number of guesses. None: no prediction."""

    task: str
    at_most: int
    measured: float
    predicted: float | None

    @property
    def label(self) -> str:
        return f"{escape(self.task)}<br>up to {self.at_most}"


def guessing() -> go.Figure:
    """The figure without bars; `guessing_curves` has them."""
    figure = go.Figure()
    for name, color, pattern in (("measured", MEASURED, ""), ("predicted", PREDICTED, "/")):
        figure.add_trace(
            bar(
                name,
                color,
                pattern,
                x=NOTHING,
                y=NOTHING,
                visible=False,
                hovertemplate=f"%{{x}} guesses: %{{y:.2f}} times<extra>{name}</extra>",
            )
        )
    plain(figure, height=380)
    figure.add_hline(y=1, line={"color": INK, "dash": "dot", "width": 1.5})
    figure.update_layout({"title.text": TITLE}, barmode="group", bargap=0.3, margin={"b": 60})
    figure.update_xaxes(type="category")
    figure.update_yaxes(title_text="times as fast as one by one")
    return figure


def guessing_curves(bars: Sequence[GuessBar]) -> list[Curve]:
    """The bars of both kinds."""
    return [
        _curve("measured", [(bar, bar.measured) for bar in bars]),
        _curve("predicted", [(bar, bar.predicted) for bar in bars if bar.predicted]),
    ]


def _curve(name: str, values: list[tuple[GuessBar, float]]) -> Curve:
    labels = np.array([bar.label for bar, _ in values], dtype=object)
    text = tuple(f"{value:.2f}" for _, value in values)
    y = np.array([value for _, value in values], dtype="f8")
    return Curve(name, labels, y, text, bool(values))


def guessing_layout(found: Sequence[Guessed]) -> dict:
    """The title: where this was measured."""
    return {"title.text": provenance([one.plain for one in found[:1]]) if found else TITLE}
