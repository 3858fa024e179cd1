"""Splits an answer into sentences, those into segments, and those into clauses.

A clause is what one "not" can reach. A segment ends where the writer turns round ("but", ";"): what
was supposed or quoted before holds no longer. Splitting is by marks and conjunctions alone; there
is no grammar here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .words import MARKS, Word

TURNS = frozenset(
    "but however though although yet whereas instead nevertheless aber jedoch sondern mais "
    "cependant pourtant pero sino embargo porem contudo".split()
)
JOINS = frozenset(
    "and or nor because since so therefore hence thus while which who as when then except "
    "und oder weil denn da wahrend deshalb daher also et ou car parce puisque donc alors tandis "
    "y o porque ya mientras e pois enquanto portanto".split()
)
HAN_TURNS = ("但 是", "但", "而 不 是", "不 过", "却")
HAN_JOINS = ("因 为", "所 以", "因 此", "而 且", "并 且")
VERBS = frozenset(
    "is are was were looks look seems seem takes took has have needs runs dominates does isn "
    "ist sind est sont es son e sao 是".split()
)


@dataclass(frozen=True, slots=True)
class Clause:
    """Words `first` to `end` (excluded). `opener` is the mark before it or its conjunction."""

    first: int
    end: int
    opener: str
    sentence: int
    segment: int
    asks: bool = False  # its sentence ends with a question mark

    @property
    def length(self) -> int:
        return self.end - self.first


def clauses(words: list[Word]) -> list[Clause]:
    """All clauses in order; none is empty."""
    found: list[Clause] = []
    sentence = segment = first = 0
    opener = "."
    for place in range(len(words) + 1):
        text = words[place].text if place < len(words) else "."
        cut = _cut(words, place, text)
        if cut is None:
            continue
        if place > first:
            _append(found, Clause(first, place, opener, sentence, segment), words)
        first, opener = place + (text in MARKS), text
        segment += cut in ("sentence", "turn")
        if cut == "sentence":
            _mark_asking(found, sentence, text == "?")
            sentence += 1
    return found


def _append(found: list[Clause], clause: Clause, words: list[Word]) -> None:
    """Adds the clause; one that begins with a verb goes on with the one before: "it (…) is fine"."""
    while found and clause.opener in (",", "(") and words[clause.first].text in VERBS:
        before = found[-1]
        if before.sentence != clause.sentence:
            break
        clause = replace(before, end=clause.end)
        found.pop()
        if clause.opener != "(" or not found:
            break
        clause = replace(found.pop(), end=clause.end)
        break
    found.append(clause)


def _mark_asking(found: list[Clause], sentence: int, asks: bool) -> None:
    for place in range(len(found) - 1, -1, -1):
        if found[place].sentence != sentence:
            return
        found[place] = replace(found[place], asks=asks)


def _cut(words: list[Word], place: int, text: str) -> str | None:
    """What ends before this word: a "sentence", a segment ("turn"), a "clause", or nothing."""
    if text in (".", "?"):
        return "sentence"
    if text in MARKS:
        return "clause"
    following = words[place + 1].text if place + 1 < len(words) else ""
    if text in TURNS:
        return None if following in ("of", "rapida", "rapido") else "turn"
    if text in JOINS:
        return None if following in ("of", "to", "que") and text != "and" else "clause"
    if "\u3400" <= text <= "\u9fff":
        ahead = " ".join(word.text for word in words[place : place + 3])
        if ahead.startswith(HAN_TURNS):
            return "turn"
        if ahead.startswith(HAN_JOINS):
            return "clause"
    return None
