"""The what-if panel: a run's TTFT and TPOT on another machine, in another format, for other sizes.

Nothing is run: each move of a control computes anew. All but the run's own bar is predicted.
"""

from __future__ import annotations

from dataclasses import replace
from html import escape

import ipywidgets as w

from .. import catalog, figures, roofline, summary
from ..figures.whatif import Bar
from ..records.machine import Roofs
from ..records.workload import DTYPE_BYTES, Workload, compute_dtype
from ..roofline.whatif import (
    UPGRADES,
    Observed,
    Outlook,
    Shares,
    calibrate,
    helpful,
    outlook,
    upgraded,
)
from .controls import WIDE
from .live import LiveFigure
from .panel import BAD

HERE = "the run's machine"
LITTLE = 0.5  # less of a roof than this, and something else may have been the limit
IMPOSSIBLE = 1.1  # a share of a roof that nothing reaches: the numbers given can't all be right


class WhatIf(w.VBox):
    """Choose machine, format, prompt, answer and batch; read what TTFT and TPOT would be."""

    def __init__(self, run: Observed):
        self.run = run
        self.shares = calibrate(run)
        work, host_s = run.work, run.roofs.for_layers(run.shape.layers).overhead_s
        self.machine = w.Dropdown(options=[HERE, *catalog.machines()], description="Machine")
        self.dtype = w.Dropdown(options=list(DTYPE_BYTES), value=work.dtype, description="Format")
        self.prompt_tokens = _number("Prompt tokens", work.prompt_tokens)
        self.new_tokens = _number("New tokens", work.new_tokens)
        self.batch = _number("Sequences", work.batch)
        self.host_ms = w.BoundedFloatText(
            value=round(1e3 * (host_s or 0.0), 3),
            max=1e6,
            description="Host's ms for a pass",
            style=WIDE,
            layout={"width": "220px"},
        )
        self.dtype.layout.width = "180px"
        self.figure = LiveFigure(figures.what_if())
        self.text = w.HTML()
        first = w.HBox([self.machine, self.dtype, self.host_ms])
        second = w.HBox([self.prompt_tokens, self.new_tokens, self.batch])
        super().__init__([first, second, self.figure.framed(), self.text])
        self.add_class("labkit-panel")
        for control in (*first.children, *second.children):
            control.observe(self._refresh, "value")
        self._refresh()

    def __repr__(self) -> str:  # constant, so that a notebook's output can be compared
        return "WhatIf()"

    def show(self, run: Observed) -> None:
        """Turns to another run, and sets the controls to what it was."""
        self.run, self.shares = run, calibrate(run)
        work, host_s = run.work, run.roofs.for_layers(run.shape.layers).overhead_s
        self.machine.value, self.dtype.value = HERE, work.dtype
        self.host_ms.value = round(1e3 * (host_s or 0.0), 3)
        self.prompt_tokens.value, self.new_tokens.value = work.prompt_tokens, work.new_tokens
        self.batch.value = work.batch
        self._refresh()

    @property
    def work(self) -> Workload:
        """What is asked of the other machine. Raises ValueError for a size below 1."""
        sizes = (self.prompt_tokens.value, self.new_tokens.value, self.batch.value)
        return Workload(*sizes, self.dtype.value)

    @property
    def roofs(self) -> Roofs:
        """The chosen machine's roofs, with the host's time as it is set above."""
        if self.machine.value == HERE:
            roofs = self.run.roofs
        else:
            roofs = roofline.datasheet_roofs(catalog.machine(self.machine.value))
        host_s = self.host_ms.value * 1e-3 or None
        return replace(roofs, overhead_s=host_s, layers=None)

    def _refresh(self, _=None) -> None:
        try:
            work, roofs = self.work, self.roofs
            self._show(work, roofs)
        except ValueError as error:
            self.text.value = (
                f'<p role="alert" style="border-left:4px solid {BAD};padding-left:8px">'
                f"{escape(str(error))}</p>"
            )

    def _show(self, work: Workload, roofs: Roofs) -> None:
        run, shape = self.run, self.run.shape
        there = outlook(shape, work, roofs, run.grows, self.shares)
        better = {
            upgrade: outlook(shape, work, upgraded(roofs, upgrade), run.grows, self.shares)
            for upgrade in UPGRADES
        }
        bars = [Bar("predicted there", there.ttft_s, there.tpot_s)]
        bars += [Bar(f"… with twice the {u}", o.ttft_s, o.tpot_s) for u, o in better.items()]
        given = Bar(f"the run ({run.origin})", run.ttft_s, run.tpot_s)
        self.figure.show_curves(figures.what_if_curves(given, bars), {})
        lines = [*sentences(run, there, helpful(there, better)), *self._notes(work)]
        table = summary.Table(
            ("", "TTFT", "TPOT"),
            tuple(
                (bar.label, *map(summary.ms, (bar.ttft_s, bar.tpot_s))) for bar in (given, *bars)
            ),
        )
        self.text.value = "".join(f"<p>{escape(line)}</p>" for line in lines) + table.html()

    def _notes(self, work: Workload) -> list[str]:
        """What the reader has to know to believe it, or not to."""
        notes = [calibrated(self.shares)]
        if self.machine.value != HERE:
            machine = catalog.machine(self.machine.value)
            weights = roofline.weight_bytes(self.run.shape, work.dtype)
            room = machine.memory_bytes - weights
            kv = roofline.kv_bytes(
                self.run.shape, work.context, work.batch, compute_dtype(work.dtype)
            )
            if kv > room:
                notes.append(
                    f"It would not fit: weights {summary.gb(weights)} and cache {summary.gb(kv)} "
                    f"against {summary.gb(machine.memory_bytes)}."
                )
            notes.append(
                f"Its roofs are the datasheet's ({machine.source}), which no program reaches in "
                "full, and the host's time for a pass is the one above: a guess."
            )
        return notes


