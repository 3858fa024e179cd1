"""Lesson 09's exercise: a card of metrics, a box for one's own words, and feedback on them.

The answer is graded here and now, offline; nothing is sent anywhere and nothing is measured, so no
worker is needed. The solution can be shown after a first attempt, and from then on an attempt does
not count.
"""

from __future__ import annotations

from html import escape

import ipywidgets as w

from ..grading.free_text import Grade, grade
from ..progress import Attempt, Book, now
from ..scenarios import Scenario
from .controls import WIDE
from .diagnosis_text import card_html, caveat_html, feedback_html, points, solution_html

HINT = "For instance: which part takes most of the time, how you see it, what would help."


class Exercise(w.VBox):
    """One scenario at a time. `grade` is the last attempt's, None before it."""

    def __init__(self, scenario: Scenario, book: Book | None = None):
        self.book = book or Book()
        self.card, self.status, self.feedback = w.HTML(), w.HTML(), w.HTML()
        self.answer = w.Textarea(
            description="Your diagnosis",
            placeholder=HINT,
            rows=4,
            continuous_update=False,
            style=WIDE,
            layout={"width": "100%", "max_width": "790px", "flex_flow": "column"},
        )
        self.check_button = button("Check my diagnosis", "check", self.check, "primary")
        self.again_button = button("Try again", "undo", self.try_again)
        self.reveal_button = button("Reveal", "eye", self.reveal)
        self.buttons = w.HBox([self.check_button, self.again_button, self.reveal_button])
        super().__init__([self.card, self.answer, self.buttons, self.status, self.feedback])
        self.add_class("labkit-panel")
        self.show(scenario)

    def __repr__(self) -> str:  # constant, so that a notebook's output can be compared
        return f"{type(self).__name__}()"

    def show(self, scenario: Scenario) -> None:
        """Turns to that scenario, as if nothing had been tried here."""
        self.scenario, self.grade, self.revealed = scenario, None, False
        self.card.value = card_html(scenario)
        self.try_again()

    def check(self) -> None:
        """Grades what is in the box, and keeps the score."""
        text = self.answer.value.strip()
        if not text:
            self._say("Write a sentence or two first.")
            return
        self.grade: Grade | None = grade(text, self.scenario.truth)
        self.feedback.value = feedback_html(self.grade) + self._caveat()
        helped = self.revealed or self._seen_before()
        self._keep(self.grade.verdict, self.grade.points, helped)
        counted = " The solution was shown before, so it does not count." if helped else ""
        self._say(f"{points(self.grade)}.{counted}")
        self._allow()

    def try_again(self) -> None:
        """An empty box, and the feedback gone; the attempts stay counted."""
        self.answer.value, self.feedback.value = "", ""
        self._say("Nothing is checked yet." if self.grade is None else "Once more, then.")
        self._allow()

    def reveal(self) -> None:
        """Shows what is true; there must have been an attempt."""
        if self.grade is None:
            self._say("Try it once yourself first; then the solution can be shown.")
            return
        self.revealed = True
        self._keep("revealed", 0, helped=True)
        self.feedback.value = feedback_html(self.grade) + solution_html(self.scenario)
        self._say(f"{points(self.grade)}. Below is what is true; you can still try again.")

    # ---- inside ----------------------------------------------------------------------------------

    def _caveat(self) -> str:
        """It gives the phase away, so it comes with the right phase only."""
        known = self.grade.verdict in ("correct", "partial")
        return caveat_html(self.scenario) if known else ""

    def _seen_before(self) -> bool:
        """Whether an earlier visit was shown this scenario's solution."""
        return any(a.scenario == self.scenario.name and a.helped for a in self.book.attempts)

    def _keep(self, verdict: str, points: int, helped: bool = False) -> None:
        level = self.scenario.level
        self.book.add(Attempt(self.scenario.name, level, verdict, points, now(), helped))

    def _allow(self) -> None:
        self.again_button.disabled = self.reveal_button.disabled = self.grade is None

    def _say(self, text: str) -> None:
        self.status.value = f'<span role="status" aria-live="polite">{escape(text)}</span>'


def button(name: str, icon: str, act, style: str = "") -> w.Button:
    button = w.Button(
        description=name, icon=icon, button_style=style, layout={"width": "auto"}, tooltip=name
    )
    button.on_click(lambda _: act())
    return button
