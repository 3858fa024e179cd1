"""Answers that are no statements: rows of keywords, and orders to whoever grades.

Both are recognised by form. Keywords in a row are not read. Neither is the sentence of an order;
and beside an order only whole sentences count, since words without a verb may be what it asks to
accept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from .mentions import Mention
from .scene import Scene
from .words import Word

MANY_WORDS = 4  # a row is at least so long …
BESIDE_OTHERS = 6  # or so long, where other words stand in the same sentence
SHARE = 0.75  # … and consists of the subject's words to at least this part
LABELS = ("phase", "limiter", "remedy", "and")
IDLE = 2  # words of the subject that claim nothing ("TTFT", "tokens"): a row with these is a list
MANY_NAMES = 6  # in one sentence without a verb; two more in several
FAMILIES = 4  # so many remedies at once are listed, not recommended


def rows(scenes: list[Scene]) -> set[int]:
    """Places of words that stand in rows of keywords: nearly all vocabulary, without a choice."""
    if not scenes:
        return set()
    contents = [one for scene in scenes for one in scene.contents if not one.framed]
    idle = _idle(scenes)
    listed: set[int] = set()
    for row in _runs(scenes, contents):
        inside = [content for content in contents if row[0] <= content.first <= row[-1]]
        one = all(scenes[0].words[place].text != "." for place in range(row[0], row[-1]))
        kinds = {content.kind.replace("weak", "remedy") for content in inside}
        padded = {"phase", "remedy"} <= kinds and len(idle.intersection(row)) >= IDLE
        if padded or _lacks_choice(inside, one):
            listed.update(row)
    return listed


def _idle(scenes: list[Scene]) -> set[int]:
    """Places of words of the subject that claim nothing and are no labels."""
    claimed = [c for scene in scenes for c in scene.contents if c.kind != "noise"]
    places = _places(_cues(scenes, "term")) - _places(claimed)
    return {place for place in places if scenes[0].words[place].text not in LABELS}


def _runs(scenes: list[Scene], contents: list[Mention]) -> Iterator[list[int]]:
    """Runs of words, across marks, that state nothing and are vocabulary.

    In a run that makes up whole sentences a quarter may be other words; in one beside other words,
    none, and it must be longer.
    """
    terms = _places([*contents, *_cues(scenes, "term")])
    stating = _places(_cues(scenes, "statement"))
    choosing = _places(_cues(scenes, "not", "fine"))
    run: list[int] = []
    for place in [*_word_places(scenes), -1]:
        goes_on = place in terms or (run and run[-1] in terms)  # one strange word is let pass
        if place >= 0 and place not in stating and goes_on:
            run.append(place)
            continue
        while run and run[-1] not in terms:
            run.pop()
        if _is_row(run, terms, scenes[0].words) and choosing.isdisjoint([run[0] - 1, *run]):
            yield run
        run = []


def _is_row(run: list[int], terms: set[int], words: list[Word]) -> bool:
    if not run:
        return False
    whole = _ends(words, run[0] - 1, -1) and _ends(words, run[-1] + 1, 1)
    enough, share = (MANY_WORDS, SHARE) if whole else (BESIDE_OTHERS, 1.0)
    return len(run) >= enough and sum(one in terms for one in run) >= share * len(run)


def _ends(words: list[Word], place: int, step: int) -> bool:
    """Whether a sentence ends there, or the text: no word comes before that."""
    while 0 <= place < len(words) and words[place].is_mark:
        if words[place].text in (".", "?"):
            return True
        place += step
    return not 0 <= place < len(words)


def _word_places(scenes: list[Scene]) -> list[int]:
    inside = (place for s in scenes for place in range(s.clause.first, s.clause.end))
    return [place for place in inside if not scenes[0].words[place].is_mark]


def _cues(scenes: list[Scene], *kinds: str) -> list[Mention]:
    return [cue for scene in scenes for kind in kinds for cue in scene.cues.get(kind, ())]


def _places(mentions: list[Mention]) -> set[int]:
    return {place for m in mentions for place in range(m.first, m.last + 1)}


def _lacks_choice(contents: list[Mention], one_sentence: bool) -> bool:
    """Whether all is named; a sentence with a phase and a limiter needs fewer remedies for that."""

    def different(*kinds: str) -> int:
        names = {content.name for content in contents if content.kind in kinds}
        return len(names - {"memory"})

    times = Counter((content.kind, content.name) for content in contents).values()
    again = len(times) > 1 and min(times) > 1
    phases, limiters = different("phase"), different("resource", "limiter")
    enough = FAMILIES - bool(phases and limiters and one_sentence)
    again |= len(contents) >= (MANY_NAMES if one_sentence else MANY_NAMES + 2)
    return again or phases > 1 or limiters > 1 or different("remedy", "weak") >= enough


def orders(scenes: list[Scene]) -> set[int]:
    """Sentences that are not to be read, because they or others give orders to the grader."""
    ordering = {scene.clause.sentence for scene in scenes if scene.has("us")}
    if not ordering:
        return set()
    stating = {scene.clause.sentence for scene in scenes if scene.has("statement")}
    return {s.clause.sentence for s in scenes if s.clause.sentence not in stating} | ordering
