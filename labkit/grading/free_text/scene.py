"""One clause with what was found in it, and the questions that the reading of claims asks of it.

A scene knows which small words stand where: it decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from .clauses import Clause
from .mentions import Mention
from .words import Word

REACH = 7  # words over which a "not" or a "fine" is heard


@dataclass
class Scene:
    """A clause, its contents and its cues, and its neighbours in the answer."""

    clause: Clause
    words: list[Word]
    contents: list[Mention] = field(default_factory=list)
    cues: dict[str, list[Mention]] = field(default_factory=dict)
    before: Scene | None = None
    after: Scene | None = None
    segment: Segment | None = None
    negated: dict[Mention, bool] = field(default_factory=dict)  # answers found before

    def has(self, *kinds: str) -> bool:
        return any(self.cues.get(kind) for kind in kinds)

    def left(self, kind: str, place: int, reach: int = 99) -> Mention | None:
        """The nearest cue of that kind that ends before `place`."""
        found = None
        for cue in self.cues.get(kind, ()):
            if cue.last < place and place - cue.last <= reach:
                found = cue
        return found

    def right(self, kind: str, place: int, reach: int = 99) -> Mention | None:
        """The nearest cue of that kind that begins after `place`."""
        for cue in self.cues.get(kind, ()):
            if cue.first > place and cue.first - place <= reach:
                return cue
        return None

    def between(self, first: int, last: int, *kinds: str) -> Mention | None:
        """The first content of those kinds (of any, if none given) strictly between two places."""
        for content in self.contents:
            wanted = content.kind in kinds if kinds else content.kind != "noise"
            if wanted and first < content.first and content.last < last:
                return content
        return None

    def inside(self, content: Mention, *kinds: str) -> bool:
        """Whether one of those cues stands among the words of a content found by a frame.

        "Can't" says what is lacking: it denies nothing.
        """
        found = [cue for kind in kinds for cue in self.cues.get(kind, ()) if content.overlaps(cue)]
        return any(self.text(cue.first - 1) not in ("can", "could") for cue in found)

    def not_between(self, first: int, last: int) -> bool:
        """Whether a "not" begins strictly between two places."""
        return any(first < cue.first < last for cue in self.cues.get("not", ()))

    def text(self, place: int) -> str:
        inside = self.clause.first <= place < self.clause.end
        return self.words[place].text if inside else ""

    @property
    def inverted(self) -> bool:
        """Whether it begins like "had it taken longer", perhaps after a conjunction."""
        first = self.clause.first
        joined = self.text(first) == self.clause.opener
        asks = self.clause.asks or not self.segment.would
        return self.text(first + joined) in (("were", "had") if asks else ("were", "had", "should"))

    @cached_property
    def has_digits(self) -> bool:
        places = range(self.clause.first, self.clause.end)
        return any(self.words[place].text[0].isdigit() for place in places)

    def only(self, *texts: str) -> bool:
        """Whether it has no other words than these."""
        places = range(self.clause.first, self.clause.end)
        return all(self.words[place].text in texts for place in places)

    def others(self, mention: Mention) -> int:
        """How many words the clause has besides the mention and its conjunction."""
        joined = self.text(self.clause.first) == self.clause.opener
        return self.clause.length - mention.length - joined

    def previous(self) -> Scene | None:
        """The clause before, if it belongs to the same sentence."""
        same = self.before and self.before.clause.sentence == self.clause.sentence
        return self.before if same else None

    def following(self) -> Scene | None:
        """The clause after, if it belongs to the same sentence."""
        same = self.after and self.after.clause.sentence == self.clause.sentence
        return self.after if same else None


@dataclass
class Segment:
    """The scenes up to where the writer turns round, and what holds for all of them."""

    scenes: list[Scene] = field(default_factory=list)

    def all(self, kind: str) -> list[Mention]:
        return [cue for scene in self.scenes for cue in scene.cues.get(kind, ())]

    @cached_property
    def reports(self) -> list[Mention]:
        """Where others are quoted, unless the writer agrees."""
        if self.all("agree"):
            return []
        return [
            cue
            for scene in self.scenes
            for cue in scene.cues.get("report", ())
            if not scene.not_between(cue.first, cue.last)
        ]

    @cached_property
    def wonders(self) -> list[Mention]:
        return self.all("wonder")

    @cached_property
    def would(self) -> bool:
        return bool(self.all("would"))

    @cached_property
    def condition(self) -> Scene | None:
        """The scene with "if", or with an inversion: "were the first token slow, …"."""
        return next((s for s in self.scenes if s.has("if") or s.inverted), None)


def scenes(
    words: list[Word], parts: list[Clause], contents: list[Mention], cues: list[Mention]
) -> list[Scene]:
    """One scene for each clause. A "not" that belongs to a longer expression is left out."""
    made = [Scene(clause, words) for clause in parts]
    segments = {clause.segment: Segment() for clause in parts}
    home: dict[int, Scene] = {}
    for before, scene in zip([None, *made], made, strict=False):
        scene.before, scene.segment = before, segments[scene.clause.segment]
        scene.segment.scenes.append(scene)
        if before:
            before.after = scene
        home.update(dict.fromkeys(range(scene.clause.first, scene.clause.end), scene))
    for content in contents:
        if content.first in home:  # what stands in a tag ("isn't it?") has no clause
            home[content.first].contents.append(content)
    for cue in _heard(contents, cues):
        if cue.first in home:
            home[cue.first].cues.setdefault(cue.kind, []).append(cue)
    return made


def _heard(contents: list[Mention], cues: list[Mention]) -> list[Mention]:
    """The cues without words that mean something else in a longer expression.

    "Not enough", "no doubt", "don't unload" deny nothing; "not what's wrong" names no trouble.
    """
    longer = [
        cue for cue in cues if cue.kind in ("spare", "short", "fine", "retract") and cue.length > 1
    ]
    inside = [c for c in contents if c.kind != "noise" and not c.loose]
    used = {
        "not": {place for m in (*longer, *inside) for place in range(m.first, m.last + 1)},
        "fast": {
            p for m in longer if m.kind in ("short", "spare") for p in range(m.first, m.last + 1)
        },
        "slow": {p for m in longer if m.kind == "fine" for p in range(m.first, m.last + 1)},
    }
    used["if"] = used["would"] = {
        place for m in longer if m.kind == "spare" for place in range(m.first, m.last + 1)
    }
    return [cue for cue in cues if cue.first not in used.get(cue.kind, ()) or cue.length > 2]
