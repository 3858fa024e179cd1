"""Lesson 05's panel: what one decode step moves, and what its time follows.

The ledger of bytes reacts to the controls at once. **Run** times steps for many tokens together,
over contexts and in two formats. **Prove it** changes one thing at a time and says which limiter
the clock supports.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import ipywidgets as w

from .. import experiments, figures, models, roofline
from ..figures.decode import DecodeView, Line, bytes_by_part
from ..records.machine import Roofs
from ..records.model_shape import ModelShape
from ..records.passes import Pass, Passes
from ..records.workload import compute_dtype, dtype_bytes
from ..roofline.prove import Proof
from ..sweeps_passes import PassRun
from .controls import WIDE
from .decode_text import proof_of, told
from .live import LiveFigure
from .passes import PassPanel

SHORT = 16  # context of the steps for many tokens: the cache must not hide the weights
FORMATS_CONTEXT = 64
CONTEXTS = (16, 64, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
LEDGER = (64, 512, 2048, 8192)
OTHER_FORMAT = {"float32": "bfloat16", "bfloat16": "float32", "float16": "float32"}


@dataclass(frozen=True)
class DecodeRequest:
    """What to time: the charts up to `together` and `longest`, or the proof at `step`."""

    prove: bool
    step: Pass
    together: int
    longest: int


class Decode(PassPanel):
    """The ledger, the three charts of times, and the proof."""

    def __init__(
        self, model: str | models.Loaded, together: int, longest: int, roofs: Roofs | None
    ):
        self.context = _slider("Context", CONTEXTS, 512)
        self.batch = _slider("Sequences", BATCHES, 1)
        self._together = _dropdown("Time up to together", BATCHES, together)
        self._longest = _dropdown("and up to context", CONTEXTS, longest)
        self.prove_button = w.Button(
            description="Prove it",
            icon="balance-scale",
            tooltip="Halve the bytes, double the tokens, double the context; see what moves",
        )
        self._proving = False
        self.figure = LiveFigure(figures.decode())
        rows = [
            w.HBox([self.context, self.batch]),
            w.HBox([self._together, self._longest, self.prove_button]),
        ]
        super().__init__("decode", model, roofs, rows, [self.figure.framed()])
        self.prove_button.on_click(lambda _: self.prove())
        for slider in (self.context, self.batch):
            slider.observe(lambda _: self.draw(), "value")
        self.draw()

    def prove(self) -> None:
        """Starts the interventions at the chosen context and batch; returns at once."""
        self._proving = True
        self.run()
        self._proving = False

    def wait_proof(self, timeout_s: float | None = None) -> Proof | None:
        """What the interventions support; starts them if none was tried. Raises as `wait`."""
        self.wait(timeout_s)
        if self.passes is None or not self.passes.curve("prove"):
            self.prove()
            self.wait(timeout_s)
        return proof_of(self.shape, self.passes, self.roofs) if self.passes else None

    @property
    def step(self) -> Pass:
        """The step that the sliders choose."""
        return Pass(1, self.context.value, self.batch.value, self.dtype)

    def read(self) -> DecodeRequest:
        return DecodeRequest(self._proving, self.step, self._together.value, self._longest.value)

    def plan(self, request: DecodeRequest, loaded: models.Loaded) -> list[PassRun]:
        dtype = models.dtype_name(loaded.dtype)
        step = replace(request.step, dtype=dtype)
        passes = proof_passes(step) if request.prove else charted(request, dtype)
        for _, what in passes:
            asked = experiments.RaceRequest(loaded, what.context, 1, batch=what.batch)
            experiments.validate(asked, loaded, what.context)
        self.on_load(f"loading it in {OTHER_FORMAT[dtype]} as well", None)
        other = models.load(loaded.name, loaded.device, OTHER_FORMAT[dtype], self.on_load)
        held = {dtype: loaded, OTHER_FORMAT[dtype]: other}
        return [PassRun(curve, what, held[what.dtype]) for curve, what in passes]

    def draw(self) -> None:
        self.collect()
        if self.shape is None:
            self._text.value = "<p>The shape of this model is unknown: its bytes can't be told.</p>"
            return
        view = view_of(self.shape, self.step, self.passes, self.roofs)
        layout = figures.prefill_layout(self.passes, self.dtype)
        self.figure.show_curves(figures.decode_curves(view), layout)
        self._text.value = told(self.shape, self.step, self.passes, self.roofs)


def charted(request: DecodeRequest, dtype: str) -> list[tuple[str, Pass]]:
    """The passes of the three charts, each with its curve's name."""
    batches = [batch for batch in BATCHES if batch <= request.together]
    contexts = [c for c in CONTEXTS[1:] if c < request.longest] + [request.longest]
    formats = (dtype, OTHER_FORMAT[dtype])
    return [
        *(("together", Pass(1, SHORT, batch, dtype)) for batch in batches),
        *(("context", Pass(1, context, 1, dtype)) for context in contexts),
        *(("formats", Pass(1, FORMATS_CONTEXT, 1, each)) for each in formats),
    ]


