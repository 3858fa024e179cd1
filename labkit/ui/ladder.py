"""Lesson 08's panel: the ladder, climbed rung by rung on this machine.

Bars grow as tokens come; predicted stands beside measured, and the roof of each rung's own bytes
above both. A rung that this machine lacks something for says what.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import ipywidgets as w

from .. import figures, models, rungs
from ..guesses import TASKS
from ..ladder import Climb, LadderRequest
from ..records.ladder import Ladder, ladder_to_csv, ladder_to_json
from ..records.machine import Roofs
from .controls import WIDE, ModelControls
from .download import Export
from .ladder_text import ladder_told
from .live import LiveFigure
from .panel import Panel
from .passes import roofs_on

OWN = "a text of your own"


class TaskChoice(w.HBox):
    """One of the lab's texts, or one that is typed."""

    def __init__(self, task: str):
        known = task in TASKS
        self.kind = w.Dropdown(
            options=[*TASKS, OWN],
            value=task if known else OWN,
            description="Text",
            style=WIDE,
            layout={"width": "220px"},
        )
        self.own = w.Textarea(
            value="" if known else task,
            placeholder="a text to continue",
            layout={"width": "420px", "height": "56px"},
        )
        super().__init__([self.kind, self.own])
        self.kind.observe(self._refresh, "value")
        self._refresh()

    @property
    def value(self) -> str:
        return self.own.value if self.kind.value == OWN else self.kind.value

    def _refresh(self, _=None) -> None:
        self.own.layout.display = "" if self.kind.value == OWN else "none"


class LadderPanel(Panel):
    """The rungs that are ticked, one after the other. `ladder` holds the latest climb."""

    run_label = "Climb"

    def __init__(
        self,
        model: str | models.Loaded,
        task: str,
        new_tokens: int,
        rounds: int,
        names: Sequence[str],
        roofs: Roofs | None,
    ):
        self.ladder = Ladder()
        self._climb: Climb | None = None
        self._given_roofs = roofs
        self._model = ModelControls(model)
        self.task = TaskChoice(task)
        self.tokens, self.rounds = count("Tokens", new_tokens, 512), count("Rounds", rounds, 20)
        self.boxes = [
            w.Checkbox(value=n in names, description=n, indent=False, layout={"width": "auto"})
            for n in rungs.NAMES
        ]
        self.figure, self.text = LiveFigure(figures.ladder()), w.HTML()
        self.export = Export("ladder", self._write)
        controls = [
            self._model,
            w.HBox([self.task, self.tokens, self.rounds]),
            w.HBox([w.Label("Rungs"), *self.boxes], layout={"flex_flow": "row wrap"}),
        ]
        super().__init__(controls, [self.figure.framed(), self.text, self.export])

    def read(self) -> LadderRequest:
        names = tuple(box.description for box in self.boxes if box.value)
        return LadderRequest(
            self._model.name, self.task.value, self.tokens.value, self.rounds.value, names
        )

    def work(self, request: LadderRequest) -> Iterator[float]:
        loaded = self._model.load(self._worker, self.on_load)
        roofs = roofs_on(str(loaded.device), self._given_roofs)
        climb = Climb(request, loaded, roofs, self._tell)
        for share in climb.steps():
            self._climb = climb
            yield share

    def _tell(self, text: str) -> None:
        self.check_stop()  # compiling can't be stopped half-way: here is the last chance before it
        self._say(f"{text} …")

    def draw(self) -> None:
        if self._climb is not None:
            self.ladder = self._climb.ladder()
        curves, layout = figures.ladder_curves(self.ladder), figures.ladder_layout(self.ladder)
        self.figure.show_curves(curves, layout)
        self.text.value = ladder_told(self.ladder)
        self.export.ready = bool(self.ladder.measured)

    def wait(self, timeout_s: float | None = None) -> Ladder:
        """The finished climb. Starts one if none was; raises what it raised."""
        super().wait(timeout_s)
        return self.ladder

    def _show_outcome(self, error: BaseException | None) -> None:
        super()._show_outcome(error)
        self._climb = None  # or an old panel would keep its models in memory

    def _write(self, kind: str) -> str:
        return {"json": ladder_to_json, "csv": ladder_to_csv}[kind](self.ladder)


def count(name: str, value: int, most: int) -> w.BoundedIntText:
    """A small number to choose."""
    return w.BoundedIntText(
        value=value, min=1, max=most, description=name, style=WIDE, layout={"width": "130px"}
    )
