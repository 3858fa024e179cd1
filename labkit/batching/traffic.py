"""Made-up traffic: who asks when, how long the prompts are, how long the answers.

Seeded, so that every policy serves the same requests. Arrivals are a Poisson process: people ask
independently of each other, so the gaps follow the exponential distribution. Lengths are drawn
from a shape, or are those of requests that were recorded. No policy looks at an answer's length
except to stop there: a real one could not either.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log

from ..generate import BadRequest
from ..records.serving import Request

Range = tuple[int, int]


def equal(_: random.Random, shortest: int, longest: int) -> float:
    """All as long as the longest."""
    return longest


def even(chance: random.Random, shortest: int, longest: int) -> float:
    """Every length as likely as any other."""
    return chance.uniform(shortest, longest)


def long_tail(chance: random.Random, shortest: int, longest: int) -> float:
    """Many short, a few many times as long: the logarithm is normal.

    Half are below a third of the way from the shortest to the longest, counted in doublings; one in
    fifty is cut off at the longest.
    """
    span = log(longest / shortest)
    return chance.lognormvariate(log(shortest) + span / 3, span / 3)


SHAPES: dict[str, Callable[[random.Random, int, int], float]] = {
    "equal": equal,
    "even": even,
    "long tail": long_tail,
}


# Tokens of prompt and answer of the first 48 requests of the Azure LLM inference trace 2023,
# conversation (github.com/Azure/AzurePublicDataset, CC BY 4.0; Patel and others, "Splitwise", ISCA
# 2024). Recorded there; here they are scaled to the lengths asked for.
RECORDED = "recorded"
# fmt: off
AZURE = (
    (374, 44), (396, 109), (879, 55), (91, 16), (91, 16), (381, 84), (1313, 142), (388, 84),
    (242, 14), (209, 152), (394, 124), (394, 59), (1315, 174), (2221, 15), (389, 90), (415, 106),
    (120, 12), (369, 74), (206, 162), (1353, 142), (197, 152), (181, 154), (388, 54), (4085, 62),
    (2584, 170), (203, 147), (126, 194), (389, 87), (2548, 116), (91, 16), (4081, 74), (181, 123),
    (191, 217), (27, 183), (203, 217), (398, 81), (126, 172), (209, 181), (209, 181), (28, 175),
    (437, 88), (181, 104), (203, 138), (200, 177), (4073, 58), (91, 16), (1087, 401), (382, 64),
)
# fmt: on
LENGTHS = (*SHAPES, RECORDED)


@dataclass(frozen=True)
class Traffic:
    """`count` requests with lengths of a shape between two ends.

    `per_s` is the mean rate of arrivals; None: all are there from the start. Raises BadRequest,
    with the remedy, for traffic that can't be.
    """

    count: int = 16
    lengths: str = "long tail"
    prompt: Range = (8, 32)
    answer: Range = (8, 256)
    per_s: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.lengths not in LENGTHS:
            raise BadRequest(f"lengths are {self.lengths!r}: choose from {', '.join(LENGTHS)}")
        for what, (shortest, longest) in (("prompts", self.prompt), ("answers", self.answer)):
            if not 1 <= shortest <= longest:
                raise BadRequest(
                    f"{what} of {shortest} to {longest} tokens: give at least 1, shortest first"
                )
        if self.count < 1 or (self.per_s is not None and not 0 < self.per_s < inf):
            raise BadRequest("ask for at least 1 request, at a rate above 0")

    def requests(self) -> tuple[Request, ...]:
        """The requests in the order in which they arrive; the same seed gives the same ones."""
        chance, clock_s = random.Random(self.seed), 0.0  # noqa: S311 - no secret
        made = []
        for number in range(self.count):
            made.append(Request(number, clock_s, *self._sizes(chance, number)))
            if self.per_s is not None:
                clock_s += chance.expovariate(self.per_s)
        return tuple(made)

    def _sizes(self, chance: random.Random, number: int) -> tuple[int, int]:
        """Tokens of one prompt and its answer."""
        ends = (self.prompt, self.answer)
        if self.lengths == RECORDED:
            most = map(max, zip(*AZURE, strict=True))
            row = AZURE[(self.seed + number) % len(AZURE)]
            drawn = [n / m * long for n, m, (_, long) in zip(row, most, ends, strict=True)]
        else:
            drawn = [SHAPES[self.lengths](chance, *each) for each in ends]
        return tuple(
            round(min(max(n, short), long)) for n, (short, long) in zip(drawn, ends, strict=True)
        )
