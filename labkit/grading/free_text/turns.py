"""How a clause turns a mention: denied, called fine, remarked on, or standing alone.

All by the places of small words: which "not" reaches what, and what is said behind the figures.
"""

from __future__ import annotations

from .mentions import Mention
from .scene import REACH, Scene
from .vocabulary import grammar


def negated(content: Mention, scene: Scene) -> bool:
    if content not in scene.negated:
        scene.negated[content] = (
            not_before(content, scene) or not_after(content, scene) or inherits(content, scene)
        )
    return scene.negated[content]


def not_before(content: Mention, scene: Scene) -> bool:
    if content.loose and scene.inside(content, "not", "fine"):
        return True
    denial = scene.left("not", content.first, REACH)
    if denial is None:
        return False
    twice = scene.left("not", denial.first, REACH)
    if twice and scene.text(twice.last + 1) == "that":
        return True  # "it's not that decode isn't fast", but …
    able = scene.text(denial.first - 1) in ("can", "could") and scene.text(denial.last + 1) != "be"
    if able and content.kind == "limiter":
        return False  # "it can't go faster than the memory delivers"
    if twice and scene.text(denial.first) == scene.text(twice.first) == "not":
        return False  # "I can't see how it isn't decode"
    blocker = scene.between(denial.last, content.first)
    if blocker is None or content.first - blocker.last <= 1:
        return True
    return scene.text(blocker.last + 1) == "being"  # "rather than decode being memory-bound"


def not_after(content: Mention, scene: Scene) -> bool:
    """Whether "not" follows with nothing else to deny: not "decode is not limited by compute"."""
    denial = scene.right("not", content.last)
    if denial is None or scene.between(content.last, denial.first):
        return False
    if scene.text(denial.first - 1) in ("can", "could"):
        return False  # "prefill shares one pass among all tokens, decode can't"
    end = scene.clause.end
    if scene.between(denial.last, end, "resource", "limiter", "phase", "remedy"):
        return False
    if any(scene.right(kind, denial.last) for kind in ("fine", "fast")) or opposite(scene, denial):
        return False
    return bool(scene.right("slow", denial.last)) or end - denial.last <= 2


def opposite(scene: Scene, denial: Mention) -> bool:
    """Whether "not" denies what was said before: "streaming is fine, prefill isn't"."""
    near = [scene.before, scene.before and scene.before.before]
    near.append(near[1] and near[1].before)
    ends = denial.last + 1 == scene.clause.end
    return ends and any(one.has("fine", "fast") for one in near if one)


def inherits(content: Mention, scene: Scene) -> bool:
    """Whether it is denied with what stands before "or": "not prefill or queueing"."""
    before, opener = scene.previous(), scene.clause.opener
    joined = opener in grammar("or") or (opener == "and" and scene.clause.length <= 4)
    if before is None or not joined or scene.has("is", "slow", "not"):
        return False
    earlier = [c for c in before.contents if c.kind not in ("noise", "remedy", "weak")]
    return bool(earlier) and negated(earlier[-1], before)


def said_fine(content: Mention, scene: Scene, kind: str) -> bool:
    after = scene.right(kind, content.last, REACH)
    if after and not scene.between(content.last, after.first, "phase"):
        quiet = not (scene.right("slow", content.last) or scene.right("would", content.last))
        wanted = scene.text(after.first - 1) in ("need", "needs", "a", "with", "want", "for")
        if quiet and not wanted and not scene.not_between(content.last, after.first):
            return True
    before = scene.left(kind, content.first, 2 if kind == "fine" else 1)
    quiet = not scene.right("slow", content.last)
    return bool(before) and quiet and not scene.left("not", before.first, 3)


def remark(scene: Scene) -> str | None:
    """What is said of a phase behind its figures: "prefill: 50 ms, great"."""
    after = scene.following()
    while after and not after.contents:
        for kind, stance in (("slow", "asserted"), ("fine", "denied"), ("fast", "contrasted")):
            if after.has(kind) and not after.has("not"):
                return stance
        after = after.following()
    return None


def bare(content: Mention, scene: Scene, others: int) -> bool:
    """The clause is hardly more than the mention: "Decode.", "the decode phase".

    Not so before a mere figure: "generation: 2.2 s".
    """
    after = scene.following()
    if after and after.clause.opener == ":" and after.has_digits and not after.contents:
        return False
    said = scene.right("copula", content.last)
    if said and said.last + 1 < scene.clause.end:
        return False  # "decode is parallel"
    before = [scene.text(place) for place in range(scene.clause.first, content.first)]
    subject = [word for word in before if word not in grammar("small")]
    return scene.others(content) <= others and len(subject) <= 1 and not scene.has_digits


def labelled(scene: Scene) -> bool:
    """Whether a label stands before it: "phase: decode", "the trouble: reading the prompt"."""
    before = scene.previous()
    return scene.clause.opener == ":" and bool(before) and before.has("label", "slow")
