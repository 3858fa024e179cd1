"""What the exercises of lesson 09 show: the card, the feedback, the solution, the score. As HTML.

Pure functions. All that a learner typed or a scenario says is escaped here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from ..grading.free_text import FULL, Grade, Quote
from ..records.check_result import COLORS
from ..results import LEVEL_HEADER, LevelScore, level_row
from ..scenarios import QUESTION, REMEDIES, Scenario
from ..summary import Table

BORDER = "rgba(128,128,128,0.5)"
TEXT = "line-height:1.45;max-width:760px"
CARD = f"border:1px solid {BORDER};border-radius:4px;padding:2px 14px;{TEXT}"
VERDICTS = {"correct": COLORS["passed"], "partial": "#E69F00", "unclear": COLORS["not yet"]}
MOST_QUOTES = 12
STANCES = {
    "asserted": "you say so",
    "denied": "you say no",
    "contrasted": "you say it is quick",
    "mentioned": "only mentioned",
    "unsaid": "not claimed: asked, supposed, quoted or taken back",
}


def items(lines: Iterable[str], kind: str = "ul") -> str:
    """A list of escaped lines; nothing for none."""
    found = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<{kind} style="margin:0 0 6px">{found}</{kind}>' if found else ""


def marked(color: str, html: str) -> str:
    """HTML beside a bar in that colour; the words carry the meaning without it."""
    style = f"border-left:4px solid {color};padding:0 12px;margin-bottom:8px;{TEXT}"
    return f'<div style="{style}">{html}</div>'


def card_html(scenario: Scenario) -> str:
    """What the learner is given: a story, figures, the question."""
    lines = "".join(f"<li><b>{escape(line)}</b></li>" for line in scenario.card)
    return (
        f'<section aria-label="Metrics" style="{CARD}"><p>{escape(scenario.story)}</p>'
        f"<ul>{lines}</ul><p>{escape(QUESTION)}</p></section>"
    )


def feedback_html(grade: Grade) -> str:
    """What was right, what is missing; and how each word was taken."""
    color = VERDICTS.get(grade.verdict, COLORS["wrong"])
    read = "".join(map(_quote, grade.claims[:MOST_QUOTES]))
    how = f"<details><summary>How your words were read</summary><ul>{read}</ul></details>"
    return marked(color, items(grade.feedback) + (how if read else ""))


def _quote(quote: Quote) -> str:
    stance = STANCES.get(quote.stance, quote.stance)
    what = f"{quote.kind}: {quote.name}"
    if quote.kind != "evidence":
        what += f" ({stance})"
    return f"<li>“{escape(quote.words)}” → {escape(what)}</li>"


def points(grade: Grade) -> str:
    return f"{grade.verdict.capitalize()}, {grade.points} of {FULL} points"


def caveat_html(scenario: Scenario) -> str:
    """What the figures leave unexplained; nothing for most scenarios."""
    if not scenario.caveat:
        return ""
    text = f"<b>What does not add up.</b> {escape(scenario.caveat)}"
    return f'<p style="{TEXT}">{text}</p>'


def solution_html(scenario: Scenario) -> str:
    """What is true of the scenario, why, and what helps."""
    truth = scenario.truth
    helps = items(f"{name}: {REMEDIES[name]}" for name in truth.remedies)
    head = f"<p><b>{escape(truth.phase)}</b>, limited by <b>{escape(truth.limiter)}</b></p>"
    why = f"<p>{escape(truth.why)}</p>" if truth.why else ""
    return marked(COLORS["passed"], f"{head}{why}<p>What helps:</p>{helps}{caveat_html(scenario)}")


def score_html(levels: Sequence[LevelScore], note: str) -> str:
    """The score so far, and whether it is kept."""
    alert = f'<p role="alert">{escape(note)}</p>' if note else ""
    if not levels:
        return f"{alert}<p>No exercise was tried yet.</p>"
    return alert + Table(LEVEL_HEADER, tuple(level_row(score) for score in levels)).html()
