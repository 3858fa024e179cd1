"""Time to the first token over the prompt's length: the figure of lesson 04.

Three charts beside each other: the time, the FLOP/s that it comes to, and the same points under the
roofline. What the roofs allow is given, not computed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ..records.machine import Roofs
from ..records.passes import Passes, Timing
from .passes import mark, measured_line, median_ms, points, predicted_line, spread, spread_line
from .style import Curve, place, plain

TITLES = ("time to first token", "achieved FLOP/s", "under the roofline")


@dataclass(frozen=True)
class PrefillView:
    """All that the figure shows. `flops` and `flops_per_byte` belong to `timings`, in order.

    `lengths`, `predicted_s` and `predicted_flops` are the predicted curve, empty without roofs.
    `knee` is in tokens, measured where there are timings.
    """

    timings: tuple[Timing, ...] = ()
    flops: tuple[float, ...] = ()
    flops_per_byte: tuple[float, ...] = ()
    lengths: tuple[int, ...] = ()
    predicted_s: tuple[float, ...] = ()
    predicted_flops: tuple[float, ...] = ()
    knee: float | None = None
    roofs: Roofs | None = None
    dtype: str = "float32"

    @property
    def compute_roof(self) -> float | None:
        return self.roofs and self.roofs.flops_per_s.get(self.dtype)


def prefill(view: PrefillView | None = None) -> go.Figure:
    """The figure, empty or of `view`."""
    figure = make_subplots(rows=1, cols=3, subplot_titles=TITLES, horizontal_spacing=0.095)
    figure.add_trace(predicted_line("ttft-predicted", "ms", "predicted from the roofs"), 1, 1)
    figure.add_trace(spread_line("ttft-spread"), 1, 1)
    figure.add_trace(measured_line("ttft-measured", "ms", "measured (median, 5 to 95 %)"), 1, 1)
    figure.add_trace(mark("knee", "top right"), 1, 1)
    figure.add_trace(predicted_line("rate-predicted", "FLOP/s"), 1, 2)
    figure.add_trace(mark("rate-roof", "top left"), 1, 2)
    figure.add_trace(measured_line("rate-measured", "FLOP/s"), 1, 2)
    figure.add_trace(mark("roofline", "top left"), 1, 3)
    figure.add_trace(measured_line("roofline-measured", "FLOP/s"), 1, 3)
    figure.data[-1].mode = "markers"
    plain(figure, height=400)
    figure.update_xaxes(type="log", dtick=1)
    figure.update_yaxes(type="log", exponentformat="SI", dtick="D2")
    for column, title in enumerate(("prompt tokens", "prompt tokens", "FLOPs for each byte"), 1):
        figure.update_xaxes(title_text=title, row=1, col=column)
    figure.update_yaxes(title_text="ms", exponentformat="none", row=1, col=1)
    for column in (2, 3):
        figure.update_yaxes(title_text="FLOP/s", title_standoff=2, row=1, col=column)
    figure.update_annotations(font_size=13)
    figure.update_layout(
        legend={"y": -0.22, "yanchor": "top", "x": 0, "xanchor": "left"},
        margin={"b": 92, "t": 64},
    )
    return filled(figure, prefill_curves(view)) if view else figure


def filled(figure: go.Figure, curves: Sequence[Curve]) -> go.Figure:
    """The figure with the points of each curve in the line of its name."""
    by_name = {trace.meta: trace for trace in figure.data}
    for curve in curves:
        by_name[curve.name].update(x=curve.x, y=curve.y, text=curve.text, visible=curve.visible)
    return figure


def prefill_curves(view: PrefillView) -> list[Curve]:
    """All lines of the figure."""
    lengths = [timing.what.new_tokens for timing in view.timings]
    rates = [f / t.median_s for f, t in zip(view.flops, view.timings, strict=True)]
    names = [f"{length:,} tokens" for length in lengths]
    ms = [seconds * 1e3 for seconds in view.predicted_s]
    pairs = zip(view.predicted_flops, view.predicted_s, strict=True)
    return [
        points("ttft-predicted", view.lengths, ms),
        spread("ttft-spread", lengths, view.timings),
        points("ttft-measured", lengths, median_ms(view.timings), names),
        _knee(view, [*ms, *median_ms(view.timings)]),
        points("rate-predicted", view.lengths, [flops / s for flops, s in pairs]),
        points("rate-measured", lengths, rates, names),
        points("roofline-measured", view.flops_per_byte, rates, names),
        *_roofs(view, [*lengths, *view.lengths]),
    ]


def _knee(view: PrefillView, ms: Sequence[float]) -> Curve:
    if view.knee is None or not ms:
        return points("knee", [], [])
    kind = "measured" if view.timings else "predicted"
    text = ["", f"&nbsp;knee,<br>&nbsp;{kind}:<br>&nbsp;{view.knee:.0f} tokens"]
    return points("knee", [view.knee] * 2, [max(ms), min(ms)], text)


def _roofs(view: PrefillView, lengths: Sequence[int]) -> list[Curve]:
    """The compute roof over lengths, and the roofline: a slope (bandwidth), then flat (compute)."""
    flops_per_s = view.compute_roof
    bandwidth = view.roofs and view.roofs.read_bytes_per_s
    if not flops_per_s or not lengths:
        return [points("rate-roof", [], []), points("roofline", [], [])]
    ends = [min(lengths), max(lengths)]
    flat = points("rate-roof", ends, [flops_per_s] * 2, ["", "compute roof"])
    if not bandwidth:
        return [flat, points("roofline", [], [])]
    ridge = flops_per_s / bandwidth
    left, right = min([0.25, *view.flops_per_byte]), max([4 * ridge, *view.flops_per_byte])
    heights = [left * bandwidth, flops_per_s, flops_per_s]
    return [flat, points("roofline", [left, ridge, right], heights, ["", "", "roofs"])]


def prefill_layout(passes: Passes | None, dtype: str) -> dict:
    """The title: where this was measured, or that nothing was."""
    if passes is None or not passes.timings:
        return {"title.text": "nothing measured yet"}
    return {"title.text": place(passes.origin, passes.machine, passes.name, dtype)}
