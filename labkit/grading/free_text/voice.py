"""In whose voice something is said: only what the learner states can be a claim.

Not stated is what is asked, what is supposed ("if", "would"), and what others are quoted as saying.
"""

from __future__ import annotations

from .mentions import Mention
from .scene import REACH, Scene

REASONS = ("since", "because", "as", "weil", "denn", "car", "porque", "因 为")
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
    if scene.has("suggest") and content.kind in ("remedy", "weak"):
        return False
    first = scene
    while first.previous():
        first = first.previous()
    start = first.clause.first
    opens = any(cue.first == start for cue in first.cues.get("ask", ()))
    if scene.clause.asks:
        own = any(cue.first == scene.clause.first for cue in scene.cues.get("ask", ()))
        after_join = any(cue.first == scene.clause.first + 1 for cue in scene.cues.get("ask", ()))
        fragment = not scene.has("is", "maybe") and first is scene and scene.clause.length <= 4
        return opens or own or after_join or fragment
    return (
        opens
        and first.text(start + 1) in ("it", "this", "that", "the")
        and first.text(start) in ("is", "does", "would", "could", "are")
    )


def _supposed(content: Mention, scene: Scene) -> bool:
    """Behind "if"; or anywhere in what is contrary to fact: "it would be prefill if …"."""
    if scene.clause.opener in REASONS and not scene.has("if", "would"):
        return False
    condition, would = scene.segment.condition, scene.segment.would
    if content.kind in ("remedy", "weak"):
        return bool(condition) and would and _names_cause(condition)
    if condition is None:
        return _would_be(content, scene)
    return would or condition is scene


def _names_cause(part: Scene) -> bool:
    return any(content.kind in CAUSES for content in part.contents)


def _would_be(content: Mention, scene: Scene) -> bool:
    would = scene.left("would", content.first, REACH)
    if would is None or any(scene.left(kind, content.first, 5) for kind in ("opinion",)):
        return False
    return scene.text(would.last + 1) in ("be", "have", "mean", "point", "indicate", "been")


def reported(content: Mention, scene: Scene) -> bool:
    """Whether others say it, or the writer once did: "people say …", "at first I thought …"."""
    said = scene.following()
    if said and said.clause.length <= 4 and said.has("report"):
        return True
    return any(cue.first <= content.first for cue in scene.segment.reports)
