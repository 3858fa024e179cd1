"""The ladder from the naive loop up: tokens/s of each rung, and how near the best is to its roof.

The rungs take turns, round by round. Bytes, and what was predicted, stand in a figure's name.
"""

from __future__ import annotations

from .. import ladder, probing, rungs, summary
from ..ladder import Climb, LadderRequest
from ..models import Loaded
from ..records.ladder import Ladder, Rung
from .stats import Figure

OF_THE_ROOF = 0.75


def measure(
    loaded: Loaded, rounds: int = 3, new_tokens: int = 48, names: tuple[str, ...] = rungs.NAMES
) -> tuple[Figure, ...]:
    """The promises, then every rung."""
    roofs = probing.known_roofs(loaded.device) or probing.probe(loaded.device)
    request = LadderRequest(loaded, new_tokens=new_tokens, rounds=rounds, names=names)
    climb = Climb(request, loaded, roofs)
    for _ in climb.steps():
        pass
    return figures_of(climb.ladder())


def figures_of(climbed: Ladder) -> tuple[Figure, ...]:
    """The best plain rung against its roof, tokens that differ, and each rung's tokens/s."""
    return (
        *_of_the_roof(climbed),
        *(_differing(climbed, rung) for rung in climbed.measured[1:]),
        *(Figure(_named(climbed, rung), _per_s(rung)) for rung in climbed.measured),
    )


def _of_the_roof(climbed: Ladder) -> list[Figure]:
    """Of the rungs that read all weights for each token, in the model's own format."""
    one_by_one = [
        rung
        for rung in climbed.measured
        if rung.name not in ("speculative", *ladder.FEWER_BYTES)
        and rung.roof_tokens_per_s(climbed.roofs)
    ]
    if not one_by_one:
        return []
    best = max(one_by_one, key=lambda rung: rung.tokens_per_s)
    roof = best.roof_tokens_per_s(climbed.roofs)
    shares = tuple(per_s / roof for per_s in _per_s(best))
    return [Figure(f"{best.name} ÷ its roof", shares, at_least=OF_THE_ROOF)]


def _per_s(rung: Rung) -> tuple[float, ...]:
    return tuple(trace.decode_tokens_per_s for trace in rung.traces)


def _differing(climbed: Ladder, rung: Rung) -> Figure:
    """0 for the same tokens, 1 for others: promised for all but fewer bits."""
    same = climbed.output(rung).identical
    at_most = None if rung.name in ladder.FEWER_BYTES else 0
    name = f"{rung.name}: other tokens than {climbed.measured[0].name}"
    return Figure(name, (float(not same),), at_most)


def _named(climbed: Ladder, rung: Rung) -> str:
    said = "" if rung.off_by is None else f", predicted {1 / rung.predicted_s:.1f}"
    return f"{rung.name}, tokens/s ({summary.gb(rung.token_bytes)} a token{said})"
