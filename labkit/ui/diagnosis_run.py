"""Lesson 09's verdict on the learner's own run: a trace to a card, with the what-if below it.

Traces come from any panel that measured some, or from a file that one exported. The same rules
judge them as judge a paste, and more can be said: each step's time is known, and the machine's
roofs where they were probed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

import ipywidgets as w

from .. import catalog, records, roofline, summary
from ..diagnose import diagnose
from ..records import Trace
from ..records.machine import Roofs
from ..records.verdict import Verdict
from ..records.workload import Workload
from ..roofline.whatif import Observed, observed
from .controls import WIDE
from .diagnosis_verdict import Finding, VerdictView
from .panel import Panel
from .whatif import WhatIf


@dataclass(frozen=True)
class RunRequest:
    """A file's text to read traces from, or None to judge the trace that is chosen."""

    text: str | None
    chosen: int


class OwnRun(Panel):
    """Choose a run or load a saved one; Diagnose. `verdict` is the last one."""

    run_label = "Diagnose"

    def __init__(self, traces: Sequence[Trace], roofs: Roofs | None):
        self.offered = tuple(traces)
        self.verdict: Verdict | None = None
        self._roofs, self._trace, self._text = roofs, None, None
        self.run_choice = w.Dropdown(description="Run", style=WIDE, layout={"width": "auto"})
        self.upload = w.FileUpload(
            accept=".json,.csv", description="Load a saved run", layout={"width": "auto"}
        )
        self.view, self.note = VerdictView(), w.HTML()
        self.what_if = WhatIf(_placeholder())
        self.what_if.layout.display = "none"
        controls = w.HBox([self.run_choice, self.upload])
        super().__init__([controls], [self.view, self.note, self.what_if])
        self._offer()
        self.upload.observe(self._load, "value")

    def wait(self, timeout_s: float | None = None) -> Verdict | None:
        """The verdict. Starts the diagnosis if none was; raises what it raised."""
        super().wait(timeout_s)
        return self.verdict

    def read(self) -> RunRequest:
        return RunRequest(self._text, self.run_choice.value or 0)

    def work(self, request: RunRequest) -> Iterator[float]:
        self._trace = self.verdict = None
        if request.text is not None:
            self.offered = saved_run(request.text)
            self._offer()
            yield 0.5
        if not self.offered:
            raise ValueError("there is no run yet: load one that a panel exported as JSON or CSV.")
        last = len(self.offered) - 1
        trace = self.offered[last if request.text is not None else min(request.chosen, last)]
        self.verdict = diagnose(trace, self._roofs_of(trace))
        self._trace = trace
        yield 1.0

    def draw(self) -> None:
        found = (Finding(self.verdict),) if self.verdict else ()
        self.view.show(found, _paragraph(summary.heading(self._trace)) if found else "")
        self._tell_what_if()

    # ---- inside ----------------------------------------------------------------------------------

    def _tell_what_if(self) -> None:
        reason = ""
        try:
            if self._trace:
                self.what_if.show(observed(self._trace, self._roofs_of(self._trace)))
        except ValueError as error:
            reason = f"No what-if for this run: {error}."
        self.note.value = _paragraph(reason) if reason else ""
        self.what_if.layout.display = "" if self._trace and not reason else "none"

    def _roofs_of(self, trace: Trace) -> Roofs | None:
        """Its own, as probed; those given only for what was measured here."""
        return trace.roofs or (self._roofs if trace.origin == "measured" else None)

    def _offer(self) -> None:
        names = [
            (f"{n + 1}: {trace.arm}, {trace.settings.model}, {len(trace.steps)} tokens", n)
            for n, trace in enumerate(self.offered)
        ]
        self.run_choice.options = names or [("none yet", None)]
        self.run_choice.value = len(names) - 1 if names else None

    def _load(self, _=None) -> None:
        if self.upload.value:
            content = bytes(self.upload.value[0]["content"])
            self.upload.value = ()
            self._text = content.decode("utf-8", errors="replace")
            self.run()
            self._text = None


def saved_run(text: str) -> tuple[Trace, ...]:
    """The traces of a file. Raises ValueError, with the remedy, for another file."""
    try:
        return tuple(records.parse(text))
    except records.BrokenFile as error:
        raise ValueError(f"{error}. Load what a race or another run of tokens exported.") from error


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _placeholder() -> Observed:
    """What the hidden what-if holds until there is a run: its figure is made only once."""
    machine, shape = catalog.machine("A100-80GB"), catalog.model("Llama-3.1-8B")
    roofs = replace(roofline.datasheet_roofs(machine), overhead_s=None)
    return Observed(shape, roofs, Workload(128, 64), 0.05, 0.02, machine.name, "an example")
