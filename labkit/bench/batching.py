"""Continuous against static batching over the same ragged requests, and each against runs alone.

Both policies serve in turns, pass by pass. transformers' own continuous batching serves the same
requests by itself, before or after: it can't be interleaved.
"""

from __future__ import annotations

from .. import batching, generate
from ..batching import Traffic
from ..batching.paged import Paged
from ..models import Loaded
from ..records.serving import Serving
from .stats import Figure, differing, ratios

AT_LEAST = 1.5
ANSWER = (8, 256)


def measure(
    loaded: Loaded, rounds: int, requests: int, slots: int = 8, lengths: str = "long tail"
) -> tuple[Figure, ...]:
    """Ratios of tokens/s, the rates, the waste, and how many tokens differ from runs alone.

    Each round has requests of its own; answers are 8 to 256 tokens long.
    """
    runs = []
    for seed in range(rounds):
        traffic = Traffic(requests, lengths, answer=ANSWER, seed=seed)
        runs.append(one_round(loaded, traffic, slots))
    static, continuous, paged, unlike_alone = zip(*runs, strict=True)
    by_policy = {"static": static, "continuous": continuous, "transformers' own": paged}
    rates = {name: [run.tokens_per_s for run in each] for name, each in by_policy.items()}
    return (
        Figure(
            "continuous ÷ static, tokens/s",
            ratios(rates["continuous"], rates["static"]),
            at_least=AT_LEAST,
        ),
        Figure("transformers' own ÷ static", ratios(rates["transformers' own"], rates["static"])),
        *(Figure(f"{name}, tokens/s", tuple(each)) for name, each in rates.items()),
        Figure("static: slots wasted, %", tuple(100 * run.wasted_slots for run in static)),
        Figure("continuous: slots wasted, %", tuple(100 * run.wasted_slots for run in continuous)),
        Figure("tokens unlike those of runs alone", tuple(unlike_alone), at_most=0),
    )


def one_round(
    loaded: Loaded, traffic: Traffic, slots: int
) -> tuple[Serving, Serving, Serving, int]:
    """Static, continuous, transformers' own; and the tokens of all that no run alone gives."""
    requests = traffic.requests()
    services = batching.serve(loaded, requests, slots)
    for service in services:
        service.warm_up()
    for _ in batching.in_turns(services):
        pass
    own = Paged(loaded, requests, slots)
    for _ in own.steps():
        pass
    runs = (*(service.record() for service in services), own.record())
    alone = {
        number: tokens_alone(loaded, prompt, requests[number].new_tokens)
        for number, prompt in services[0].prompts.items()
    }
    return *runs, sum(unlike(run, alone) for run in runs)


def tokens_alone(loaded: Loaded, prompt: list[int], new_tokens: int) -> list[int]:
    """What the request gives when nobody else is there."""
    forwards = generate.cached(loaded.model, [prompt], new_tokens)
    return [forward.token_ids.item() for forward in forwards]


def unlike(run: Serving, alone: dict[int, list[int]]) -> int:
    """Tokens of a run that are not those of the same requests alone."""
    return sum(differing(times.token_ids, alone[times.request.number]) for times in run.requests)
