"""The table of words, `data/answer_words.json`, made ready for matching.

A pattern is a run of elements separated by spaces: `word`, `a|b` (either), `word*` (beginning so),
`{SET}` (one of the table's sets), each with a final `?` where it may be missing; `~3` before an
element lets up to three other words stand between. A frame is elements joined by `&`: words in any
order, at most twelve apart (`~8` in front: eight); one after `!` must not be near. Words of five
letters or more are also found with a letter wrong, missing, doubled or swapped; of ten or more,
with two.

What a match means is not known here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import chain

from ...catalog import DATA
from .words import fold

SHORTEST_TYPO = 5  # letters of the word that was meant; shorter ones are too near to each other
MEMORY = 20_000  # words looked up that are kept; learners' typos must not fill the memory
WIDTH = 12  # words that a frame may span
LONG = 10  # letters from which two slips are forgiven


@dataclass(frozen=True)
class Pattern:
    """`rest` are the elements after the first as numbers, each after the gap allowed before it."""

    group: str  # "content" or "cues"
    kind: str
    name: str
    first: int
    rest: tuple[tuple[int, int], ...]
    next: int | None = None  # the second element, where no word may stand before it
    denies: bool = False  # a "not" is one of its elements


@dataclass(frozen=True)
class Frame:
    """What can be said in any order, as "read the weights for each token" can in every language.

    `roles` are elements that must all be met, by different words no further than `width` apart;
    none of `without` may be met in the same stretch. `denies` if a "not" is one of the roles.
    """

    kind: str
    name: str
    roles: tuple[int, ...]
    without: tuple[int, ...]
    width: int
    denies: bool


@dataclass
class Vocabulary:
    """All patterns by their first element, all frames, and which elements a word satisfies."""

    patterns: dict[int, list[Pattern]] = field(default_factory=dict)
    frames: list[Frame] = field(default_factory=list)
    literals: dict[str, set[int]] = field(default_factory=dict)
    prefixes: dict[str, set[int]] = field(default_factory=dict)
    near: dict[str, set[str]] = field(default_factory=dict)  # spelling with letters left out
    known: dict[str, frozenset[int]] = field(default_factory=dict)  # words looked up before
    begun: dict[str, list[Pattern]] = field(default_factory=dict)  # patterns looked up before
    grammar: dict[str, frozenset[str]] = field(default_factory=dict)  # words that split or join

    def starting(self, word: str) -> list[Pattern]:
        """The patterns that can begin with the word."""
        if word not in self.begun:
            if len(self.begun) > MEMORY:
                self.begun.clear()
            meanings = self.elements_of(word)
            self.begun[word] = [one for each in meanings for one in self.patterns.get(each, ())]
        return self.begun[word]

    def elements_of(self, word: str) -> frozenset[int]:
        """The elements that the word satisfies, itself or as the nearest word of the table."""
        if word not in self.known:
            if len(self.known) > MEMORY:
                self.known.clear()
            self.known[word] = self._exact(word)
            if word not in self.literals:
                self.known[word] |= self._mistyped(word)
        return self.known[word]

    def _exact(self, word: str) -> frozenset[int]:
        found = set(self.literals.get(word, ()))
        for length in range(2, len(word) + 1):
            found |= self.prefixes.get(word[:length], set())
        return frozenset(found)

    def _mistyped(self, word: str) -> frozenset[int]:
        if not SHORTEST_TYPO <= len(word) + 1 <= 25 or not word.isalpha():
            return frozenset()
        candidates = {near for cut in _cuts(word) for near in self.near.get(cut, ())}
        distance = {near: slips(word, near) for near in candidates}
        least = min(distance.values(), default=LONG)
        nearest = [near for near in candidates if distance[near] == least <= _allowed(near)]
        return frozenset().union(*map(self._exact, nearest))


def slips(one: str, other: str) -> int:
    """Damerau's distance: letters to change, insert, leave out, or swap with their neighbour.

    >>> slips("wieghts", "weights"), slips("bandwith", "bandwidth"), slips("teh", "the")
    (1, 1, 1)
    """
    before, row = [], list(range(len(other) + 1))
    for i, a in enumerate(one, start=1):
        last, before, row = before, row, [i]
        for j, b in enumerate(other, start=1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                best = min(best, last[j - 2] + 1)
            row.append(best)
    return row[-1]


def _allowed(word: str) -> int:
    return 2 if len(word) >= LONG else 1


def _cuts(word: str) -> set[str]:
    """The word, and what is left of it without one letter; without two where it is long."""
    once = {word[:i] + word[i + 1 :] for i in range(len(word))}
    if len(word) < LONG - 1:
        return {word} | once
    return {word} | once | {cut[:i] + cut[i + 1 :] for cut in once for i in range(len(cut))}


# ---- reading the table ---------------------------------------------------------------------------


@cache
def vocabulary() -> Vocabulary:
    """The table, read once. Raises ValueError where a pattern names an unknown set."""
    table = json.loads((DATA / "answer_words.json").read_text(encoding="utf-8"))
    made, numbers = Vocabulary(), {}
    made.grammar = {name: frozenset(line.split()) for name, line in table["grammar"].items()}
    for group in ("content", "cues"):
        for title, lines in table[group].items():
            kind, _, name = title.partition(":")
            framed = [line for line in lines if " & " in line]
            made.frames += [_frame(kind, name, one, table["sets"], numbers) for one in framed]
            plain = (_parse(line, table["sets"]) for line in lines if line not in framed)
            for elements in chain.from_iterable(plain):
                (_, first), *rest = _number(elements, numbers)
                denies = any("not" in options.split("|") for _, options in elements)
                following = rest[0][1] if rest and not rest[0][0] else None
                pattern = Pattern(group, kind, name or kind, first, tuple(rest), following, denies)
                made.patterns.setdefault(first, []).append(pattern)
    for options, number in numbers.items():
        for option in options.split("|"):
            _index(made, option, number)
    _index_typos(made)
    for word in table["plain"].split():
        made.literals.setdefault(word, set())
        made.known[word] = made._exact(word)
    return made


def grammar(name: str) -> frozenset[str]:
    """The table's words of that name: "turns", "joins", "or", "verbs" or "small"."""
    return vocabulary().grammar[name]


