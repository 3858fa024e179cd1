"""What an answer claims: each mention with the stance that its clause gives it.

`asserted`: said to be so. `mentioned`: named, without saying that it is the trouble. `denied`: said
not to be so, or fine. `unsaid`: asked, supposed, quoted from others. Which claims are right is not
known here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .mentions import Mention
from .scene import REACH, Scene

OR = ("or", "nor", "oder", "ou", "ni", "noch", "o")


@dataclass(frozen=True, slots=True)
class Claim:
    """`kind` is "phase", "limiter" or "remedy"; `first` and `last` are places of words."""

    kind: str
    name: str
    stance: str
    first: int
    last: int
    sentence: int
    clause: int  # place of the clause's first word


def claims(scenes: list[Scene]) -> list[Claim]:
    """All claims in the order in which they are made."""
    found: list[Claim] = []
    for scene in scenes:
        here = [claim for content in scene.contents for claim in _read(content, scene)]
        found += _phases_with_limiters(here)
    return found


def _read(content: Mention, scene: Scene) -> list[Claim]:
    if content.kind == "phase":
        made = [_claim("phase", content.name, _phase_stance(content, scene), content, scene)]
        if content.name == "insufficient-data" and not _only_the_phase(content, scene):
            made.append(replace(made[0], kind="limiter", name="undetermined"))
        return made
    if content.kind in ("resource", "limiter"):
        name = _ambiguous_memory(scene) if content.name == "memory" else content.name
        return [_claim("limiter", name, _limiter_stance(content, scene), content, scene)]
    if content.kind in ("remedy", "weak"):
        stance = _remedy_stance(content, scene)
        made = [_claim("remedy", content.name, stance, content, scene)]
        if scene.has("short") and content.name in ("more-compute", "more-bandwidth"):
            lacking = "compute" if content.name == "more-compute" else "memory-bandwidth"
            made.append(replace(made[0], kind="limiter", name=lacking))
        return made
    return []


def _only_the_phase(content: Mention, scene: Scene) -> bool:
    """"Can't say which phase" leaves the limiter open; "can't say" doesn't."""
    ahead = range(content.first, content.last + 5)
    return any(scene.text(place) in ("phase", "phases", "stage") for place in ahead)


def _claim(kind: str, name: str, stance: str, content: Mention, scene: Scene) -> Claim:
    at = scene.clause
    return Claim(kind, name, stance, content.first, content.last, at.sentence, at.first)


def _phases_with_limiters(here: list[Claim]) -> list[Claim]:
    """"Decode waits on memory": a phase named with what limits it is said to be the trouble."""
    if not any(claim.kind == "limiter" and claim.stance == "asserted" for claim in here):
        return here
    return [
        replace(claim, stance="asserted") if claim.stance == "mentioned" else claim
        for claim in here
    ]


# ---- not said at all -----------------------------------------------------------------------------


def _unsaid(content: Mention, scene: Scene) -> bool:
    return (
        _asked(content, scene)
        or _supposed(content, scene)
        or _reported(content, scene)
        or any(
            (wonder := part.left("wonder", content.first + 1)) and wonder.first <= content.first
            for part in scene.segment()
            if part.clause.first <= content.first
        )
    )


def _asked(content: Mention, scene: Scene) -> bool:
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
    return opens and first.text(start + 1) in ("it", "this", "that", "the") and first.text(
        start
    ) in ("is", "does", "would", "could", "are")


def _supposed(content: Mention, scene: Scene) -> bool:
    """Behind "if"; or anywhere in what is contrary to fact: "it would be prefill if …"."""
    parts = list(scene.segment())
    condition = next((part for part in parts if part.has("if")), None)
    would = any(part.has("would") for part in parts)
    if content.kind in ("remedy", "weak"):
        return bool(condition) and would and _names_cause(condition)
    if condition is None:
        return _would_be(content, scene)
    return would or condition is scene


def _names_cause(part: Scene) -> bool:
    return any(content.kind in ("phase", "resource", "limiter", "noise") for content in part.contents)


def _would_be(content: Mention, scene: Scene) -> bool:
    would = scene.left("would", content.first, REACH)
    if would is None or any(scene.left(kind, content.first, 5) for kind in ("opinion",)):
        return False
    return scene.text(would.last + 1) in ("be", "have", "mean", "point", "indicate", "been")


def _reported(content: Mention, scene: Scene) -> bool:
    parts = list(scene.segment())
    if any(part.has("agree") for part in parts):
        return False
    reports = [(part, cue) for part in parts for cue in part.cues.get("report", ())]
    return any(
        cue.first <= content.first and not _not_between(part, cue.first, cue.last)
        for part, cue in reports
    )


# ---- stances -------------------------------------------------------------------------------------


def _phase_stance(content: Mention, scene: Scene) -> str:
    if content.name == "insufficient-data":
        return "unsaid" if _reported(content, scene) or _asked(content, scene) else "asserted"
    if _unsaid(content, scene) or _alternative(content, scene):
        return "unsaid"
    if _negated(content, scene) or _said_fine(content, scene, "fine"):
        return "denied"
    if scene.left("than", content.first, 4) or _said_fine(content, scene, "fast"):
        return "contrasted"
    if scene.has("minor"):
        return "mentioned"
    return "asserted" if _is_the_trouble(content, scene) else "mentioned"


