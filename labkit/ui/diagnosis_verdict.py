"""A verdict as a card: the shares as a bar, each piece of evidence with its arithmetic, what helps.

The bars of all cards are in one figure; each card says the same in words. Whatever came from a
paste is escaped here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from html import escape

import ipywidgets as w

from .. import figures
from ..records.report import Report
from ..records.verdict import Evidence, Verdict
from ..summary import digits
from .diagnosis_text import CARD, TEXT, items
from .live import LiveFigure

LONGEST_LABEL = 28  # characters beside a bar


@dataclass(frozen=True)
class Finding:
    """One run's verdict, and the report that it is about where it came from a paste."""

    verdict: Verdict
    report: Report | None = None


class VerdictView(w.VBox):
    """The bars and the cards of some findings; hidden while there are none."""

    def __init__(self):
        self.figure = LiveFigure(figures.shares())
        self.text = w.HTML()
        super().__init__([self.figure.framed(), self.text], layout={"display": "none"})

    def show(self, findings: Sequence[Finding], above: str = "") -> None:
        """Replaces what is shown. `above` is HTML."""
        if not findings:
            self.layout.display = "none"
            return
        numbers = range(1, len(findings) + 1) if len(findings) > 1 else [None]
        named = [label(n, one.verdict) for n, one in zip(numbers, findings, strict=True)]
        rows = [(name, one.verdict.shares) for name, one in zip(named, findings, strict=True)]
        self.text.value = f'<div style="{TEXT}">{above}</div>' * bool(above) + "".join(
            map(card, named, findings)
        )
        self.layout.display = ""
        self.figure.show_curves(figures.shares_curves(rows), figures.shares_layout(rows))


def label(number: int | None, verdict: Verdict) -> str:
    """Short, and different for each run: "2. vLLM, row 3"; no number where it is the only one."""
    about = " ".join(verdict.about.split())
    if about == "words":
        about = "in words"
    short = about if len(about) <= LONGEST_LABEL else f"{about[: LONGEST_LABEL - 1]}…"
    return short if number is None else f"{number}. {short}"


# ---- a card --------------------------------------------------------------------------------------


def card(name: str, finding: Finding) -> str:
    """Everything that the verdict says, in the order in which a reader asks."""
    verdict = finding.verdict
    return (
        f'<section aria-label="{escape(name)}" style="{CARD};margin:6px 0">'
        f"{_head(name, verdict)}<p>{escape(shares_sentence(verdict))}</p>"
        f"<p>Evidence:</p>{_evidence(verdict.evidence)}"
        f"{_listed('To say more, this is missing:', verdict.missing)}"
        f"{_listed('What would help, the largest effect first:', _remedies(verdict), 'ol')}"
        f"<p>{escape(verdict.hardware)}</p>{_read(finding.report)}</section>"
    )


def _head(name: str, verdict: Verdict) -> str:
    return (
        f"<p>{escape(name)}: <b>{escape(verdict.label)}</b>, limiter "
        f"<b>{escape(verdict.limiter)}</b>, confidence {escape(verdict.confidence)}</p>"
    )


def shares_sentence(verdict: Verdict) -> str:
    """The bar in words."""
    parts = [f"{name} {share:.0%}" for name, share in verdict.shares.items() if share]
    if not parts:
        return "How the wait divides into phases, these figures don't tell."
    return f"Of the user's wait: {', '.join(parts)}."


def _evidence(evidence: Sequence[Evidence]) -> str:
    rows = "".join(
        f"<li>{escape(one.claim)}"
        + (f": <code>{escape(one.arithmetic)}</code>" if one.arithmetic else "")
        + "</li>"
        for one in evidence
    )
    return f'<ul style="margin:0 0 6px">{rows}</ul>'


def _remedies(verdict: Verdict) -> list[str]:
    return [str(remedy) for remedy in verdict.remedies]


def _listed(title: str, lines: Sequence[str], kind: str = "ul") -> str:
    return f"<p>{title}</p>{items(lines, kind)}" if lines else ""


# ---- what was read -------------------------------------------------------------------------------


def _read(report: Report | None) -> str:
    """The report's figures, folded away: whoever doubts the verdict looks here first."""
    if report is None:
        return ""
    lines = items(read_lines(report))
    return f"<details><summary>What was read</summary>{lines}</details>"


def read_lines(report: Report) -> list[str]:
    """Each figure that is known, by its name; the unit is in the name."""
    known = ((f.name, getattr(report, f.name)) for f in fields(report))
    return [
        f"{name}: {_value(value)}"
        for name, value in known
        if value is not None and not isinstance(value, (tuple, bool))
    ]


def _value(value: object) -> str:
    if isinstance(value, float | int):
        return f"{value:,.0f}" if value == int(value) and value < 1e15 else digits(value)
    return str(value)
