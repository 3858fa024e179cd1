"""Lesson 00's card: which machine this is, what it reaches, and what its datasheet promises.

Displaying it measures nothing: the roofs are an earlier probe's, until the button is clicked.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import ipywidgets as w
import torch

from .. import catalog, measure, models, probing, summary
from ..models.memory import free_bytes
from .panel import Panel


class DeviceCard(Panel):
    """Facts about `device`, by default the one that the panels use, and its `roofs` (or None)."""

    run_label = "Measure the roofs"

    def __init__(self, device: str | None = None):
        self._device = models.resolve_device(device)
        self.machine = measure.this_machine(self._device)
        self.roofs = probing.known_roofs(self._device)
        self._facts = w.HTML(facts_html(self._device))
        self._roofs = w.HTML()
        super().__init__([self._facts], [self._roofs])
        self.draw()

    @property
    def value(self) -> str:
        """All that the card shows, as HTML."""
        return self._facts.value + self._roofs.value

    def read(self) -> torch.device:
        return self._device

    def work(self, request: torch.device) -> Iterator[float]:
        probe = measure.Probe(request, probing.one_pass(request))
        for share in probe.steps():
            self.roofs = probe.roofs()
            yield share
        probing.remember(request, self.roofs)

    def draw(self) -> None:
        if self.roofs is None:
            self._roofs.value = "<p>What this machine reaches was not measured yet.</p>"
            return
        datasheet = catalog.known_as(self.machine.name)
        self._roofs.value = summary.roofs_table(self.roofs, datasheet).html()


def facts_html(device: torch.device) -> str:
    """What the system tells of the machine, as a table."""
    machine = measure.this_machine(device)
    rows = {
        "processor": machine.name,
        "device": machine.device,
        "cores": _or_unknown(machine.cores),
        "memory": summary.gib(machine.memory_bytes),
        "free now": summary.gib(free_bytes(device)),
        "last-level cache": summary.gib(machine.cache_bytes),
        **measure.versions(),
    }
    cells = (
        f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(str(value))}</td></tr>'
        for name, value in rows.items()
    )
    return f"<table>{''.join(cells)}</table>"


def _or_unknown(value: object | None) -> object:
    return "unknown" if value is None else value
