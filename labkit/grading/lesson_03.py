"""Checks of lesson 03: what the cache saves, by count and by clock, and what it costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

from ..records import CheckResult, ModelShape, Trace
from ..roofline import kv_elements
from . import answers
from .answers import Case, Slip, choice, function, not_ready, number, passed, show, wrong

# Shapes as of SmolLM2-135M and Llama-3.1-8B, which share KV heads, and Llama-2-7B, which does not.
SMALL = ModelShape("small", "llama", 30, 576, 9, 3, 64, 1536, 49152, 8192, tied=True)
LARGE = ModelShape("large", "llama", 32, 4096, 32, 8, 128, 14336, 128256, 131072, tied=False)
OLD = ModelShape("old", "llama", 32, 4096, 32, 32, 128, 11008, 32000, 4096, tied=False)

LAST = 8  # steps at the end of a run whose median stands for "at the last token"


def tokens_processed_cached(answer: Callable[[int, int], int]) -> CheckResult:
    """A function from prompt and new tokens to the positions that all cached passes read."""
    inputs = [(5, 12), (1, 1), (40, 1000)]
    return function(
        answer,
        [Case((p, n), p + n - 1, f"tokens_processed_cached({p}, {n})") for p, n in inputs],
        "Each position goes through the layers once, and the last new token never does.",
        [
            Slip(lambda p, n: p + n, "The last new token is picked, but no pass reads it."),
            Slip(lambda p, n: n, "The first pass has to read the whole prompt."),
            Slip(lambda p, n: n - 1, "The first pass has to read the whole prompt."),
            Slip(
                lambda p, n: n * p + n * (n - 1) // 2,
                "That is the naive loop, which reads everything again.",
            ),
        ],
        tolerance=1e-9,
    )


def work_ratio(answer: Any) -> CheckResult:
    """Positions read naive ÷ cached, for a prompt of 32 tokens and 64 new ones."""
    naive, cached = 64 * 32 + 64 * 63 // 2, 32 + 63
    return number(
        answer,
        naive / cached,
        "That is the ratio of work. Now see how much of it the clock gives back.",
        [
            Slip(cached / naive, "upside down: how many times more does the naive loop read?"),
            Slip(95, "that is the last pass alone, 95 positions against 1. Add up all the passes."),
            Slip(64, "64 passes each; they differ in what each pass reads."),
            Slip(naive / 64, "the cached loop's first pass reads all 32 tokens of the prompt."),
            Slip(naive - cached, "that is the difference. Divide."),
        ],
        tolerance=0.01,
    )


def predicted_ratio(answer: Any, naive: Trace, cached: Trace) -> CheckResult:
    """Sets a prediction of naive ÷ cached at the last token beside the run. No number is wrong."""
    if waiting := not_ready(answer, naive, cached):
        return waiting
    values = answers.numbers(answer)
    if values is None or len(values) != 1 or not 0 < values[0] < float("inf"):
        return wrong("Write one number above 0: how many times longer does the naive step take?")
    measured = median(naive.step_s[-LAST:]) / median(cached.step_s[-LAST:])
    positions = naive.steps[-1].tokens_in / cached.steps[-1].tokens_in
    text = f"You predicted {show(values[0])}; the run says {measured:.1f}."
    if 0.5 <= values[0] / measured <= 2:
        return passed(f"{text} Within a factor of 2, so you have the right picture.")
    if values[0] > positions / 2:
        return passed(
            f"{text} You went by positions: the naive pass reads {positions:.0f} times as many. "
            "But a pass over one position still works with every weight, so it is not that much "
            "cheaper."
        )
    return passed(f"{text} Off by more than a factor of 2: section 4 says what decides it.")


def cached_loop(answer: Callable[[Any, Any, int], list[int]], model: Any, ids: Any) -> CheckResult:
    """The learner's `cached_loop(model, ids, new_tokens)`: its tokens, and what each pass reads."""
    if waiting := not_ready(answer):
        return waiting
    new, watch = 6, _Watched(model)
    given, problem = answers.run(answer, (watch, ids, new), f"cached_loop(model, ids, {new})")
    if problem:
        return problem
    right = [ids.shape[1]] + [1] * (new - 1)
    if watch.reads != right:
        return wrong(_reads_hint(watch.reads, right))
    expected = _naive_tokens(model, ids, new)
    if answers.numbers(given) != expected:
        return wrong(
            f"Each pass reads what it should, but the tokens are {show(given)}, and naive gives "
            f"{show(expected)}. Does every pass get the same cache, and the token just picked?"
        )
    return passed(f"The same tokens as naive, and the passes read {right}.")


