"""Lesson 04's panel: how long the first token takes, over the length of the prompt.

Prefills of growing length are timed in turns; beside the time stand the FLOP/s that it comes to and
the machine's roofs, where they are known.
"""

from __future__ import annotations

from html import escape

import ipywidgets as w

from .. import experiments, figures, models, roofline, summary
from ..figures.prefill import PrefillView
from ..records.machine import Roofs
from ..records.model_shape import ModelShape
from ..records.passes import Pass, Passes, Timing
from ..sweeps_passes import PassRun
from .controls import WIDE
from .live import LiveFigure
from .passes import PassPanel

SHORT = (1, 4)
LONGEST = (64, 256, 512, 1024, 2048, 4096, 8192)
HEADER = ("prompt tokens", "TTFT", "predicted", "off by", "FLOP/s", "MFU", "should be bound by")


def lengths_up_to(longest: int) -> list[int]:
    """1, 4, then every power of two from 16, and the longest itself."""
    doubled = [16 * 2**i for i in range(longest.bit_length()) if 16 * 2**i < longest]
    return sorted({n for n in (*SHORT, *doubled) if n < longest} | {longest})


class Prefill(PassPanel):
    """Times prefills from one token to the longest prompt chosen."""

    def __init__(self, model: str | models.Loaded, longest: int, roofs: Roofs | None):
        options = sorted({*LONGEST, longest})
        self._longest = w.Dropdown(
            options=options, value=longest, description="Longest prompt", style=WIDE
        )
        self._longest.layout.width = "200px"
        self.figure = LiveFigure(figures.prefill())
        super().__init__("prefill", model, roofs, [self._longest], [self.figure.framed()])
        self._longest.observe(self._changed, "value")
        self.draw()

    def read(self) -> int:
        return self._longest.value

    def plan(self, longest: int, loaded: models.Loaded) -> list[PassRun]:
        request = experiments.RaceRequest(model=loaded, prompt=longest, new_tokens=1)
        experiments.validate(request, loaded, longest)
        dtype = models.dtype_name(loaded.dtype)
        passes = [Pass(n, n, dtype=dtype) for n in lengths_up_to(longest)]
        return [PassRun("prefill", what, loaded) for what in passes]

    def draw(self) -> None:
        self.collect()
        view = view_of(self.passes, self.shape, self.roofs, self.dtype, self._longest.value)
        layout = figures.prefill_layout(self.passes, self.dtype)
        self.figure.show_curves(figures.prefill_curves(view), layout)
        self._text.value = told(view, self.shape)


def view_of(
    passes: Passes | None, shape: ModelShape | None, roofs: Roofs | None, dtype: str, longest: int
) -> PrefillView:
    """What is measured so far, and what the roofs allow, as the figure wants it."""
    timings = passes.curve("prefill") if passes else ()
    if shape is None:
        return PrefillView(timings=())
    costs = [roofline.cost_of(shape, timing.what) for timing in timings]
    lengths = [n for n in lengths_up_to(longest) if n <= shape.max_context]
    known = roofs is not None and dtype in roofs.flops_per_s and roofs.read_bytes_per_s
    said = [roofline.prefill(shape, n, dtype=dtype) for n in lengths] if known else []
    ridge = roofline.ridge_tokens(shape, roofs, dtype) if known else None
    return PrefillView(
        timings=timings,
        flops=tuple(cost.flops for cost in costs),
        flops_per_byte=tuple(cost.intensity for cost in costs),
        lengths=tuple(lengths) if known else (),
        predicted_s=tuple(roofline.predict(cost, roofs).seconds for cost in said),
        predicted_flops=tuple(cost.flops for cost in said),
        knee=roofline.knee(timings) or ridge,
        roofs=roofs,
        dtype=dtype,
    )


# ---- the text twin -------------------------------------------------------------------------------


def told(view: PrefillView, shape: ModelShape | None) -> str:
    """The run as a sentence and a table, in HTML."""
    if shape is None:
        return "<p>The shape of this model is unknown, so its FLOPs can't be counted.</p>"
    if not view.timings:
        return f"<p>{escape(_before(view))}</p>"
    rows = tuple(_row(timing, shape, view) for timing in view.timings)
    return f"<p>{escape(sentence(view))}</p>{summary.Table(HEADER, rows).html()}"


def _before(view: PrefillView) -> str:
    if not view.lengths:
        return "Nothing is measured yet, and this machine's roofs are not known: no prediction."
    return (
        f"Predicted from this machine's roofs: flat up to about {view.knee:,.0f} tokens, then "
        f"rising; {summary.ms(view.predicted_s[-1])} at {view.lengths[-1]:,} tokens."
    )


def sentence(view: PrefillView) -> str:
    """Short against long, and the knee between them, as measured."""
    short, long = view.timings[0], view.timings[-1]
    if short is long:
        return "One length so far."
    times = long.what.new_tokens / short.what.new_tokens
    return (
        f"From {short.what.new_tokens:,} to {long.what.new_tokens:,} tokens, {times:,.0f} times as "
        f"many, the first token takes {long.median_s / short.median_s:,.1f} times as long. The "
        f"flat and the rising part meet near {view.knee:,.0f} tokens."
    )


def _row(timing: Timing, shape: ModelShape, view: PrefillView) -> tuple[str, ...]:
    cost = roofline.cost_of(shape, timing.what)
    rate = f"{summary.digits(cost.flops / timing.median_s / 1e9)} GFLOP/s"
    first = (f"{timing.what.new_tokens:,}", summary.ms(timing.median_s))
    if not view.lengths:
        return (*first, "unknown", "unknown", rate, "unknown", "unknown")
    said = roofline.predict(cost, view.roofs)
    off = f"{said.seconds / timing.median_s - 1:+.0%}"
    mfu = f"{roofline.mfu(cost, timing.median_s, view.roofs):.0%}"
    return (*first, summary.ms(said.seconds), off, rate, mfu, said.limiter)