def _parse(line: str, sets: dict[str, str]) -> Iterator[list[tuple[int, str]]]:
    """The elements of one pattern as (gap, "a|b*"); more than one list where some are optional."""
    readings: list[list[tuple[int, str]]] = [[]]
    gap = 0
    for part in line.split():
        if part[0] == "~":
            gap = int(part[1:])
            continue
        options = "|".join(_options(option, sets, line) for option in part.rstrip("?").split("|"))
        longer = [[*reading, (gap, options)] for reading in readings]
        readings = longer + (readings if part.endswith("?") else [])
        gap = 0
    yield from (reading for reading in readings if reading)


def _frame(kind: str, name: str, line: str, sets: dict[str, str], numbers: dict[str, int]) -> Frame:
    width, _, rest = line.partition(" ") if line[0] == "~" else (f"~{WIDTH}", "", line)
    met: dict[bool, list[int]] = {True: [], False: []}
    denies = False
    for part in rest.split(" & "):
        options = "|".join(_options(one, sets, line) for one in part.lstrip("!").split("|"))
        met[part[0] != "!"].append(numbers.setdefault(options, len(numbers)))
        denies |= part[0] != "!" and "not" in options.split("|")
    return Frame(kind, name, tuple(met[True]), tuple(met[False]), int(width[1:]), denies)


def _options(option: str, sets: dict[str, str], line: str) -> str:
    if option[0] != "{":
        return option
    if option[1:-1] not in sets:
        raise ValueError(f"answer_words.json: {line!r} names a set that isn't there: {option}")
    return "|".join(sets[option[1:-1]].split())


def _number(elements: list[tuple[int, str]], numbers: dict[str, int]) -> list[tuple[int, int]]:
    return [(gap, numbers.setdefault(options, len(numbers))) for gap, options in elements]


def _index(made: Vocabulary, option: str, number: int) -> None:
    table = made.prefixes if option.endswith("*") else made.literals
    table.setdefault(fold(option.rstrip("*")), set()).add(number)


def _index_typos(made: Vocabulary) -> None:
    for word in {*made.literals, *made.prefixes}:
        if len(word) >= SHORTEST_TYPO and word.isalpha():
            for cut in _cuts(word):
                made.near.setdefault(cut, set()).add(word)
