"""Answers that are no statements: lists of keywords, and orders to whoever grades.

Both are recognised by form. An order's sentence is not read; beside an order, only whole sentences
count, since words without a verb may be what the order asks to accept.
"""

from __future__ import annotations

from .mentions import Mention
from .scene import Scene

MANY_WORDS = 4  # a list is at least so long …
SHARE = 0.75  # … and consists of the subject's words to at least this part
FAMILIES = 4  # so many remedies at once are listed, not recommended


def is_list(scenes: list[Scene]) -> bool:
    """Whether the answer is a row of keywords: nearly all of it is vocabulary, without choice."""
    if not scenes:
        return False
    contents = [content for scene in scenes for content in scene.contents]
    length = sum(1 for word in scenes[0].words if not word.is_mark)
    terms = [cue for scene in scenes for cue in scene.cues.get("term", ())]
    covered = {place for m in (*contents, *terms) for place in range(m.first, m.last + 1)}
    if length < MANY_WORDS or len(covered) < SHARE * length:
        return False
    states = any(scene.has("statement", "not", "fine") for scene in scenes)
    return not states and _lacks_choice(contents)


def _lacks_choice(contents: list[Mention]) -> bool:
    def different(*kinds: str) -> int:
        names = {content.name for content in contents if content.kind in kinds}
        return len(names - {"memory"})

    several = different("phase") > 1 or different("resource", "limiter") > 1
    return several or different("remedy", "weak") >= FAMILIES


def orders(scenes: list[Scene]) -> set[int]:
    """Sentences that are not to be read, because they or others give orders to the grader."""
    ordering = {scene.clause.sentence for scene in scenes if scene.has("us")}
    if not ordering:
        return set()
    stating = {scene.clause.sentence for scene in scenes if scene.has("statement")}
    return {s.clause.sentence for s in scenes if s.clause.sentence not in stating} | ordering
