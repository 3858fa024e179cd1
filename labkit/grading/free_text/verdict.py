"""From claims to a verdict: which of them stand, and how they compare with the truth."""

from __future__ import annotations

from .claims import Claim
from .scene import Scene


def standing(found: list[Claim], scenes: list[Scene]) -> list[Claim]:
    """Claims without those that the writer took back."""
    for place in _retractions(scenes):
        for kind in ("phase", "limiter", "remedy"):
            later = [c for c in found if c.kind == kind and c.first > place]
            if any(c.stance == "asserted" for c in later):
                found = [c for c in found if c.kind != kind or c.first > place]
    return found


def _retractions(scenes: list[Scene]) -> list[int]:
    places = [cue.first for scene in scenes for cue in scene.cues.get("retract", ())]
    for scene in scenes:
        first = scene.text(scene.clause.first)
        alone = scene.clause.length == 1 and first in ("no", "nope", "wait", "actually", "hmm")
        opens = first == "actually" and scene.clause.opener == "."
        if alone or opens:
            places.append(scene.clause.first)
    return places


def phases(found: list[Claim]) -> list[Claim]:
    """The claims that name the phase in trouble; of a phase named twice, the first."""
    named = [claim for claim in found if claim.kind == "phase"]
    asserted = [claim for claim in named if claim.stance == "asserted"]
    if not asserted:
        asserted = _only_mentioned(named, found)
    asserted = _within(asserted, found)
    return list({claim.name: claim for claim in reversed(asserted)}.values())[::-1]


def _only_mentioned(named: list[Claim], found: list[Claim]) -> list[Claim]:
    mentioned = [claim for claim in named if claim.stance == "mentioned"]
    supported = any(c.kind != "phase" and c.stance == "asserted" for c in found)
    return mentioned if supported and len({c.name for c in mentioned}) == 1 else []


def _within(asserted: list[Claim], found: list[Claim]) -> list[Claim]:
    """Overhead is paid inside decode steps; not knowing gives way to what is named all the same."""
    names = {claim.name for claim in asserted}
    drop = set()
    if {"overhead", "decode"} <= names and not _limited_otherwise(found):
        drop.add("decode")
    if len(names) > 1:
        drop.add("insufficient-data")
    return [claim for claim in asserted if claim.name not in drop]


def _limited_otherwise(found: list[Claim]) -> bool:
    others = ("memory-bandwidth", "compute")
    return any(c.kind == "limiter" and c.stance == "asserted" and c.name in others for c in found)


# A limiter that the phase's name already states: overhead is the host's, a cold start is loading.
IMPLIED = {"overhead": "host-overhead", "load": "model-loading"}


def limiters(found: list[Claim], main: list[Claim]) -> tuple[str, ...]:
    """The asserted limiters, with those that the phase implies."""
    implied = [IMPLIED[claim.name] for claim in main if claim.name in IMPLIED]
    return tuple(dict.fromkeys([*names(found, "limiter"), *implied]))


def names(found: list[Claim], kind: str) -> tuple[str, ...]:
    """Names of the asserted claims of one kind, each once, in order."""
    return tuple(dict.fromkeys(c.name for c in found if c.kind == kind and c.stance == "asserted"))


def contradicts(asserted: list[Claim], found: list[Claim]) -> bool:
    """Two phases as the trouble, or one phase and its own denial in another clause."""
    if len(asserted) > 1:
        return True
    return any(
        claim.kind == "phase" and claim.stance == "denied" and claim.name == main.name
        for main in asserted
        for claim in found
        if claim.clause != main.clause
    )


def verdict(phase: list[Claim], found: list[Claim], truth) -> str:
    """One of the five words."""
    if not phase:
        return "unclear"
    if contradicts(phase, found):
        return "contradictory"
    if phase[0].name != truth.phase:
        return "incorrect"
    limiter = truth.limiter in limiters(found, phase)
    remedy = any(name in truth.remedies for name in names(found, "remedy"))
    return "correct" if limiter and remedy else "partial"
