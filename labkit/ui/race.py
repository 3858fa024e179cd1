"""Lesson 03's panel: the same text generated with and without a KV cache, both curves live.

The controls make a `RaceRequest`; `experiments` runs it; `figures` and `summary` show the traces.
This file only connects them. `FirstTokens`, lesson 00's panel, is the same with one arm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape

import ipywidgets as w

from .. import experiments, figures, models, records, summary
from ..experiments import ARMS, ORDERS, RaceRequest
from ..records import Trace, agreement
from ..records.machine import Roofs
from ..records.workload import Workload
from .controls import WIDE, ModelControls
from .download import Export
from .live import LiveFigure
from .panel import Panel
from .race_said import RaceSaid, tokens_of, work_of
from .recorded import RecordedRuns, told_where

TEXT_STYLE = (
    "white-space:pre-wrap;overflow-wrap:anywhere;max-height:9em;overflow-y:auto;margin:2px 0 8px;"
    "padding-left:8px;border-left:4px solid"
)


class Race(Panel):
    """Runs the chosen arms over one prompt. `traces` holds the latest run, live or loaded."""

    def __init__(
        self,
        model: str | models.Loaded,
        prompt: str | int,
        new_tokens: int,
        arms: Sequence[str],
        order: str = "interleaved",
        roofs: Roofs | None = None,
    ):
        self._work: Workload | None = None  # of the run that is shown; None once a control moved
        self._runs: list = []
        self._model = ModelControls(model)
        self._prompt = PromptControls(prompt, new_tokens)
        self._arms = [w.Checkbox(value=a in arms, description=a, indent=False) for a in ARMS]
        for box in self._arms:
            box.layout.width = "auto"
        self._order = w.Dropdown(options=list(ORDERS), value=order, description="Order", style=WIDE)
        self.figure = LiveFigure(figures.race(new_tokens=new_tokens))
        self._said = RaceSaid(self.figure, roofs)
        self._text, self._sum = w.HTML(), w.HTML()
        self.export = Export("race", self._write)
        self.upload = w.FileUpload(
            accept=".json,.csv", description="Load a saved run", layout={"width": "auto"}
        )
        self.upload.observe(self._load_file, "value")
        self.recorded = RecordedRuns(self.replay)
        super().__init__(
            [
                self._model,
                self._prompt,
                w.HBox([w.Label("Arms"), *self._arms, self._order]),
                self._said.also,
            ],
            [
                self.figure.framed(),
                self._said.text,
                self._text,
                self._sum,
                w.HBox([self.export, self.upload, self.recorded]),
            ],
        )
        self._watch()
        self._predict()

    def read(self) -> RaceRequest:
        return RaceRequest(
            prompt=self._prompt.value,
            new_tokens=self._prompt.new_tokens.value,
            arms=tuple(box.description for box in self._arms if box.value),
            order=self._order.value,
            chat=True,
        )

    def work(self, request: RaceRequest) -> Iterator[float]:
        loaded = self._model.load(self._worker, self.on_load)
        request = replace(request, model=loaded)
        runs = experiments.prepare(request, loaded)
        self._work = work_of(runs[0].setup.settings)
        self._said.show(request.arms, loaded.shape, self._work, str(loaded.device))
        self.on_load("warming up", None)
        total = request.new_tokens * len(runs)
        for made, _ in enumerate(experiments.steps(request, runs), start=1):
            self._runs = runs  # only now: until the first step, the last run stays on show
            yield made / total

    def draw(self) -> None:
        if self._runs:
            self.traces = tuple(run.trace() for run in self._runs if run.steps)
        self._show(self.traces)

    def _show(self, traces: Sequence[Trace]) -> None:
        wanted = max((trace.settings.new_tokens for trace in traces), default=None)
        curves = figures.race_curves(traces)
        self.figure.show_curves(curves, figures.race_layout(traces, wanted, self._said.also.label))
        self._text.value = texts(traces)
        self._sum.value = summed_up(traces)
        self.export.ready = bool(traces)

    def _show_outcome(self, error: BaseException | None) -> None:
        super()._show_outcome(error)
        if self._work and self.traces:
            arms = [trace.arm for trace in self.traces]
            device = self._model.device.value
            self._said.show(arms, self.traces[0].model, self._work, device, self.traces)

    def _watch(self) -> None:
        """A control that was moved asks for another prediction, which is of no run yet."""
        chosen = (self._model.model, self._model.device, self._model.dtype, *self._arms)
        typed = (self._prompt.kind, self._prompt.text, self._prompt.length, self._prompt.new_tokens)
        for control in (*chosen, *typed, *self._said.also.children):
            control.observe(lambda _: self._predict(), "value")

    def _predict(self) -> None:
        if self.running or self._model.dtype.value is None:
            return
        self._work, given = None, self._model.given
        prompt = tokens_of(self._prompt.value, given.tokenizer if given else None)
        new_tokens = max(1, self._prompt.new_tokens.value)
        work = Workload(prompt, new_tokens, 1, self._model.dtype.value)
        shape = given.shape if given else models.choices().get(self._model.name)
        arms = [box.description for box in self._arms if box.value]
        self._said.show(arms, shape, work, self._model.device.value)
        layout = figures.race_layout(self.traces, new_tokens, self._said.also.label)
        self.figure.show_curves([], layout)

    def _write(self, kind: str) -> str:
        write = {"json": records.to_json, "csv": records.to_csv}[kind]
        return write(list(self.traces))

    def _load_file(self, _change) -> None:
        """Shows a saved run instead of the last one; a broken file changes nothing."""
        if not self.upload.value or self.running:
            return
        content = bytes(self.upload.value[0]["content"]).decode("utf-8", errors="replace")
        self.upload.value = ()
        try:
            traces = tuple(records.parse(content))
        except records.BrokenFile as error:
            self._complain(str(error))
            return
        self.replay(traces)

    def replay(self, traces: Sequence[Trace]) -> None:
        """Shows a saved run instead of the last one, with what the roofs stored with it predict."""
        if self.running:
            return
        self._runs, self.traces, self._work = [], tuple(traces), None
        self._show(self.traces)
        self._said.show_saved(self.traces)
        self._say(told_where(self.traces))


class PromptControls(w.VBox):
    """A prompt as text or as a number of tokens, and how many tokens to generate."""

    def __init__(self, prompt: str | int, new_tokens: int):
        by_length = isinstance(prompt, int)
        self.kind = w.ToggleButtons(
            options=["text", "length"],
            value="length" if by_length else "text",
            style={"button_width": "72px"},
            layout={"width": "auto"},
        )
        self.text = w.Textarea(value="" if by_length else prompt, rows=2, layout={"width": "60%"})
        self.length = w.IntText(
            value=prompt if by_length else 256, description="tokens", layout={"width": "180px"}
        )
        self.new_tokens = w.IntText(
            value=new_tokens, description="New tokens", style=WIDE, layout={"width": "180px"}
        )
        super().__init__(
            [w.HBox([w.Label("Prompt"), self.kind, self.text, self.length, self.new_tokens])]
        )
        self.kind.observe(self._refresh, "value")
        self._refresh()

    @property
    def value(self) -> str | int:
        return self.text.value if self.kind.value == "text" else self.length.value

    def _refresh(self, _=None) -> None:
        by_length = self.kind.value == "length"
        self.text.layout.display = "none" if by_length else ""
        self.length.layout.display = "" if by_length else "none"


class FirstTokens(Race):
    """Lesson 00's panel: one arm, a text that ends where the model ends it."""

    run_label = "Generate"

    def __init__(self, model: str | models.Loaded, prompt: str, new_tokens: int):
        super().__init__(model, prompt, new_tokens, ["cached"], "interleaved")
        for hidden in (*self._controls[-2:], self._said.text):  # one arm, and nothing to predict
            hidden.layout.display = "none"

    def read(self) -> RaceRequest:
        return replace(super().read(), stop_at_eos=True)


# ---- the text twin, as HTML ----------------------------------------------------------------------


def texts(traces: Sequence[Trace]) -> str:
    """What each arm has written so far, and whether that is the same."""
    parts = [
        f'<div><b>{escape(trace.arm)}</b><div style="{TEXT_STYLE} {figures.color_of(trace.arm)}">'
        f"{escape(trace.text())}</div></div>"
        for trace in traces
    ]
    if len(traces) > 1:
        parts += [
            f"<p>{escape(other.arm)} against {escape(traces[0].arm)}: "
            f"<b>{escape(str(agreement(traces[0], other)))}</b></p>"
            for other in traces[1:]
        ]
    return "".join(parts)


def summed_up(traces: Sequence[Trace]) -> str:
    """The run as a sentence and a table."""
    if not traces:
        return ""
    return f"<p>{escape(summary.sentence(traces))}</p>{summary.table(traces).html()}"
