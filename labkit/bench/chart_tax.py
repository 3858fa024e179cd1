"""What the live chart costs the measurement: median step with the panel ÷ without, in turn.

Both sides run in one kernel, on the thread that panels run on, with the same request; one of them
draws. The browser's own work is not in it: no page is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..records import Trace
from .kernel import in_kernel
from .stats import Figure, ratios

if TYPE_CHECKING:
    from .. import models, ui

AT_MOST = 1.02


def measure(name: str, pairs: int, new_tokens: int) -> tuple[Figure, ...]:
    """A ratio for each arm of a race of the model called `name`."""
    medians = in_kernel(__name__, "medians", name=name, pairs=pairs, new_tokens=new_tokens)
    return tuple(
        figure
        for arm, (drawn_s, plain_s) in medians.items()
        for figure in (
            Figure(f"{name}, {arm}: with chart ÷ without", ratios(drawn_s, plain_s), AT_MOST),
            Figure(f"{name}, {arm}: ms a token without", tuple(s * 1e3 for s in plain_s)),
        )
    )


def medians(name: str, pairs: int, new_tokens: int) -> dict[str, list[list[float]]]:
    """For each arm the medians with the panel, and those without, in seconds. Run in a kernel."""
    from .. import models, ui

    loaded = models.load(name)
    panel = ui.race(model=loaded, new_tokens=new_tokens)
    sides = (lambda: drawn(panel), lambda: undrawn(panel, loaded))
    found: dict[str, list[list[float]]] = {}
    for pair in range(pairs + 1):
        for side in (0, 1) if pair % 2 else (1, 0):
            for trace in sides[side]():
                found.setdefault(trace.arm, [[], []])[side].append(trace.median_itl_s)
    return {arm: [side[1:] for side in both] for arm, both in found.items()}  # 0: warm-up


def drawn(panel: ui.Race) -> Sequence[Trace]:
    """A run of the panel, chart and all."""
    panel.run()
    return panel.wait()


def undrawn(panel: ui.Race, loaded: models.Loaded) -> Sequence[Trace]:
    """The same run on the same thread, but nobody looks."""
    from .. import experiments
    from ..ui.worker import shared_worker

    def job() -> list[Trace]:
        request = panel.read()
        runs = experiments.prepare(request, loaded)
        for _ in experiments.steps(request, runs):
            pass
        return [run.trace() for run in runs]

    return shared_worker().submit(job).result()
