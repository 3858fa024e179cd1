"""Lesson 08's other panel: what guessing brings on texts that repeat themselves and on others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

import ipywidgets as w

from .. import figures, guesses, models
from ..figures.speculative import GuessBar
from ..guesses import LOOKUP, OWN_LAYERS, GuessRequest
from ..records.machine import Roofs
from ..records.speculation import Guessed, guesses_to_csv, guesses_to_json
from ..roofline.speculative import predicted_speed_up
from .controls import OTHER, WIDE, ModelControls
from .download import Export
from .ladder import count
from .ladder_text import guesses_told
from .live import LiveFigure
from .panel import Panel
from .passes import roofs_on


class Guessing(Panel):
    """Plain decoding beside guessing, for each text and number of guesses. `found` holds it all."""

    def __init__(
        self,
        model: str | models.Loaded,
        tasks: Sequence[str],
        new_tokens: int,
        at_most: Sequence[int],
        draft: str,
        roofs: Roofs | None,
    ):
        self.found: tuple[Guessed, ...] = ()
        self._given_roofs, self.roofs = roofs, roofs
        self._at_most, self._tasks = tuple(at_most), tuple(tasks)
        self._model = ModelControls(model)
        known = (LOOKUP, OWN_LAYERS)
        self.draft = w.Dropdown(
            options=[*known, OTHER],
            value=draft if draft in known else OTHER,
            description="Who guesses",
            style=WIDE,
        )
        self.other = w.Text(
            value="" if draft in known else draft, placeholder="a model with the same tokenizer"
        )
        self.tokens, self.rounds = count("Tokens", new_tokens, 512), count("Rounds", 1, 20)
        self.figure, self.text = LiveFigure(figures.guessing()), w.HTML()
        self.export = Export("guessing", self._write)
        controls = [self._model, w.HBox([self.draft, self.other, self.tokens, self.rounds])]
        super().__init__(controls, [self.figure.framed(), self.text, self.export])
        self.draft.observe(self._refresh, "value")
        self._refresh()

    def _refresh(self, _=None) -> None:
        self.other.layout.display = "" if self.draft.value == OTHER else "none"

    def read(self) -> list[GuessRequest]:
        chosen = self.draft.value
        draft = self.other.value.strip() if chosen == OTHER else chosen
        return [
            GuessRequest(
                task=task,
                new_tokens=self.tokens.value,
                at_most=self._at_most,
                rounds=self.rounds.value,
                draft=draft,
            )
            for task in self._tasks
        ]

    def work(self, requests: list[GuessRequest]) -> Iterator[float]:
        loaded = self._model.load(self._worker, self.on_load)
        self.roofs = roofs_on(str(loaded.device), self._given_roofs)
        found: list[Guessed] = []
        total = len(self._at_most) * sum(request.rounds for request in requests)
        for request in requests:
            for guessed in guesses.compare(request, loaded):
                found.append(guessed)
                self.found = tuple(found)
                yield len(found) / total

    def draw(self) -> None:
        bars = bars_of(self.found, self.roofs)
        layout = figures.guessing_layout(self.found)
        self.figure.show_curves(figures.guessing_curves(bars), layout)
        self.text.value = guesses_told(self.found, bars)
        self.export.ready = bool(self.found)

    def wait(self, timeout_s: float | None = None) -> tuple[Guessed, ...]:
        """All that was measured. Starts a run if none was; raises what it raised."""
        super().wait(timeout_s)
        return self.found

    def _write(self, kind: str) -> str:
        return {"json": guesses_to_json, "csv": guesses_to_csv}[kind](self.found)


def bars_of(found: Sequence[Guessed], roofs: Roofs | None) -> list[GuessBar]:
    """A bar for each text and number of guesses, medians over the rounds."""
    groups: dict[tuple[str, int], list[Guessed]] = {}
    for one in found:
        if one.speed_up is not None:
            groups.setdefault((one.task, one.at_most), []).append(one)
    return [
        GuessBar(*key, median(one.speed_up for one in group), said(group[0], roofs))
        for key, group in groups.items()
    ]


def said(one: Guessed, roofs: Roofs | None) -> float | None:
    """The speed-up that the roofs allow for what was guessed right; None where they are unknown.

    The guesser's own time is left out: prompt lookup takes next to none.
    """
    shape, dtype, counts = one.plain.model, one.plain.settings.dtype, one.counts
    if shape is None or roofs is None or dtype not in roofs.flops_per_s or not counts.passes:
        return None
    return predicted_speed_up(shape, counts, roofs, dtype)
