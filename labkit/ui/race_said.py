"""What the race panel says before the run: both arms' times from the roofs, n*, and a larger model.

And after it, by how much it was wrong. Nothing here measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import ipywidgets as w

from .. import catalog, figures, roofline, summary
from ..experiments import ARMS
from ..records import Settings, Trace
from ..records.machine import Roofs
from ..records.model_shape import ModelShape
from ..records.workload import Workload
from ..roofline.arms import Said, off_by, predict_arm
from .controls import WIDE
from .live import LiveFigure
from .passes import roofs_on

NOTHING = "nothing"
CHARACTERS_PER_TOKEN = 4  # a guess for English, used until the tokenizer is loaded
TEMPLATE_TOKENS = 25  # the same for what a chat template adds


class RaceSaid:
    """Its own controls, its text, and the predicted curves in the race's figure."""

    def __init__(self, figure: LiveFigure, roofs: Roofs | None):
        self.figure, self._given = figure, roofs
        self.also, self.text = AlsoPredict(), w.HTML()

    def show(
        self,
        arms: Sequence[str],
        shape: ModelShape | None,
        work: Workload,
        device: str,
        traces: Sequence[Trace] = (),
    ) -> None:
        """Draws and tells what `work` should take; `traces` are runs of that same work, or none."""
        roofs = roofs_on(device, self._given)
        self._show(arms, shape, work, roofs, traces, nothing_said(shape, roofs))

    def show_saved(self, traces: Sequence[Trace]) -> None:
        """The same of a saved run, from the roofs that it brought along."""
        first, arms = traces[0], [trace.arm for trace in traces if trace.arm in ARMS]
        nothing = "<p>No prediction: no roofs were saved with this run.</p>"
        self._show(arms, first.model, work_of(first.settings), first.roofs, traces, nothing)

    def _show(
        self,
        arms: Sequence[str],
        shape: ModelShape | None,
        work: Workload,
        roofs: Roofs | None,
        traces: Sequence[Trace],
        nothing: str,
    ) -> None:
        try:
            said, also = here(arms, shape, work, roofs), self.also.said(arms, work)
        except ValueError as error:  # a length that the model can't have
            self.text.value = f"<p>{escape(str(error))}</p>"
            return
        curves = [
            *figures.said_curves("said", {one.arm: one.step_s for one in said}),
            *figures.said_curves("also", {one.arm: one.step_s for one in also}),
        ]
        self.figure.show_curves(curves, {})
        star = parting(shape, work, roofs)
        self.text.value = told(said, star, work, traces) if said else nothing


class AlsoPredict(w.HBox):
    """Also predict: <model> on <machine>. Nothing by default."""

    def __init__(self):
        self.model = w.Dropdown(
            options=[NOTHING, *catalog.models()], description="Also predict:", style=WIDE
        )
        self.machine = w.Dropdown(
            options=list(catalog.machines()), value="H100-SXM", description="on", style=WIDE
        )
        self.machine.layout.width = "220px"
        super().__init__([self.model, self.machine])

    @property
    def label(self) -> str:
        """What is predicted besides; empty for nothing."""
        if self.model.value == NOTHING:
            return ""
        return f"{self.model.value} in {self.dtype} on {self.machine.value}"

    @property
    def dtype(self) -> str:
        """bfloat16 where the machine has it, else the best it has."""
        known = catalog.machine(self.machine.value).peak_flops_per_s
        return next(name for name in ("bfloat16", "float16", "float32") if name in known)

    def said(self, arms: Sequence[str], work: Workload) -> list[Said]:
        """Its arms for the same prompt and length. Raises ValueError where that can't be."""
        if not self.label:
            return []
        shape = catalog.model(self.model.value)
        roofs = roofline.datasheet_roofs(catalog.machine(self.machine.value))
        there = Workload(work.prompt_tokens, work.new_tokens, work.batch, self.dtype)
        return [predict_arm(arm, shape, there, roofs) for arm in arms]


def tokens_of(prompt: str | int, tokenizer) -> int:
    """Tokens of a prompt; a guess while no tokenizer is at hand."""
    if isinstance(prompt, int):
        return max(1, prompt)
    if tokenizer is None:
        return max(1, len(prompt) // CHARACTERS_PER_TOKEN + TEMPLATE_TOKENS)
    return max(1, len(tokenizer.encode(prompt, True)))


def work_of(settings: Settings) -> Workload:
    """What a run was asked for."""
    sizes = (settings.prompt_tokens, settings.new_tokens, settings.batch)
    return Workload(*sizes, settings.dtype)


def here(
    arms: Sequence[str], shape: ModelShape | None, work: Workload, roofs: Roofs | None
) -> list[Said]:
    """Each arm on this machine's roofs; nothing where shape or roofs are not known."""
    if shape is None or roofs is None or work.context > shape.max_context:
        return []
    if work.dtype not in roofs.flops_per_s or roofs.read_bytes_per_s is None:
        return []
    return [predict_arm(arm, shape, work, roofs) for arm in arms]


def parting(shape: ModelShape | None, work: Workload, roofs: Roofs | None) -> float | None:
    """n*: the context from which naive costs more than cached; None where it can't be told."""
    if not here(["cached"], shape, work, roofs):
        return None
    return roofline.crossover(shape, roofs, work.dtype, work.batch)


def told(said: Sequence[Said], star: float | None, work: Workload, traces: Sequence[Trace]) -> str:
    """The prediction, and its error once there is a run, as HTML."""
    last = "; ".join(f"{s.arm} {summary.ms(s.step_s[-1])}" for s in said)
    total_s = sum(sum(s.step_s) for s in said)
    lines = [
        f"Predicted from the roofs for the last of {work.new_tokens:,} tokens: {last}. "
        f"All passes together: {total_s:,.1f} s."
    ]
    if star is not None:
        lines.append(_star(star, work))
    errors = [text for s in said if (text := _error(s, traces))]
    if errors:
        lines.append(f"Predicted against measured, median over the tokens: {'; '.join(errors)}.")
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


def nothing_said(shape: ModelShape | None, roofs: Roofs | None) -> str:
    """Why there is no prediction, and what would give one, as HTML."""
    if roofs is None:
        why = "this machine's roofs are not measured yet. “Measure the roofs” on lesson 00's card "
        why += "does it in some seconds; this panel then predicts its next run."
    elif shape is None:
        why = "this model's shape is not known."
    else:
        why = "the roofs that were probed don't cover this dtype or length."
    return f"<p>No prediction: {why}</p>"


def _star(star: float, work: Workload) -> str:
    start = f"n* = {star:,.0f} tokens of text: up to there both cost the same, and then they part"
    if star <= work.prompt_tokens:
        return f"{start}. The prompt alone is longer, so they part at once."
    if star > work.context:
        return f"{start}. This run ends before: choose a longer prompt, or more new tokens."
    return f"{start}, at token {star - work.prompt_tokens:,.0f} of this run."


def _error(said: Said, traces: Sequence[Trace]) -> str | None:
    trace = next((trace for trace in traces if trace.arm == said.arm), None)
    off = off_by(said, trace.step_s) if trace else None
    return None if off is None else f"{said.arm} {off:+.0%}"
