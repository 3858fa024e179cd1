"""Runs recorded elsewhere: which are at hand under data/traces, and how the race shows one.

A recorded run is never taken for one of this machine: title, status and table say where it is from,
and its prediction comes from the roofs that were measured with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import ipywidgets as w

from .. import catalog, measure, models
from ..records import BrokenFile, Trace, parse

FOLDER = catalog.DATA / "traces"
CHOOSE = "Show a recorded run …"
Show = Callable[[Sequence[Trace]], None]


def recorded_races(folder: Path = FOLDER) -> dict[str, tuple[Trace, ...]]:
    """The races under `folder`, by the name of theirs; a file that can't be read is left out."""
    found = {}
    for path in sorted(folder.glob("*/race.json")):
        try:
            found[path.parent.name] = tuple(parse(path.read_text(encoding="utf-8")))
        except BrokenFile:
            continue
    return found


def recorded_race(name: str | None = None, folder: Path = FOLDER) -> tuple[Trace, ...]:
    """One of them, by default the first. Raises ValueError with the names that there are."""
    found = recorded_races(folder)
    if name is None and found:
        return next(iter(found.values()))
    if name not in found:
        known = ", ".join(found) or "none here: record one with `python -m labkit gpu-check`"
        raise ValueError(f"no recorded run {name!r}; there are: {known}")
    return found[name]


class RecordedRuns(w.Dropdown):
    """Choose one, and `show` gets its traces."""

    def __init__(self, show: Show, folder: Path = FOLDER):
        self._show = show
        runs = [(label_of(traces[0]), traces) for traces in recorded_races(folder).values()]
        super().__init__(options=[(CHOOSE, None), *runs], layout={"width": "auto"})
        self.observe(self._chosen, "value")
        self.layout.display = "" if runs else "none"

    def _chosen(self, change) -> None:
        if change.new is not None:
            self._show(change.new)


def label_of(trace: Trace) -> str:
    """ "SmolLM2-135M-Instruct in float32, recorded on Intel Xeon (cpu)"."""
    settings, machine = trace.settings, trace.machine
    where = f"recorded on {machine.name} ({machine.device})"
    return f"{settings.model} in {settings.dtype}, {where}"


def told_where(traces: Sequence[Trace], this: str | None = None) -> str:
    """That a saved run is shown, and whether its machine is called like this one, `this`."""
    there = traces[0].machine.name
    this = measure.this_machine(models.default_device()).name if this is None else this
    if there == this:
        return "a saved run is shown, of a machine like this one"
    return f"a saved run of another machine is shown: {there}"
