"""Did two arms give the same tokens? Equal, equal up to a tie, or different.

Naive and cached run the same arithmetic in another order. In float32 the rounding is far below the
distance between two candidate tokens, so the tokens must be the same. In 16 bits two candidates can
be as good as tied, and the arms may then part without either being wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from .trace import Trace

# Logits of typical size 16 are 2^-4 apart in bfloat16 and 2^-6 in float16: gaps within two such
# steps are ties. In float32 there is no tie rule: the tokens are the same or something is wrong.
TIE_GAP = {"bfloat16": 0.125, "float16": 0.03125}


@dataclass(frozen=True)
class Agreement:
    """`compared` tokens were looked at; `first_difference` is the place where the arms part."""

    compared: int
    first_difference: int | None = None
    tie: bool = False

    @property
    def identical(self) -> bool:
        return self.first_difference is None

    def __str__(self) -> str:
        if self.compared == 0:
            return "nothing to compare yet"
        if self.identical:
            return f"identical so far: {self.compared} tokens"
        place = self.first_difference + 1
        if self.tie:
            return f"identical up to token {place}, where two candidates tie within rounding"
        return f"the arms differ from token {place} on"


def agreement(one: Trace, other: Trace) -> Agreement:
    """Compares two traces token by token, over the length that both have reached."""
    pairs = list(zip(one.steps, other.steps, strict=False))
    for place, (a, b) in enumerate(pairs):
        if a.token_ids != b.token_ids:
            gaps = [step.top2_gap for step in (a, b) if step.top2_gap is not None]
            tie = min(gaps, default=inf) <= TIE_GAP.get(one.settings.dtype, -1.0)
            return Agreement(len(pairs), place, tie)
    return Agreement(len(pairs))
