"""Finds what an answer mentions: phases, limiters, remedies, and the small words that steer them.

A mention is not yet a claim: "it is not prefill" mentions prefill. Of mentions that overlap, the
one over more words counts: "speculative decoding" is a remedy and names no phase.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

from .vocabulary import Frame, Pattern, Vocabulary
from .words import Word

ENDS_FRAME = (".", "?", ":", "->", "and", "but", "und", "aber", "et", "mais", "pero", "y")
LONGEST_STRETCH = 60  # words; without a bound, time would grow with their square


class Mention(NamedTuple):
    """`kind` is "phase", "resource", "limiter", "remedy", "weak", "noise", or a cue's name.

    `first` and `last` are places of words in the answer, both included.
    """

    kind: str
    name: str
    first: int
    last: int
    weight: int = 1  # words matched, without those between them
    loose: bool = False  # other words stand between its own
    framed: bool = False  # found by a frame

    @property
    def length(self) -> int:
        return self.last - self.first + 1

    def overlaps(self, other: Mention) -> bool:
        return self.first <= other.last and other.first <= self.last


def mentions(words: list[Word], vocabulary: Vocabulary) -> tuple[list[Mention], list[Mention]]:
    """Contents and cues, each in order of their first word. Takes linear time."""
    meanings = [vocabulary.elements_of(word.text) for word in words] + [frozenset()]
    marks = [word.is_mark for word in words] + [True]
    contents: set[Mention] = set()
    cues: list[Mention] = []
    for first in range(len(words)):
        following = meanings[first + 1]
        for pattern in vocabulary.starting(words[first].text):
            if pattern.next is not None and pattern.next not in following:
                continue  # most patterns end here
            last = _match(pattern, meanings, marks, first) if pattern.rest else first
            if last is not None:
                loose = last - first > len(pattern.rest) and not pattern.denies
                weight = len(pattern.rest) + 1
                mention = Mention(pattern.kind, pattern.name, first, last, weight, loose)
                (contents.add if pattern.group == "content" else cues.append)(mention)
    contents.update(_framed(words, meanings, vocabulary.frames))
    cues.sort(key=itemgetter(2, 3, 0))  # first, last, kind
    return _longest(contents), cues


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


def _framed(
    words: list[Word], meanings: list[frozenset[int]], frames: list[Frame]
) -> Iterator[Mention]:
    """Mentions by frames. A stretch ends with a mark other than a comma or a parenthesis."""
    first = 0
    for end in range(len(words) + 1):
        if end == len(words) or words[end].text in ENDS_FRAME or end - first >= LONGEST_STRETCH:
            met = set().union(*meanings[first:end])
            for frame in frames if end - first > 1 else ():
                if met.issuperset(frame.roles) and met.isdisjoint(frame.without):
                    yield from _windows(frame, words, meanings, first, end)
            first = end + 1


def _windows(
    frame: Frame, words: list[Word], meanings: list[frozenset[int]], first: int, end: int
) -> Iterator[Mention]:
    """From each word of the first role to the nearest of the others; only limiters cross commas."""
    head, *others = [
        [place for place in range(first, end) if role in meanings[place]] for role in frame.roles
    ]
    for place in head:
        near = [place, *(min(found, key=lambda p: abs(p - place)) for found in others)]
        span = min(near), max(near)
        if span[1] - span[0] > frame.width or len(set(near)) < len(near):
            continue
        if frame.kind == "limiter" or not any(words[place].is_mark for place in range(*span)):
            weight = len(frame.roles)
            yield Mention(frame.kind, frame.name, *span, weight, not frame.denies, True)


def _longest(found: set[Mention]) -> list[Mention]:
    """Contents without those that a longer one of a rival kind covers, or an equal one before."""
    taken: list[Mention] = []
    spans: dict[tuple[int, int], int] = {}  # and how many words were matched there
    used: dict[str, set[int]] = {"where": set(), "why": set()}
    ranked = sorted(found, key=_rank)
    for mention in ranked:
        places = range(mention.first, mention.last + 1)
        span = (mention.first, mention.last)
        layers = [used[layer] for layer in _layers(mention)]
        if spans.get(span) == mention.weight or all(layer.isdisjoint(places) for layer in layers):
            taken.append(mention)
            spans[span] = mention.weight
            for layer in layers:
                layer.update(places)
    return sorted(taken, key=lambda m: (m.first, m.kind, m.name))


def _rank(mention: Mention) -> tuple:
    """More words matched first, then more words spanned; resources last."""
    kind, name, first, *_ = mention
    return -mention.weight, -mention.length, kind == "resource", first, kind, name


def _layers(mention: Mention) -> tuple[str, ...]:
    """A phase and a limiter may share words ("reading each token's weights"); others may not."""
    if mention.kind in ("resource", "limiter"):
        return ("why",)
    if mention.kind == "phase" and mention.name != "load":
        return ("where",)
    return ("where", "why")
