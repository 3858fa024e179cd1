"""Splits an answer into sentences, those into segments, and those into clauses.

A clause is what one "not" can reach. A segment ends where the writer turns round ("but", ";"): what
was supposed or quoted before holds no longer. Splitting is by marks and conjunctions alone; there
is no grammar here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .vocabulary import grammar
from .words import MARKS, Word

# Nobody writes longer ones on purpose; without a bound, time would grow with their square.
LONGEST_CLAUSE = 40  # words
LONGEST_SENTENCE = 24  # clauses
PRONOUNS = ("it", "they", "that", "this")
HAN_TURNS = ("但 是", "但", "而 不 是", "不 过", "却")
HAN_JOINS = ("因 为", "所 以", "因 此", "而 且", "并 且")


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
    sentence = segment = first = parts = 0
    opener = "."
    for place in range(len(words) + 1):
        text = words[place].text if place < len(words) else "."
        cut = _cut(words, place, text) or ("clause" if place - first >= LONGEST_CLAUSE else None)
        if cut is None:
            continue
        tag = parts > 0 and _is_tag(words[first:place], text)
        if place > first and not tag:
            _append(found, Clause(first, place, opener, sentence, segment), words)
            parts += 1
        first, opener = place + (text in MARKS), text
        ends = cut == "sentence" or parts >= LONGEST_SENTENCE
        segment += ends or cut == "turn"
        if ends:
            if text == "?" and not tag:
                _mark_asking(found, sentence)
            sentence, parts = sentence + 1, 0
    return found


def _append(found: list[Clause], clause: Clause, words: list[Word]) -> None:
    """Adds the clause. One that begins with a verb goes on with the one before a parenthesis."""
    verb = words[clause.first].text in grammar("verbs")
    if verb and clause.opener == "," and found and found[-1].sentence == clause.sentence:
        aside = found[-1].opener == "(" and len(found) > 1
        clause = replace(found[-2] if aside else found[-1], end=clause.end)
        del found[-2 if aside else -1 :]
    found.append(clause)


def _is_tag(words: list[Word], text: str) -> bool:
    """Whether it is a last clause like "isn't it?", which asks and denies nothing."""
    last = [word.text for word in words]
    return text == "?" and len(last) == 3 and last[1] == "not" and last[2] in PRONOUNS


def _mark_asking(found: list[Clause], sentence: int) -> None:
    for place in range(len(found) - 1, -1, -1):
        if found[place].sentence != sentence:
            return
        found[place] = replace(found[place], asks=True)


def _is_article(words: list[Word], place: int) -> bool:
    """Portuguese "o" and "da" are articles but where Spanish "or" and German "since" can stand."""
    before = words[place - 1] if place else None
    if words[place].text == "da":
        return before is not None and not before.is_mark
    return before is None or before.is_mark or before.text == "est"


def _cut(words: list[Word], place: int, text: str) -> str | None:
    """What ends before this word: a "sentence", a segment ("turn"), a "clause", or nothing."""
    if text in (".", "?"):
        return "sentence"
    if text in MARKS:
        return "clause"
    following = words[place + 1].text if place + 1 < len(words) else ""
    if text in grammar("turns"):
        return None if following in ("of", "rapida", "rapido") else "turn"
    if text == "cause" and following in ("it", "the", "we", "they", "there", "this", "that"):
        return "clause"
    if text in grammar("joins"):
        if text in ("o", "da") and _is_article(words, place):
            return None
        whole = ("every",) if text == "and" else ("of", "to", "que")  # "each and every"
        return None if following in whole else "clause"
    if "\u3400" <= text <= "\u9fff":
        ahead = " ".join(word.text for word in words[place : place + 3])
        if ahead.startswith(HAN_TURNS):
            return "turn"
        if ahead.startswith(HAN_JOINS):
            return "clause"
    return None
