"""Lesson 07's Gantt chart: who holds which slot when, and the cache in use.

Slots are thick lines over the service's own time. A kept slot, whose request is done, is striped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ..records.serving import RequestTimes, Serving
from .passes import NOTHING, points
from .style import INK, STYLE, Curve, place, plain

POLICIES = ("static", "continuous")
# part of a stay -> (colour, dash)
PARTS = {
    "prompt": ("#E69F00", "solid"),
    "answer": ("#0072B2", "solid"),
    "kept, but done": ("#D55E00", "3px,4px"),
}
POLICY_STYLE = {"static": (STYLE["naive"][0], "dot"), "continuous": (STYLE["cached"][0], "solid")}
MB = 1e6


def serving_place(servings: Sequence[Serving]) -> str:
    """Measured, what, on which machine: the first line of a chart's title."""
    if not servings:
        return "nothing measured yet"
    first = servings[0]
    return place(first.origin, first.machine, first.name, first.dtype)


# ---- who held which slot -------------------------------------------------------------------------


def slots() -> go.Figure:
    """A Gantt chart for each policy, and the cache in use below; empty."""
    figure = make_subplots(
        rows=3,
        shared_xaxes=True,
        vertical_spacing=0.09,
        row_heights=[0.37, 0.37, 0.26],
        subplot_titles=("static batches", "continuous batching", "KV cache in use"),
    )
    for row, policy in enumerate(POLICIES, start=1):
        for part, look in PARTS.items():
            figure.add_trace(_bars(policy, part, *look, legend=row == 1), row, 1)
        figure.add_trace(_numbers(policy), row, 1)
        figure.update_yaxes(
            title_text="slot", dtick=1, zeroline=False, showgrid=False, row=row, col=1
        )
    for policy in (*POLICIES, "allocated"):
        figure.add_trace(_cache_line(policy), 3, 1)
    plain(figure, height=580)
    figure.update_yaxes(title_text="MB", rangemode="tozero", row=3, col=1)
    figure.update_xaxes(title_text="seconds of service", rangemode="tozero", row=3, col=1)
    figure.update_annotations(font_size=13)
    figure.update_layout(
        legend={"y": -0.17, "yanchor": "top", "x": 0, "xanchor": "left"}, margin={"b": 112}
    )
    figure.update_layout({"title.text": serving_place(())})
    return figure


def slots_layout(servings: Sequence[Serving], slots: int) -> dict:
    ends = (slots + 0.6, 0.4)  # slot 1 on top
    title = serving_place(servings)
    return {"title.text": title, "yaxis.range": ends, "yaxis2.range": ends}


def slots_curves(servings: Sequence[Serving]) -> list[Curve]:
    """All lines of the figure; a policy that did not run has none."""
    by_policy = {serving.policy: serving for serving in servings}
    curves = [_allocated(servings)]
    for policy in POLICIES:
        serving = by_policy.get(policy)
        for part in PARTS:
            curves.append(_stays(f"{policy}-{part}", serving, part))
        curves += [_who(f"{policy}-who", serving), _used(policy, serving)]
    return curves


def _stays(name: str, serving: Serving | None, part: str) -> Curve:
    x, y, text = [], [], []
    now_s = serving.passes[-1].end_s if serving and serving.passes else 0.0
    for times in serving.requests if serving else ():
        ends = _ends(times, part, now_s)
        if ends is not None:
            x += [*ends, np.nan]
            y += [times.slot + 1] * 2 + [np.nan]
            text += [_said(times)] * 2 + [""]
    return points(name, x, y, text)


def _ends(times: RequestTimes, part: str, now_s: float) -> tuple[float, float] | None:
    """From when to when that part of a stay lasted; None where there is nothing to draw."""
    if times.first_token_s is None:
        return None
    until = {
        "prompt": (times.start_s, times.first_token_s),
        "answer": (times.first_token_s, times.last_token_s),
        "kept, but done": (times.last_token_s, times.release_s or now_s),
    }[part]
    if part == "kept, but done" and not times.done:
        return None
    return until if until[1] > until[0] else None


def _said(times: RequestTimes) -> str:
    request = times.request
    return (
        f"request {request.number}: {request.prompt_tokens} tokens in, "
        f"{len(times.token_ids)} of {request.new_tokens} out, the first after {times.ttft_s:.3g} s"
    )


def _who(name: str, serving: Serving | None) -> Curve:
    begun = [t for t in serving.requests if t.first_token_s is not None] if serving else []
    text = [str(times.request.number) for times in begun]
    return points(name, [t.first_token_s for t in begun], [t.slot + 1 for t in begun], text)


def _used(policy: str, serving: Serving | None) -> Curve:
    passes = serving.passes if serving else ()
    return points(
        f"{policy}-used", [p.end_s for p in passes], [p.kv_used_bytes / MB for p in passes]
    )


def _allocated(servings: Sequence[Serving]) -> Curve:
    passes = [each for serving in servings for each in serving.passes]
    if not passes:
        return points("allocated-used", [], [])
    held = max(each.kv_bytes for each in passes) / MB
    return points("allocated-used", [0, max(each.end_s for each in passes)], [held, held])


def _bars(policy: str, part: str, color: str, dash: str, legend: bool) -> go.Scatter:
    return go.Scatter(
        meta=f"{policy}-{part}",
        name=part,
        x=NOTHING,
        y=NOTHING,
        legendgroup=part,
        showlegend=legend,
        mode="lines",
        line={"color": color, "width": 13, "dash": dash},
        hovertemplate="%{text}<extra></extra>",
    )


def _numbers(policy: str) -> go.Scatter:
    """Each request's number at the beginning of its answer."""
    return go.Scatter(
        meta=f"{policy}-who",
        x=NOTHING,
        y=NOTHING,
        text=(),
        mode="text",
        textposition="middle right",
        textfont={"size": 11, "color": "white"},
        showlegend=False,
        hoverinfo="skip",
        cliponaxis=False,
    )


def _cache_line(policy: str) -> go.Scatter:
    color, dash = POLICY_STYLE.get(policy, (INK, "dash"))
    name = "allocated for either" if policy == "allocated" else f"in use, {policy}"
    return go.Scatter(
        meta=f"{policy}-used",
        name=name,
        x=NOTHING,
        y=NOTHING,
        mode="lines",
        line={"color": color, "width": 2, "dash": dash, "shape": "hv"},
        hovertemplate=f"%{{x:.3g}} s: %{{y:.3s}} MB<extra>{name}</extra>",
    )
