"""Lesson 09's paste box: a server's metrics in, a verdict card for each run out.

Reading and judging are `reports` and `diagnose`; they run on the worker, so that a long log never
holds up the page. Machine, model and format can be chosen where the paste doesn't say them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape

import ipywidgets as w
from traitlets import Unicode

from .. import catalog
from ..diagnose import diagnose
from ..records.report import Report
from ..records.verdict import Verdict
from ..reports import parse
from .controls import WIDE
from .diagnosis_verdict import Finding, VerdictView
from .panel import Panel

AS_SAID = "as the text says"
MOST_CARDS = 12
LONGEST = 5_000_000  # characters; a server's connection takes twice that
NOTHING_READ = (
    "no time, rate or token count was recognised in this text. Paste the lines that a tool prints "
    "after a request or a benchmark, or write it in words: TTFT 50 ms, 2 tokens/s, 8B on an "
    "RTX 4090."
)


@dataclass(frozen=True)
class PasteRequest:
    """The text; names of the catalogue and bits of a weight, or "" and 0: as the text says."""

    text: str
    machine: str
    model: str
    bits: int


class LongText(w.Textarea):
    """A box whose text is not sent back to the page, as a widget's state else is.

    A long log, echoed, would use up what the server lets a kernel send in a second; answers to it
    would then be dropped.
    """

    value = Unicode().tag(sync=True, echo_update=False)


class PasteBox(Panel):
    """A box, Diagnose, and the cards. `verdicts` are those of the last paste, one for each run."""

    run_label = "Diagnose"

    def __init__(self, text: str = ""):
        self.findings: tuple[Finding, ...] = ()
        self._above = ""
        self.box = LongText(
            value=text,
            description="Metrics of a server",
            placeholder="Paste a log, a benchmark's table or JSON, or write the figures in words",
            rows=8,
            continuous_update=False,
            style=WIDE,
            layout={"width": "calc(100% - 6px)", "flex_flow": "column"},
        )
        self.machine = _choice("Machine", "", {name: name for name in catalog.machines()})
        self.model = _choice("Model", "", {name: name for name in catalog.models()})
        self.bits = _choice("Weights", 0, {f"{bits} bit": bits for bits in (16, 8, 4)})
        self.view = VerdictView()
        choices = w.HBox([self.machine, self.model, self.bits])
        super().__init__([self.box, choices], [self.view])

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(finding.verdict for finding in self.findings)

    def wait(self, timeout_s: float | None = None) -> tuple[Verdict, ...]:
        """The verdicts on the paste. Starts the diagnosis if none was; raises what it raised."""
        super().wait(timeout_s)
        return self.verdicts

    def read(self) -> PasteRequest:
        return PasteRequest(self.box.value, self.machine.value, self.model.value, self.bits.value)

    def work(self, request: PasteRequest) -> Iterator[float]:
        self.findings = ()
        reports = read_paste(request.text)
        if request.bits:
            reports = [replace(one, weight_bits=float(request.bits)) for one in reports]
        yield 0.5
        machine = catalog.machine(request.machine) if request.machine else None
        shape = catalog.model(request.model) if request.model else None
        shown = reports[:MOST_CARDS]
        findings = tuple(Finding(diagnose(one, machine, shape), one) for one in shown)
        self._above = together(diagnose(reports, machine, shape), len(reports))
        self.findings = findings
        yield 1.0

    def draw(self) -> None:
        self.view.show(self.findings, self._above)


def read_paste(text: str) -> list[Report]:
    """What the text reports. Raises ValueError, with the remedy, where that is nothing."""
    if not text.strip():
        raise ValueError("the box is empty: paste the metrics first.")
    if len(text) > LONGEST:
        raise ValueError(f"this is longer than {LONGEST:,} characters: paste the end of it.")
    reports = parse(text)
    if not reports:
        raise ValueError(NOTHING_READ)
    return reports


def together(verdict: Verdict, runs: int) -> str:
    """What several runs come to; nothing for one."""
    if runs == 1:
        return ""
    cards = f" The first {MOST_CARDS} have a card each." if runs > MOST_CARDS else ""
    said = f"All in all: {verdict.label}, limiter {verdict.limiter}."
    note = f" ({verdict.evidence[-1]}.)" if verdict.evidence else ""
    return f"<p>{escape(f'{runs:,} runs were read.{cards} {said}{note}')}</p>"


def _choice(name: str, unsaid: str | int, options: dict) -> w.Dropdown:
    """The options by their labels; first `unsaid`, to take the text's word."""
    layout = {"width": "auto"}
    labelled = [(AS_SAID, unsaid), *options.items()]
    return w.Dropdown(options=labelled, value=unsaid, description=name, style=WIDE, layout=layout)
