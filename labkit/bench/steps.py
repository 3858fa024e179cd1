"""Decode steps of several ways to generate, in turns: what benchmarks of the faster ways share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter_ns

import torch

from ..generate import Forward
from ..measure import synchronise
from .stats import Figure

PROMPT = "Why is the sky blue?"
Loop = Callable[[Sequence[Sequence[int]], int], Iterator[Forward]]


@dataclass
class Side:
    """One of the contenders: `once` gives the median time of a token and the token ids."""

    once: Callable[[], tuple[float, list[int]]]
    medians_s: list[float] = field(default_factory=list)
    token_ids: list[int] = field(default_factory=list)

    def take_turn(self) -> None:
        median_s, self.token_ids = self.once()
        self.medians_s.append(median_s)


def side(loop: Loop, ids: Sequence[int], new_tokens: int, device: torch.device) -> Side:
    """That loop as a side: a turn of it writes `new_tokens` tokens after the prompt."""
    return Side(lambda: by_loop(loop, ids, new_tokens, device))


def by_loop(
    loop: Loop, ids: Sequence[int], new_tokens: int, device: torch.device
) -> tuple[float, list[int]]:
    """Median seconds of a decode step, the prefill left out; and the tokens."""
    tokens, steps_ns = [], []
    run = loop([ids], new_tokens)
    while True:
        start_ns = perf_counter_ns()
        forward = next(run, None)
        synchronise(device)
        if forward is None:
            return median(steps_ns[1:]) * 1e-9, tokens
        steps_ns.append(perf_counter_ns() - start_ns)
        tokens.append(forward.token_ids[0].item())


def take_turns(
    sides: Mapping[str, Side], rounds: int, before: Callable[[], object] = lambda: None
) -> None:
    """Each side once for nothing, then all of them in turn; every other round backwards.

    `before` is called at the beginning of each round.
    """
    for one in sides.values():
        one.once()
    for number in range(rounds):
        before()
        for one in list(sides.values())[:: 1 if number % 2 else -1]:
            one.take_turn()


def times(sides: Mapping[str, Side]) -> list[Figure]:
    """Milliseconds a token, of each side."""
    return [Figure(f"{n}, ms a token", tuple(s * 1e3 for s in sides[n].medians_s)) for n in sides]