def _alternative(content: Mention, scene: Scene) -> bool:
    """"Prefill or decode" names neither."""
    if _negated(content, scene):
        return False
    pairs = [(scene.previous(), scene)] + [(scene, scene.following())]
    for one, other in pairs:
        if one and other and other.clause.opener in OR:
            names = {c.name for part in (one, other) for c in part.contents if c.kind == "phase"}
            if len(names - {"insufficient-data"}) > 1:
                return True
    return False


def _negated(content: Mention, scene: Scene) -> bool:
    return _not_before(content, scene) or _not_after(content, scene) or _inherits(content, scene)


def _not_before(content: Mention, scene: Scene) -> bool:
    denial = scene.left("not", content.first, REACH)
    if denial is None:
        return False
    blocker = scene.between(denial.last, content.first)
    return blocker is None or content.first - blocker.last <= 1


def _not_after(content: Mention, scene: Scene) -> bool:
    """"Prefill is not the problem", but not: "decode is not limited by compute"."""
    denial = scene.right("not", content.last)
    if denial is None or scene.between(content.last, denial.first):
        return False
    end = scene.clause.end
    if scene.between(denial.last, end, "resource", "limiter", "phase", "remedy"):
        return False
    if any(scene.right(kind, denial.last) for kind in ("fine", "fast")):
        return False
    return bool(scene.right("slow", denial.last)) or end - denial.last <= 2


def _inherits(content: Mention, scene: Scene) -> bool:
    """"Not prefill or queueing": what was denied before "or" is denied after it."""
    before = scene.previous()
    if before is None or scene.clause.opener not in (*OR, "and") or scene.has("is", "slow", "not"):
        return False
    if scene.clause.opener == "and" and scene.clause.length > 4:
        return False
    earlier = [c for c in before.contents if c.kind not in ("noise", "remedy", "weak")]
    return bool(earlier) and _negated(earlier[-1], before)


def _said_fine(content: Mention, scene: Scene, kind: str) -> bool:
    after = scene.right(kind, content.last, REACH)
    if after and not scene.between(content.last, after.first, "phase"):
        quiet = not (scene.right("slow", content.last) or scene.right("would", content.last))
        wanted = scene.text(after.first - 1) in ("need", "needs", "a", "with", "want", "for")
        if quiet and not wanted and not _not_between(scene, content.last, after.first):
            return True
    before = scene.left(kind, content.first, 2 if kind == "fine" else 1)
    quiet = not scene.right("slow", content.last)
    return bool(before) and quiet and not scene.left("not", before.first, 3)


def _not_between(scene: Scene, first: int, last: int) -> bool:
    return any(first < cue.first < last for cue in scene.cues.get("not", ()))


def _is_the_trouble(content: Mention, scene: Scene) -> bool:
    if scene.has("slow", "short"):
        return True
    if _not_between(scene, content.last, scene.clause.end) and scene.has("fine", "fast"):
        return True
    said = scene.left("is", content.first, 5)
    if said and not scene.between(said.last, content.first):
        return True
    if _labelled(scene) or scene.clause.opener in ("so", "therefore", "hence", "thus"):
        return True
    if scene.clause.opener == "->" and not scene.has_digits:
        return True
    return scene.others(content) <= 3 and not scene.has_digits


def _labelled(scene: Scene) -> bool:
    """"Phase: decode", "the trouble here: reading the prompt"."""
    before = scene.previous()
    return scene.clause.opener == ":" and bool(before) and before.has("label", "slow", "is")


def _limiter_stance(content: Mention, scene: Scene) -> str:
    if _unsaid(content, scene):
        return "unsaid"
    if _not_before(content, scene) or _inherits(content, scene) or _enough_of_it(content, scene):
        return "denied"
    if content.kind == "limiter" or scene.has("limit", "short") or _labelled(scene):
        return "asserted"
    return "asserted" if scene.others(content) <= 2 and not scene.has_digits else "mentioned"


def _enough_of_it(content: Mention, scene: Scene) -> bool:
    """"Compute sits idle", "bandwidth is fine", "plenty of bandwidth"."""
    if scene.has("idle") and content.name in ("compute", "memory-bandwidth", "memory"):
        return True
    return _not_after(content, scene) or _said_fine(content, scene, "fine")


def _ambiguous_memory(scene: Scene) -> str:
    """Memory that is too small is capacity, memory that is too slow is bandwidth."""
    small = scene.has("size") and not scene.has("speed")
    return "capacity-or-scheduling" if small else "memory-bandwidth"


def _remedy_stance(content: Mention, scene: Scene) -> str:
    if _unsaid(content, scene):
        return "unsaid"
    if _rejected(content, scene):
        return "denied"
    if content.kind == "weak" and not _proposed(content, scene):
        return "mentioned"
    return "asserted"


def _rejected(content: Mention, scene: Scene) -> bool:
    if scene.has("useless") or scene.left("reject", content.first + 1):
        return True
    if _not_before(content, scene):
        return True
    after = scene.following()
    if after and not after.contents and after.has("useless"):
        return True
    before = scene.previous()
    if before and scene.clause.opener in (*OR, "because"):
        earlier = [c for c in before.contents if c.kind in ("remedy", "weak")]
        return bool(before.has("reject")) or any(_rejected(c, before) for c in earlier[-1:])
    return False


def _proposed(content: Mention, scene: Scene) -> bool:
    """A precision is a remedy where it is to be used, not where it is already there."""
    if scene.text(content.first - 1) in ("already", "in", "at", "is", "of", "b", "an"):
        return False
    return scene.has("use") or scene.others(content) <= 4
