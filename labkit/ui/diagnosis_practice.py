"""Lesson 09's practice: exercises without end, five levels, the score kept between visits.

Each level begins with the curated exercises, in their order, and goes on with drawn ones. What was
answered or skipped does not come back. Three correct at a level lead to the next.
"""

from __future__ import annotations

from itertools import count

import ipywidgets as w

from ..progress import Attempt, Book
from ..results import level_scores, solved
from ..scenarios import LEVELS, Scenario, curated, generate
from .diagnosis import Exercise, button
from .diagnosis_text import score_html

ENOUGH = 3  # correct at a level, and the next is offered
SEED = "seed"  # the lesson's first exercise: it counts, and is not asked again


class Practice(Exercise):
    """The exercise with levels, Next and Skip."""

    def __init__(self, book: Book | None = None):
        book = book or Book()
        first = _level(book.attempts)
        self.level = w.ToggleButtons(
            options=[(f"Level {level}", level) for level in LEVELS],
            value=first,
            style={"button_width": "80px"},
            tooltips=["from plain figures, level 1, to misleading ones, level 5"] * len(LEVELS),
        )
        self.score = w.HTML()
        self.next_button = button("Next exercise", "step-forward", self.next)
        self.skip_button = button("Skip", "fast-forward", self.skip)
        super().__init__(next_scenario(first, book.attempts), book)
        self.buttons.children = (*self.buttons.children, self.next_button, self.skip_button)
        self.children = (self.level, *self.children, self.score)
        self.level.observe(lambda _: self._turn(), "value")

    def next(self) -> None:
        """The next exercise, one level higher where this attempt was the third that is correct."""
        level, right = self.level.value, self.grade is not None and self.grade.passed
        climbs = right and len(solved(self.book.attempts, level)) == ENOUGH and level < max(LEVELS)
        if climbs:
            self.level.value = level + 1  # which turns to its first exercise
        else:
            self._turn()

    def skip(self) -> None:
        """Leaves this one for good."""
        self._keep("skipped", 0)
        self._turn()

    def _turn(self) -> None:
        self.show(next_scenario(self.level.value, self.book.attempts))

    def _keep(self, verdict: str, points: int, helped: bool = False) -> None:
        super()._keep(verdict, points, helped)
        self._tell()

    def _allow(self) -> None:
        super()._allow()
        self.next_button.disabled = self.grade is None
        self.skip_button.disabled = self.grade is not None
        self._tell()

    def _tell(self) -> None:
        self.score.value = score_html(level_scores(self.book.attempts), self.book.note)


def next_scenario(level: int, attempts: tuple[Attempt, ...]) -> Scenario:
    """The first exercise of that level that was neither answered nor skipped."""
    done = {SEED, *(attempt.scenario for attempt in attempts)}
    known = [one for one in curated() if one.level == level and one.name not in done]
    if known:
        return known[0]
    return next(generate(level, seed) for seed in count() if f"{level}-{seed}" not in done)


def _level(attempts: tuple[Attempt, ...]) -> int:
    """The lowest level with fewer than three correct; the last one if there is none."""
    open_levels = (level for level in LEVELS if len(solved(attempts, level)) < ENOUGH)
    return next(open_levels, max(LEVELS))