def sentences(run: Observed, there: Outlook, helps: dict[str, str | None]) -> list[str]:
    """Predicted against the run, what binds, and which upgrade would help."""
    return [
        f"Predicted: TTFT {summary.ms(there.ttft_s)} (the run: {summary.ms(run.ttft_s)}), bound by "
        f"{there.first.limiter}; TPOT {summary.ms(there.tpot_s)} (the run: "
        f"{summary.ms(run.tpot_s)}), bound by {there.later.limiter}.",
        f"To shorten TTFT: {_upgrade(helps['ttft'])}. To shorten TPOT: {_upgrade(helps['tpot'])}.",
    ]


def _upgrade(best: str | None) -> str:
    return f"more {best}" if best else "neither more FLOP/s nor more bandwidth"


def calibrated(found: Shares) -> str:
    """How near to its roofs the run came, or that it doesn't tell."""
    shares = {"prefill": found.prefill, "decode": found.decode}
    known = [f"its {phase} {share:.0%}" for phase, share in shares.items() if share]
    unknown = [phase for phase, share in shares.items() if not share]
    text = "Of the speed that its machine's roofs allow, the run reached: "
    text += ", ".join(known) or "nothing that can be told"
    if unknown:
        text += f". Its {' and its '.join(unknown)} waited for the host, so all is taken there"
    if any(share and share > IMPOSSIBLE for share in shares.values()):
        text += ". More than all can't be: one of the numbers given is not right"
    if any(share and share < LITTLE for share in shares.values()):
        text += (
            ". That is little: something else, such as the host's time, may have been the limit, "
            "and then a faster machine helps less than is predicted here"
        )
    return f"{text}."


def _number(name: str, value: int) -> w.BoundedIntText:
    layout = {"width": "180px"}
    return w.BoundedIntText(
        value=value, min=1, max=10**7, description=name, style=WIDE, layout=layout
    )
