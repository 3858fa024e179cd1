"""What all figures share: colours, ink, the points of a line, and where a run was measured.

Colours are Okabe-Ito's, told apart by dash too; the background is transparent and the ink mid-grey,
so that both themes of JupyterLab can carry it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import plotly.graph_objects as go

from ..records import Machine, Trace

INK = "#808080"
GRID = "rgba(128,128,128,0.25)"
AXIS = {"gridcolor": GRID, "zerolinecolor": GRID, "title_font_size": 13}
# arm -> (colour, dash)
STYLE = {
    "naive": ("#D55E00", "solid"),
    "cached": ("#0072B2", "solid"),
    "preallocated": ("#009E73", "solid"),
}


@dataclass(frozen=True)
class Curve:
    """The points of one line: float64 arrays (n,). `name` finds the line in its figure (`meta`)."""

    name: str
    x: np.ndarray
    y: np.ndarray
    text: tuple[str, ...] = ()
    visible: bool = True


def color_of(arm: str) -> str:
    """An arm's colour; plain ink for an arm that this version of the lab doesn't know."""
    return STYLE.get(arm, (INK, "solid"))[0]


def shown(text: str) -> str:
    """A token's text for a hover label: spaces and line ends made visible, HTML made harmless."""
    return escape(text.replace("\n", "⏎").replace(" ", "␣"))


def provenance(traces: Sequence[Trace]) -> str:
    """Measured or recorded, what, and on which machine: every chart of a run says so."""
    if not traces:
        return "nothing measured yet"
    first, settings = traces[0], traces[0].settings
    prompt = f"prompt of {settings.prompt_tokens} tokens"
    return place(first.origin, first.machine, settings.model, settings.dtype, prompt)


def place(origin: str, machine: Machine, *what: str) -> str:
    """Measured or recorded, on which machine, and what: HTML."""
    return escape(" · ".join((f"{origin} on {machine.name} ({machine.device})", *what)))


def plain(figure: go.Figure, height: int) -> None:
    """The look that all figures share."""
    figure.update_layout(
        template="none",
        height=height,
        margin={"l": 64, "r": 16, "t": 64, "b": 48},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": INK, "size": 13},
        title={"font": {"size": 13}, "x": 0, "xanchor": "left", "xref": "paper", "y": 0.97},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 1, "xanchor": "right"},
        hoverlabel={"font": {"size": 13}},
    )
    figure.update_xaxes(linecolor=INK, **AXIS)
    figure.update_yaxes(rangemode="tozero", automargin=True, **AXIS)


def bar(meta: str, color: str, pattern: str, **more) -> go.Bar:
    """A bar with its value written at its end, for the curve `meta`; called so, unless renamed."""
    return go.Bar(
        {"meta": meta, "name": meta, **more},
        marker={"color": color, "pattern": {"shape": pattern}},
        textposition="outside",
        cliponaxis=False,
    )