def _reads_hint(reads: list[int], right: list[int]) -> str:
    text = f"Your passes read {reads} positions, and {right} is right."
    if len(reads) != len(right):
        return f"{text} n tokens take n passes: none before the loop, none after the last token."
    if reads == [reads[0]] * len(reads):
        return f"{text} The prompt is in the cache after the first pass; do not feed it again."
    return f"{text} Positions that the cache holds must not be fed again."


class _Watched:
    """A model that notes how many positions each forward pass reads."""

    def __init__(self, model: Any):
        self.model, self.reads = model, []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def __call__(self, input_ids: Any, *others: Any, **options: Any) -> Any:
        self.reads.append(input_ids.shape[-1])
        return self.model(input_ids, *others, **options)


def _naive_tokens(model: Any, ids: Any, new: int) -> list[int]:
    row = ids[0].tolist()
    for _ in range(new):
        logits = model(ids.new_tensor([row]), use_cache=False, logits_to_keep=1).logits[0, -1]
        row.append(int(logits.argmax()))
    return row[-new:]


def speed_up(answer: Callable[[Trace, Trace], float], naive: Trace, cached: Trace) -> CheckResult:
    """A function from two traces to the ratio of their TPOTs."""
    if waiting := not_ready(answer, naive, cached):
        return waiting
    half = len(naive.steps) // 2 + 1
    short = replace(naive, steps=naive.steps[:half]), replace(cached, steps=cached.steps[:half])
    pairs = [("naive, cached", naive, cached), ("both, first half", *short)]
    return function(
        answer,
        [Case((a, b), a.tpot_s / b.tpot_s, f"speed_up({name})") for name, a, b in pairs],
        "It depends on the length of the run: say both when you quote one.",
        [
            Slip(lambda a, b: b.tpot_s / a.tpot_s, "Upside down: above 1 must mean faster."),
            Slip(
                lambda a, b: a.total_s / b.total_s,
                "The prefill is in there, which the cache does not speed up. Compare TPOT.",
            ),
            Slip(
                lambda a, b: a.ttft_s / b.ttft_s, "That is the first token, where both do the same."
            ),
            Slip(
                lambda a, b: a.step_s[-1] / b.step_s[-1],
                "That is the last token alone; TPOT is the mean over all gaps.",
            ),
        ],
        tolerance=0.005,
    )


def longer_prompt(answer: Any) -> CheckResult:
    """With a longer prompt, naive ÷ cached time per token: "grows", "stays" or "shrinks"?"""
    return choice(
        answer,
        "grows",
        "The naive pass sends the prompt through all layers again for every token; the cached one "
        "looks up its keys and values. How much of that the clock shows depends on the machine.",
        {
            "stays": "Both read more, but not by the same: the naive pass sends the whole prompt "
            "through all layers again, the cached one a single position.",
            "shrinks": "The longer prompt costs the cached arm too, but once, in the prefill. "
            "Think of what each later pass has to read.",
        },
    )


def kv_bytes_per_token(answer: Callable[[ModelShape, int], int]) -> CheckResult:
    """A function from a model's shape and the bytes of one number to cache bytes a position."""
    inputs = [(SMALL, 4), (LARGE, 2), (OLD, 2)]
    return function(
        answer,
        [Case(x, _kv(*x), f"kv_bytes_per_token({x[0].name}, {x[1]})") for x in inputs],
        "Keys and values, for each layer, for each KV head: all kept as long as the text lives.",
        [
            Slip(
                lambda s, b: _kv(s, b) * s.heads // s.kv_heads,
                "You counted query heads. Several of them share one head of keys and values.",
            ),
            Slip(lambda s, b: _kv(s, b) // 2, "Keys and values are both kept: twice as much."),
            Slip(lambda s, b: _kv(s, b) // s.layers, "Every layer keeps its own."),
            Slip(lambda s, b: _kv(s, b) // b, "Those are numbers. Each takes several bytes."),
        ],
        tolerance=1e-9,
    )


def _kv(shape: ModelShape, number_bytes: int) -> int:
    return shape.layers * kv_elements(shape) * number_bytes
