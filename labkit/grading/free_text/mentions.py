"""Finds what an answer mentions: phases, limiters, remedies, and the small words that steer them.

A mention is not yet a claim: "it is not prefill" mentions prefill. Of mentions that overlap, the
one over more words counts: "speculative decoding" is a remedy and names no phase.
"""

from __future__ import annotations

from dataclasses import dataclass

from .vocabulary import Pattern, Vocabulary
from .words import Word


@dataclass(frozen=True, slots=True)
class Mention:
    """`kind` is "phase", "resource", "limiter", "remedy", "weak", "noise", or a cue's name.

    `first` and `last` are places of words in the answer, both included.
    """

    kind: str
    name: str
    first: int
    last: int

    @property
    def length(self) -> int:
        return self.last - self.first + 1

    def overlaps(self, other: Mention) -> bool:
        return self.first <= other.last and other.first <= self.last


def mentions(words: list[Word], vocabulary: Vocabulary) -> tuple[list[Mention], list[Mention]]:
    """Contents and cues, each in order of their first word. Takes linear time."""
    meanings = [vocabulary.elements_of(word.text) for word in words] + [frozenset()]
    marks = [word.is_mark for word in words] + [True]
    found: dict[str, set[Mention]] = {"content": set(), "cues": set()}
    for first in range(len(words)):
        for element in meanings[first]:
            for pattern in vocabulary.patterns.get(element, ()):
                last = _match(pattern, meanings, marks, first)
                if last is not None:
                    mention = Mention(pattern.kind, pattern.name, first, last)
                    found[pattern.group].add(mention)
    cues = sorted(found["cues"], key=lambda m: (m.first, m.last, m.kind))
    return _longest(found["content"]), cues


def _match(
    pattern: Pattern, meanings: list[frozenset[int]], marks: list[bool], first: int
) -> int | None:
    """Where the pattern ends if it begins at `first`, or None. Gaps don't cross marks."""
    at = first
    for gap, element in pattern.rest:
        nearest = at + 1
        while element not in meanings[nearest]:
            if marks[nearest] or nearest > at + gap:
                return None
            nearest += 1
        at = nearest
    return at


def _longest(found: set[Mention]) -> list[Mention]:
    """Contents without those that a longer one of a rival kind covers, or an equal one before."""
    taken: list[Mention] = []
    spans: set[tuple[int, int]] = set()
    used: dict[str, set[int]] = {"where": set(), "why": set()}
    ranked = sorted(found, key=lambda m: (-m.length, m.kind == "resource", m.first, m.kind, m.name))
    for mention in ranked:
        places = range(mention.first, mention.last + 1)
        span = (mention.first, mention.last)
        layers = [used[layer] for layer in _layers(mention)]
        if span in spans or all(layer.isdisjoint(places) for layer in layers):
            taken.append(mention)
            spans.add(span)
            for layer in layers:
                layer.update(places)
    return sorted(taken, key=lambda m: (m.first, m.kind, m.name))


def _layers(mention: Mention) -> tuple[str, ...]:
    """A phase and a limiter may share words ("reading each token's weights"); others may not."""
    if mention.kind in ("resource", "limiter"):
        return ("why",)
    if mention.kind == "phase" and mention.name != "load":
        return ("where",)
    return ("where", "why")
