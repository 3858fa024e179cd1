"""Grades a learner's own words: `grade(text, truth)`. Offline, deterministic, standard library.

An answer is read as claims over clauses, not matched against model answers. Reading order: `words`
(text to words), `vocabulary` and `mentions` (what is named), `clauses` and `scene` (how far a "not"
reaches), `claims` (what is asserted), `tricks` (what is no statement), `verdict`, `feedback`.
What is only mentioned counts where nothing of its kind is asserted and it is alone.

It knows no grammar and no irony. A sentence that it can't place claims nothing.
"""

from .grade import FULL, Grade, Quote, grade

__all__ = ["FULL", "Grade", "Quote", "grade"]
