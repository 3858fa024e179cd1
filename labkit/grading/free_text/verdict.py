"""From claims to a verdict: which of them stand, and how they compare with the truth."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...scenarios.truth import Truth
from .claims import Claim
from .scene import Scene

# A limiter that the phase's name already states: overhead is the host's, a cold start is loading.
IMPLIED = {"overhead": "host-overhead", "load": "model-loading"}
# What a writer says alone, before saying something else.
STOPS = {"no", "nope", "nah", "wait", "actually", "hmm"}
FILLERS = {"oh", "ah", "um", "uh", "well", "but", "and", "so"}


@dataclass(frozen=True)
class Reading:
    """What the answer says once all is weighed.

    `main` are the claims that name the phase in trouble, one for each phase; `denial` is a claim
    that denies the phase it elsewhere asserts. `tricks` names what was not read as a statement.
    """

    claims: tuple[Claim, ...]
    main: tuple[Claim, ...] = ()
    limiters: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    denial: Claim | None = None
    tricks: tuple[str, ...] = ()

    def claim(self, kind: str, name: str) -> Claim | None:
        """The first asserted claim of that kind and name."""
        return next((c for c in self.claims if (c.kind, c.name) == (kind, name) and c.holds), None)

    @property
    def remedy_claims(self) -> list[Claim]:
        return [claim for name in self.remedies if (claim := self.claim("remedy", name))]


def weigh(found: list[Claim], scenes: list[Scene], tricks: tuple[str, ...] = ()) -> Reading:
    """Drops what was taken back, picks the phase, collects limiters and remedies."""
    found = _standing(found, scenes)
    found = _promoted(_promoted(_promoted(found, "phase"), "limiter"), "remedy")
    main = _main(found)
    named = [*main, *(claim for claim in found if claim.kind == "phase" and claim.holds)]
    implied = [IMPLIED[claim.name] for claim in named if claim.name in IMPLIED]
    limiters = dict.fromkeys([*_names(found, "limiter"), *implied])
    if main and all(claim.name != "insufficient-data" for claim in main):
        limiters.pop("undetermined", None)  # "that figure doesn't tell, but …"
    return Reading(
        tuple(found), main, tuple(limiters), _names(found, "remedy"), _denial(main, found), tricks
    )


def judge(reading: Reading, truth: Truth) -> str:
    """The verdict: correct, partial, incorrect, contradictory or unclear."""
    if not reading.main:
        return "unclear"
    if len(reading.main) > 1 or reading.denial:
        return "contradictory"
    if reading.main[0].name != truth.phase:
        return "incorrect"
    helps = any(name in truth.remedies for name in reading.remedies)
    return "correct" if truth.limiter in reading.limiters and helps else "partial"


# ---- taken back ----------------------------------------------------------------------------------


def _standing(found: list[Claim], scenes: list[Scene]) -> list[Claim]:
    """Claims without those that the writer took back and replaced by others of their kind."""
    places = _retractions(scenes)
    since: dict[str, int] = {}
    for claim in reversed(found):
        if claim.stance in ("asserted", "mentioned") and claim.kind not in since:
            since[claim.kind] = max((p for p in places if p < claim.first), default=-1)
    return [claim for claim in found if claim.first > since.get(claim.kind, -1)]


def _retractions(scenes: list[Scene]) -> list[int]:
    places = [cue.first for scene in scenes for cue in scene.cues.get("retract", ())]
    for scene in scenes:
        first = scene.text(scene.clause.first)
        inside = {scene.text(place) for place in range(scene.clause.first, scene.clause.end)}
        alone = bool(inside & STOPS) and inside <= STOPS | FILLERS
        if (alone and not _goes_on(scene)) or (first == "actually" and scene.clause.opener == "."):
            places.append(scene.clause.first)
    return places


def _promoted(found: list[Claim], kind: str) -> list[Claim]:
    """What is only mentioned counts where nothing of its kind is asserted, and it is alone.

    A phase needs another claim beside it, or the answer may only restate the figures; loading is
    told, not measured.
    """
    of_kind = [claim for claim in found if claim.kind == kind]
    named = [claim for claim in of_kind if claim.stance == "mentioned"]
    if any(claim.holds for claim in of_kind) or not named:
        return found
    names = {claim.name for claim in named}
    if len(names) > 1:
        names = {claim.name for claim in named if not claim.loose}
    if len(names) != 1:
        return found
    supported = kind != "phase" or names == {"load"} or any(claim.holds for claim in found)
    alone = {(kind, name, "mentioned") for name in names if supported}
    return [
        replace(one, stance="asserted") if (one.kind, one.name, one.stance) in alone else one
        for one in found
    ]


def _goes_on(scene: Scene) -> bool:
    """Whether what follows a "no" adds to what was said: "no, it is also the queue"."""
    after = scene.following()
    places = range(after.clause.first, after.clause.end) if after else ()
    return any(after.text(place) in ("also", "both", "too", "equally") for place in places)


# ---- the phase -----------------------------------------------------------------------------------


def _main(found: list[Claim]) -> tuple[Claim, ...]:
    named = [claim for claim in found if claim.kind == "phase"]
    asserted = [claim for claim in named if claim.holds]
    names = {claim.name for claim in asserted}
    drop = {"overhead"} if _overhead_as_reason(asserted) else set()
    if {"overhead", "decode"} <= names and not _limited_otherwise(found):
        drop.add("decode")  # the overhead is paid inside the decode steps
    if len(names) > 1:
        drop.add("insufficient-data")  # "hard to say, but …"
    kept = names - drop
    if len(kept) > 1:
        kept = {name for name in kept if not _argued_away(name, named)} or kept
    first = {claim.name: claim for claim in reversed(asserted) if claim.name in kept}
    return tuple(sorted(first.values(), key=lambda claim: claim.first))


def _argued_away(name: str, named: list[Claim]) -> bool:
    """Whether the last word on that phase is a denial: "a queue? With one user there is none"."""
    said = [claim for claim in named if claim.name == name and claim.stance != "mentioned"]
    return said[-1:] != [] and said[-1].stance == "denied"


def _overhead_as_reason(asserted: list[Claim]) -> bool:
    """Whether overhead is only the reason: "prefill is slow because of launch overhead"."""
    places = {claim.clause for claim in asserted if claim.name == "overhead"}
    return any(c.clause in places and c.name not in ("overhead", "decode") for c in asserted)


def _limited_otherwise(found: list[Claim]) -> bool:
    return any(name in ("memory-bandwidth", "compute") for name in _names(found, "limiter"))


def _denial(main: tuple[Claim, ...], found: list[Claim]) -> Claim | None:
    """The phase said not to be the trouble, in another clause than the one that asserts it."""
    denied = [claim for claim in found if claim.kind == "phase" and claim.stance == "denied"]
    against = [c for c in denied for m in main if c.name == m.name and c.clause != m.clause]
    return against[0] if against else None


def _names(found: list[Claim], kind: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(claim.name for claim in found if claim.kind == kind and claim.holds))
