"""In whose voice something is said: only what the learner states can be a claim.

Not stated is what is asked, what is supposed ("if", "would"), and what others are quoted as saying.
"""

from __future__ import annotations

from .mentions import Mention
from .scene import REACH, Scene

REASONS = {"since", "because", "as", "weil", "denn", "car", "porque", "因 为"}
CAUSES = ("phase", "resource", "limiter", "noise")


def unsaid(content: Mention, scene: Scene) -> bool:
    """Whether it is asked, supposed, quoted, or wondered about."""
    return (
        asked(content, scene)
        or _supposed(content, scene)
        or reported(content, scene)
        or any(wonder.first <= content.first for wonder in scene.segment.wonders)
    )


def asked(content: Mention, scene: Scene) -> bool:
    """A question claims nothing; "it's decode, right?" and "probably decode?" do."""
    if (scene.has("suggest") and content.kind in ("remedy", "weak")) or _affirmed(scene):
        return False
    first = scene
    while first.previous():
        first = first.previous()
    start = first.clause.first
    opens = any(cue.first == start for cue in first.cues.get("ask", ()))
    if scene.clause.asks:
        own = any(cue.first == scene.clause.first for cue in scene.cues.get("ask", ()))
        joined = scene.text(scene.clause.first) == scene.clause.opener
        after_join = joined and any(
            cue.first == scene.clause.first + 1 for cue in scene.cues.get("ask", ())
        )
        fragment = not scene.has("is", "maybe") and first is scene and scene.clause.length <= 4
        return opens or own or after_join or fragment
    return (
        opens
        and first.text(start + 1) in ("it", "this", "that", "the")
        and first.text(start) in ("is", "does", "would", "could", "are")
    )


def _affirmed(scene: Scene) -> bool:
    """Whether the sentence after the question begins with a yes."""
    after = scene.after
    while after and after.clause.sentence == scene.clause.sentence:
        after = after.after
    yes = after.cues.get("yes") if after else None
    return bool(yes) and yes[0].first - after.clause.first <= 2


def conceded(scene: Scene) -> bool:
    """Whether it is granted before the point is made: "even though prefill isn't instant, …"."""
    words, first = scene.words, scene.clause.first
    return scene.has("concede") or (
        scene.clause.opener in ("though", "if") and first > 0 and words[first - 1].text == "even"
    )


def _supposed(content: Mention, scene: Scene) -> bool:
    """Behind "if"; or anywhere in what is contrary to fact: "it would be prefill if …"."""
    before = scene.previous()
    opener = before.clause.opener if before and scene.clause.opener == "and" else ""
    stated = {scene.clause.opener, opener} & REASONS or scene.has("shows")
    if stated and not scene.has("if", "would"):
        return False
    condition, would = scene.segment.condition, scene.segment.would
    if content.kind in ("remedy", "weak"):
        return bool(condition) and would and _names_cause(condition, content)
    if condition is None:
        return _would_be(content, scene) or scene.has("someday")
    return would or condition is scene


def _names_cause(part: Scene, apart_from: Mention) -> bool:
    causes = [content for content in part.contents if content.kind in CAUSES]
    return any(not content.overlaps(apart_from) for content in causes)


def _would_be(content: Mention, scene: Scene) -> bool:
    would = scene.left("would", content.first, REACH)
    if would is None or any(scene.left(kind, content.first, 5) for kind in ("opinion",)):
        return False
    if scene.text(would.first - 1) in ("i", "we"):
        return False  # "I'd point at decode"
    return scene.text(would.last + 1) in ("be", "have", "mean", "point", "indicate", "been")


def reported(content: Mention, scene: Scene) -> bool:
    """Whether others say it, or the writer once did: "people say …", "at first I thought …"."""
    said, after = scene.following(), _next_segment(scene)
    if after and after.segment.all("agree"):
        return False  # "…, they say. I agree."
    if said and said.clause.length <= 4 and said.has("report"):
        return True
    return any(cue.first <= content.first for cue in scene.segment.reports) or _seems(scene)


def _seems(scene: Scene) -> bool:
    """Whether it is only the look of it: "it looks like prefill, but it is the queue"."""
    after = _next_segment(scene)
    turned = after is not None and after.clause.sentence == scene.clause.sentence
    return turned and scene.has("seems") and any(c.kind == "phase" for c in after.contents)


def _next_segment(scene: Scene) -> Scene | None:
    after = scene.after
    while after and after.segment is scene.segment:
        after = after.after
    return after
