"""One answer, graded: read as claims, weighed, compared with the truth, and explained."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from ...records.check_result import COLORS, CheckResult
from ...scenarios.truth import Truth
from . import feedback, tricks
from .arithmetic import Sum, sums
from .claims import Claim, claims
from .clauses import clauses
from .mentions import mentions
from .scene import scenes
from .verdict import Reading, judge, weigh
from .vocabulary import vocabulary
from .words import visible, words

LONGEST = 10_000  # characters read; an answer is a paragraph or two
FULL = 3  # points: phase, limiter, remedy
STATUS = {"correct": "passed", "unclear": "not yet"}
FIGURE = re.compile(r"(?<![\w.,])\d{1,9}(?:[.,]\d{1,9}){0,3}\s{0,7}(?:[a-zA-Zµ]{1,8}(?:/s)?|%)")


@dataclass(frozen=True)
class Quote:
    """One thing the answer says, in the learner's own words: `text[start:end]`.

    `kind` is "phase", "limiter", "remedy" or "evidence"; `stance` is "asserted", "denied",
    "contrasted" (said to be quick), "mentioned" or "unsaid" (asked, supposed, quoted, taken back).
    """

    kind: str
    name: str
    stance: str
    words: str
    start: int
    end: int


@dataclass(frozen=True, repr=False)
class Grade(CheckResult):
    """A `CheckResult` with the verdict's word, points out of 3, what was read, and the feedback.

    `reason` is the feedback in one piece. `phases`, `limiters` and `remedies` are what the answer
    asserts.
    """

    verdict: str = "unclear"
    points: int = 0
    claims: tuple[Quote, ...] = ()
    feedback: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    limiters: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{self.verdict} ({self.points}/{FULL}): {self.reason}"

    def _repr_html_(self) -> str:
        style = f"border-left:4px solid {COLORS[self.status]};padding:4px 10px"
        items = "".join(f"<li>{escape(sentence)}</li>" for sentence in self.feedback)
        head = f"<b>{self.verdict}</b>, {self.points} of {FULL} points"
        return f'<div role="status" style="{style}">{head}<ul>{items}</ul></div>'


def grade(text: str, truth: Truth) -> Grade:
    """Grades a free-text diagnosis. Same text, same grade; nothing but the text is looked at.

    Reads the first 10,000 characters. Anything that is not text counts as an empty answer.
    """
    text = text if isinstance(text, str) else ""
    shown = visible(text[:LONGEST])
    reading = read(shown, too_long=len(text) > LONGEST)
    checked = sums(shown)
    verdict = judge(reading, truth)
    said = feedback.sentences(reading, truth, verdict, checked)
    return Grade(
        status=STATUS.get(verdict, "wrong"),
        reason=" ".join(said),
        verdict=verdict,
        points=_points(verdict, reading, truth),
        claims=(*map(_quoted, reading.claims), *_evidence(shown, checked)),
        feedback=said,
        phases=tuple(claim.name for claim in reading.main),
        limiters=reading.limiters,
        remedies=reading.remedies,
    )


def read(shown: str, too_long: bool = False) -> Reading:
    """What a visible text claims, whatever is true."""
    found = words(shown)
    stage = scenes(found, clauses(found), *mentions(found, vocabulary()))
    unread = tricks.orders(stage)
    listed = tricks.rows(stage)
    heard = [scene for scene in stage if scene.clause.sentence not in unread]
    for scene in heard:
        scene.contents = [content for content in scene.contents if content.first not in listed]
    met = [("orders", bool(unread)), ("list", bool(listed)), ("too long", too_long)]
    return weigh(claims(heard, shown), heard, tuple(name for name, true in met if true))


def _points(verdict: str, reading: Reading, truth: Truth) -> int:
    if verdict not in ("correct", "partial"):
        return 0
    helps = any(name in truth.remedies for name in reading.remedies)
    return 1 + (truth.limiter in reading.limiters) + helps


def _quoted(claim: Claim) -> Quote:
    return Quote(claim.kind, claim.name, claim.stance, claim.quote, claim.start, claim.end)


def _evidence(shown: str, checked: list[Sum]) -> list[Quote]:
    """Figures with their units, and sums, as they were written."""
    found = [("figure", match[0], match.start(), match.end()) for match in FIGURE.finditer(shown)]
    found += [(_judged(one), one.quote, one.start, one.end) for one in checked]
    return [Quote("evidence", name, "asserted", *rest) for name, *rest in found]


def _judged(one: Sum) -> str:
    return "sum that is right" if one.right else "sum that is wrong"
