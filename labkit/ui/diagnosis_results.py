"""Lesson 09's report for an instructor: what was passed, the scores, when. To be exported.

It reads the saved notebooks of a folder and the file of progress when asked, and keeps nothing. The
browser saves the file; nothing is sent anywhere.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import ipywidgets as w

from .. import results
from ..progress import Book
from ..results import Exercise, Results, passed
from ..summary import Table
from .diagnosis import button
from .diagnosis_text import score_html
from .download import Export

SAVED_AS = {"json": results.to_json, "md": results.to_markdown}
KINDS = (
    ("md", "Export Markdown", "The report for a reader"),
    ("json", "Export JSON", "The report for a program"),
)


class ResultsReport(w.VBox):
    """A name if one wants, Show, and the two exports. `results` are those shown, None before."""

    def __init__(self, folder: Path, book: Book | None = None):
        self.results: Results | None = None
        self._folder, self._book = folder, book
        self.learner = w.Text(
            description="Name",
            placeholder="optional",
            continuous_update=False,
            layout={"width": "320px"},
        )
        self.show_button = button("Show my results", "list", self.show, "primary")
        self.export = Export("results", self._write, KINDS)
        self.status, self.text = w.HTML(), w.HTML()
        head = w.HBox([self.learner, self.show_button, self.export])
        super().__init__([head, self.status, self.text])
        self.add_class("labkit-panel")
        self._say("ready; exercises count as they are in the saved notebooks")

    def __repr__(self) -> str:  # constant, so that a notebook's output can be compared
        return "ResultsReport()"

    def show(self) -> None:
        """Reads notebooks and progress anew."""
        book = self._book or Book()
        self.results = results.results(self.learner.value, self._folder, book.attempts)
        done = self.results.exercises
        self._say(f"{passed(done)} of {len(done)} exercises passed")
        self.text.value = _lessons(self.results) + score_html(self.results.levels, book.note)
        self.export.ready = True

    def _write(self, kind: str) -> str:
        self.show()  # the name may have been typed since
        return SAVED_AS[kind](self.results)

    def _say(self, text: str) -> None:
        self.status.value = f'<span role="status" aria-live="polite">{escape(text)}</span>'


def _lessons(report: Results) -> str:
    """A line for each lesson; the exports have one for each exercise."""
    if not report.exercises:
        return "<p>No lesson lies in this folder.</p>"
    lessons: dict[str, list[Exercise]] = {}
    for exercise in report.exercises:
        lessons.setdefault(exercise.lesson, []).append(exercise)
    rows = tuple(
        (name, f"{passed(own)} of {len(own)}", results.minute(own[0].saved_at))
        for name, own in lessons.items()
    )
    return Table(("lesson", "exercises passed", "saved, UTC"), rows).html()
