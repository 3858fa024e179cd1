"""What an answer claims: each mention with the stance that its clause gives it.

`asserted`: said to be so. `mentioned`: named, without saying that it is the trouble. `denied`: said
not to be so, or fine. `unsaid`: asked, supposed, quoted from others. Which claims are right is not
known here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .mentions import Mention
from .scene import REACH, Scene
from .turns import (
    bare,
    inherits,
    labelled,
    negated,
    not_after,
    not_before,
    opposite,
    remark,
    said_fine,
)
from .vocabulary import grammar
from .voice import REASONS, asked, conceded, reported, unsaid
from .words import MARKS

DUE = ("due", "because", "caused", "wegen", "debido")


@dataclass(frozen=True, slots=True)
class Claim:
    """`kind` is "phase", "limiter" or "remedy"; `first` is the place of its first word.

    `quote` is `text[start:end]`, the learner's words.
    """

    kind: str
    name: str
    stance: str
    first: int
    clause: int  # place of the first word of its clause
    start: int
    end: int
    quote: str
    loose: bool = False  # described in words that stand apart, not named

    @property
    def holds(self) -> bool:
        return self.stance == "asserted"

    def shares_words(self, other: Claim) -> bool:
        return self.start < other.end and other.start < self.end


def claims(scenes: list[Scene], text: str) -> list[Claim]:
    """All claims in the order in which they are made. `text` is what the words stand in."""
    found: list[Claim] = []
    for scene in scenes:
        here = [claim for content in scene.contents for claim in _read(content, scene, text)]
        found += here if scene.has("general", "minor") else _phases_with_limiters(here)
    return found


def _read(content: Mention, scene: Scene, text: str) -> list[Claim]:
    def claim(kind: str, name: str, stance: str) -> Claim:
        start, end = scene.words[content.first].start, scene.words[content.last].end
        place = scene.clause.first
        quote = text[start:end]
        return Claim(kind, name, stance, content.first, place, start, end, quote, content.loose)

    if content.kind == "phase":
        made = [claim("phase", content.name, _phase_stance(content, scene))]
        if content.name == "insufficient-data" and not _only_the_phase(content, scene):
            made.append(replace(made[0], kind="limiter", name="undetermined"))
        return made
    if content.kind in ("resource", "limiter"):
        name = _ambiguous_memory(scene) if content.name == "memory" else content.name
        made = [claim("limiter", name, _limiter_stance(content, scene))]
        if name == "undetermined":
            made.append(replace(made[0], kind="phase", name="insufficient-data"))
        return made
    if content.kind in ("remedy", "weak"):
        stance = _remedy_stance(content, scene)
        made = [claim("remedy", content.name, stance)]
        if scene.has("short") and content.name in ("more-compute", "more-bandwidth"):
            lacking = "compute" if content.name == "more-compute" else "memory-bandwidth"
            made.append(replace(made[0], kind="limiter", name=lacking))
        return made
    return []


def _only_the_phase(content: Mention, scene: Scene) -> bool:
    """Whether "can't say" goes on "which phase", and not "or what limits it"."""
    parts = [scene, *([after] if (after := scene.following()) else [])]
    if any(cue.last > content.first for part in parts for cue in part.cues.get("limit", ())):
        return False
    ahead = [word.text for word in scene.words[content.first : content.last + REACH + 1]]
    ahead = ahead[: next((n for n, word in enumerate(ahead) if word in MARKS), None)]
    return any(word in ("phase", "phases", "stage") for word in ahead)


def _phases_with_limiters(here: list[Claim]) -> list[Claim]:
    """A phase named with what limits it is the trouble: "decode waits on memory"."""
    if not any(claim.kind == "limiter" and claim.holds for claim in here):
        return here
    named = [claim.kind == "phase" and claim.stance == "mentioned" for claim in here]
    return [
        replace(claim, stance="asserted") if weak else claim
        for claim, weak in zip(here, named, strict=True)
    ]


# ---- stances -------------------------------------------------------------------------------------


def _phase_stance(content: Mention, scene: Scene) -> str:
    if content.name == "insufficient-data":
        return "unsaid" if reported(content, scene) or asked(content, scene) else "asserted"
    if unsaid(content, scene) or _alternative(content, scene) or _reason(content, scene):
        return "unsaid"
    if scene.text(scene.clause.first) == "do" and scene.text(scene.clause.first + 1) == "not":
        return "unsaid"  # an order: "don't let it unload"
    denied = negated(content, scene)
    plain = not denied and not scene.has("slow", "short", "fine", "fast")
    if plain and (verdict := remark(scene)):
        return verdict
    if denied or said_fine(content, scene, "fine"):
        return "denied"
    if scene.left("than", content.first, 4) or said_fine(content, scene, "fast"):
        return "contrasted"
    if scene.has("minor", "general") or conceded(scene):
        return "mentioned"
    if scene.text(content.last + 1) in ("would", "wurde", "serait", "seria"):
        return "mentioned"  # "a slow prefill would show in every request"
    if scene.clause.opener == "(" and not scene.has("slow"):
        return "mentioned"
    return "asserted" if _is_the_trouble(content, scene) else "mentioned"


def _reason(content: Mention, scene: Scene) -> bool:
    """Whether it is only the reason for another: "requests queue because decode is slow"."""
    others = [c for c in scene.contents if c.kind == "phase" and c.name != content.name]
    earlier = max((c.last for c in others if c.last < content.first), default=content.first)
    if any(scene.text(place) in DUE for place in range(earlier, content.first)):
        return True
    before = scene.previous()
    if scene.clause.opener not in REASONS or before is None:
        return False
    named = [c for c in before.contents if c.kind == "phase" and c.name != content.name]
    return any(not negated(c, before) for c in named)


def _alternative(content: Mention, scene: Scene) -> bool:
    """Whether it stands in "prefill or decode", which names neither."""
    if negated(content, scene):
        return False
    if len({c.name for c in scene.contents if c.kind == "phase"}) > 2:
        return True  # "prefill/decode/queue"
    if scene.text(content.first - 1) == "between" and content.name != "overhead":
        return True
    pairs = [(scene.previous(), scene), (scene, scene.following())]
    for one, other in pairs:
        if one and other and other.clause.opener in grammar("or"):
            names = {c.name for part in (one, other) for c in part.contents if c.kind == "phase"}
            if len(names - {"insufficient-data"}) > 1:
                return True
    return False


def _is_the_trouble(content: Mention, scene: Scene) -> bool:
    if scene.has("slow", "short"):
        return True
    denial = scene.right("not", content.last)
    if denial and (scene.has("fine", "fast") or opposite(scene, denial)):
        return True
    said = scene.left("is", content.first, 5)
    if said and not scene.between(said.last, content.first):
        return True
    if labelled(scene) or scene.clause.opener in ("so", "therefore", "hence", "thus"):
        return True
    if scene.clause.opener == "->" and not scene.has_digits:
        return True
    return bare(content, scene, 3)


def _limiter_stance(content: Mention, scene: Scene) -> str:
    if unsaid(content, scene):
        return "unsaid"
    if not_before(content, scene) or inherits(content, scene) or _enough_of_it(content, scene):
        return "denied"
    weak = [c.first for c in scene.contents if c.kind == "weak"]
    if content.first in weak and scene.has("use"):
        return "unsaid"  # "HBM3e would help" asks for it
    if content.kind == "limiter" or scene.has("limit", "short"):
        return "asserted"
    if labelled(scene) and scene.others(content) <= 4:
        return "asserted"
    said = scene.left("is", content.first, 2) and not scene.has_digits
    return "asserted" if said or bare(content, scene, 2) else "mentioned"


def _enough_of_it(content: Mention, scene: Scene) -> bool:
    """Whether there is no lack: "compute sits idle", "plenty of bandwidth"."""
    if scene.has("idle") and content.name in ("compute", "memory-bandwidth", "memory"):
        return True
    return not_after(content, scene) or said_fine(content, scene, "fine")


def _ambiguous_memory(scene: Scene) -> str:
    """Memory that is too small is capacity, memory that is too slow is bandwidth."""
    small = scene.has("size") and not scene.has("speed")
    return "capacity-or-scheduling" if small else "memory-bandwidth"


def _remedy_stance(content: Mention, scene: Scene) -> str:
    if unsaid(content, scene):
        return "unsaid"
    if _rejected(content, scene):
        return "denied"
    if content.kind == "weak" and _given(content, scene):
        return "unsaid"
    weak = content.kind == "weak" and not scene.has("use") and scene.others(content) > 4
    return "mentioned" if weak else "asserted"


def _rejected(content: Mention, scene: Scene) -> bool:
    if scene.has("useless") or scene.left("reject", content.first + 1):
        return True
    if not_before(content, scene):
        return True
    after = scene.following()
    if after and not after.contents and (after.has("useless") or after.only("so", "no", "not")):
        return True
    before = scene.previous()
    if before and scene.clause.opener in grammar("or") | {"because"}:
        earlier = [c for c in before.contents if c.kind in ("remedy", "weak")]
        return bool(before.has("reject")) or any(_rejected(c, before) for c in earlier[-1:])
    return False


def _given(content: Mention, scene: Scene) -> bool:
    """A precision is no remedy where it is already there: "70B in 8-bit"."""
    before = scene.text(content.first - 1)
    there = before in ("already", "in", "at")
    return there or (before in ("is", "of", "b", "an") and not scene.has("label", "use"))
