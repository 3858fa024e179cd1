"""The cached arm against transformers' own `generate`, over the same weights and prompt.

`generate` is timed twice: on the model as transformers loads it, which is what a learner would use
otherwise, and on the model in the lab's order of weights, where only the two loops differ. A
streamer is told of each token as soon as the host has it; a token's time is the gap between two of
them, so the prefill counts on neither side.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from time import perf_counter_ns

import torch
from transformers.generation.streamers import BaseStreamer

from .. import experiments
from ..experiments import RaceRequest
from ..models import Loaded
from .stats import Figure, differing, ratios
from .steps import Side, take_turns, times

AT_MOST = 0.80
LAB, PLAIN, FAST = "labkit", "generate, as loaded", "generate, labkit's weight order"


def measure(fast: Loaded, plain: Loaded, pairs: int, new_tokens: int = 64) -> tuple[Figure, ...]:
    """`fast` has the lab's order of weights, `plain` transformers'. The sides take turns."""
    request = RaceRequest(fast, new_tokens=new_tokens, arms=("cached",), chat=True)
    ids = fast.tokenizer.encode(request.prompt, request.chat)
    sides = {
        LAB: Side(lambda: by_labkit(request, fast)),
        PLAIN: Side(lambda: by_generate(plain, ids, new_tokens)),
        FAST: Side(lambda: by_generate(fast, ids, new_tokens)),
    }
    take_turns(sides, pairs)
    return _figures(sides)


def by_labkit(request: RaceRequest, loaded: Loaded) -> tuple[float, list[int]]:
    """Median seconds of a decode step of the cached arm, and its tokens."""
    (run,) = experiments.prepare(request, loaded)
    tokens = [step.token_ids[0] for _, step in experiments.steps(request, [run])]
    return run.trace().median_itl_s, tokens


def by_generate(loaded: Loaded, ids: list[int], new_tokens: int) -> tuple[float, list[int]]:
    """Median seconds between two tokens of `model.generate`, and its tokens."""
    prompt = torch.tensor([ids], device=loaded.device)
    watch = Stopwatch()
    out = loaded.model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        do_sample=False,
        max_new_tokens=new_tokens,
        min_new_tokens=new_tokens,  # the lab's arm goes on behind an end-of-sequence token too
        streamer=watch,
    )
    return watch.median_gap_s(), out[0, len(ids) :].tolist()


class Stopwatch(BaseStreamer):
    """Notes when `generate` hands over the prompt, and then each token."""

    def __init__(self) -> None:
        self.at_ns: list[int] = []

    def put(self, value: torch.Tensor) -> None:
        self.at_ns.append(perf_counter_ns())

    def end(self) -> None:
        pass

    def median_gap_s(self) -> float:
        tokens_ns = self.at_ns[1:]  # the first is the prompt's
        gaps = pairwise(tokens_ns)
        return median(later - earlier for earlier, later in gaps) * 1e-9


def _figures(sides: dict[str, Side]) -> tuple[Figure, ...]:
    lab = sides[LAB]
    against = {name: ratios(lab.medians_s, side.medians_s) for name, side in sides.items()}
    unlike = max(differing(lab.token_ids, side.token_ids) for side in sides.values())
    return (
        Figure(f"{LAB} ÷ {PLAIN}", against[PLAIN], at_most=AT_MOST),
        Figure(f"{LAB} ÷ {FAST}", against[FAST]),
        *times(sides),
        Figure("tokens that differ", (unlike,), at_most=0),
    )
