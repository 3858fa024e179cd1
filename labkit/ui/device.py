"""Lesson 00's card: which machine this is, and what is known of it before anything is measured."""

from __future__ import annotations

from html import escape

import ipywidgets as w

from .. import measure, models, summary
from ..models.memory import free_bytes


class DeviceCard(w.HTML):
    """A table of facts about `device`, by default the one that the panels use."""

    def __init__(self, device: str | None = None):
        where = models.resolve_device(device)
        machine = measure.this_machine(where)
        rows = {
            "processor": machine.name,
            "device": machine.device,
            "cores": _or_unknown(machine.cores),
            "memory": summary.gib(machine.memory_bytes),
            "free now": summary.gib(free_bytes(where)),
            "last-level cache": summary.gib(machine.cache_bytes),
            **measure.versions(),
        }
        cells = (
            f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
            f'<td style="text-align:left">{escape(str(value))}</td></tr>'
            for name, value in rows.items()
        )
        super().__init__(f"<table>{''.join(cells)}</table>")

    def __repr__(self) -> str:  # constant, so that a notebook's output can be compared
        return "DeviceCard()"


def _or_unknown(value: object | None) -> object:
    return "unknown" if value is None else value