def proof_passes(step: Pass) -> list[tuple[str, Pass]]:
    """The step as it is, and with one thing changed: the format, the tokens, the context."""
    changed = (
        step,
        replace(step, dtype=OTHER_FORMAT[step.dtype]),
        replace(step, batch=2 * step.batch),
        replace(step, context=2 * step.context),
    )
    return [("prove", what) for what in changed]


# ---- the figure's view ---------------------------------------------------------------------------


def view_of(
    shape: ModelShape, step: Pass, passes: Passes | None, roofs: Roofs | None
) -> DecodeView:
    """What is measured so far, and what the roofs allow, as the figure wants it."""
    known = roofs is not None and step.dtype in roofs.flops_per_s
    formats = (step.dtype, OTHER_FORMAT[step.dtype])
    contexts = [context for context in CONTEXTS[1:] if context <= min(8192, shape.max_context)]
    together = [Pass(1, SHORT, batch, step.dtype) for batch in BATCHES]
    over = [Pass(1, context, 1, step.dtype) for context in contexts]
    both = [Pass(1, FORMATS_CONTEXT, 1, each) for each in formats]
    return DecodeView(
        ledger=ledger(shape, step),
        together=_line(shape, "together", together, lambda p: p.tokens, passes, roofs),
        context=_line(shape, "context", over, lambda p: p.context, passes, roofs),
        formats=_line(shape, "formats", both, lambda p: formats.index(p.dtype), passes, roofs),
        format_names=formats,
        ridge=roofline.ridge_tokens(shape, roofs, step.dtype) if known else None,
    )


def _line(shape, curve, whats, place, passes, roofs) -> Line:
    timings = passes.curve(curve) if passes else ()
    said = [what for what in whats if roofs is not None and what.dtype in roofs.flops_per_s]
    return Line(
        x=tuple(place(timing.what) for timing in timings),
        timings=timings,
        predicted_x=tuple(map(place, said)),
        predicted_s=tuple(roofline.expected(shape, what, roofs).seconds for what in said),
    )


def ledger(shape: ModelShape, step: Pass) -> dict[str, dict[str, float]]:
    """Bytes by part over a few contexts, the chosen one among them and marked.

    The labels hold a word each, or Plotly would take them for numbers on a line.
    """
    contexts = sorted({*LEDGER, step.context})
    return {
        f"at {context:,}" + (" ◂" if context == step.context else ""): parts(
            shape, replace(step, context=context)
        )
        for context in contexts
        if context <= shape.max_context
    }


def parts(shape: ModelShape, step: Pass) -> dict[str, float]:
    """The bytes of one step by part, the logits apart."""
    logits = step.batch * shape.vocab * dtype_bytes(compute_dtype(step.dtype))
    return bytes_by_part(roofline.cost_of(shape, step), logits)


# ---- controls ------------------------------------------------------------------------------------


def _slider(name: str, options: tuple[int, ...], value: int) -> w.SelectionSlider:
    labelled = [(f"{option:,}", option) for option in options]
    return w.SelectionSlider(
        options=labelled,
        value=value,
        description=name,
        continuous_update=True,
        layout={"width": "380px"},
    )


def _dropdown(name: str, options: tuple[int, ...], value: int) -> w.Dropdown:
    chosen = w.Dropdown(
        options=sorted({*options, value}), value=value, description=name, style=WIDE
    )
    chosen.layout.width = "auto"
    return chosen
