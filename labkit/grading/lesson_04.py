"""Checks of lesson 04: the work of a prefill, its intensity, the knee, and what binds on each side.

`Passes` are the timed prefills of the learner's own run.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from typing import Any

from .. import roofline
from ..records import CheckResult
from ..records.machine import Roofs
from ..records.passes import Passes
from . import answers
from .answers import Case, Slip, choice, function, number, passed, show, wrong

SHORT = CheckResult("not yet", "The run is too short for this: let it time all lengths.")


def prefill_flops(answer: Callable[[float, int], float]) -> CheckResult:
    """A function from parameters and prompt tokens to the FLOPs of the layers' matrices."""
    inputs = [(106e6, 16), (7e9, 1000), (8e9, 1)]
    return function(
        answer,
        [Case((p, n), 2 * p * n, f"prefill_flops({p:.3g}, {n})") for p, n in inputs],
        "A multiplication and an addition for each weight and each token. Attention comes on top, "
        "and so does the head, for one position only.",
        [
            Slip(lambda p, n: p * n, "Each weight is multiplied and then added: two operations."),
            Slip(lambda p, n: 2 * p, "That is one token. Every token goes through all weights."),
            Slip(lambda p, n: 6 * p * n, "That is training: a backward pass costs twice as much."),
            Slip(lambda p, n: 2 * p * n**2, "Each token meets each weight once, however many."),
        ],
    )


def flops_per_byte(answer: Callable[[int, float], float]) -> CheckResult:
    """A function from prompt tokens and bytes of a weight to FLOPs for each byte of weights."""
    inputs = [(1, 4), (100, 2), (512, 4)]
    return function(
        answer,
        [Case((n, b), 2 * n / b, f"flops_per_byte({n}, {b})") for n, b in inputs],
        "A weight is fetched once for the whole prompt, so a longer prompt does more with it.",
        [
            Slip(lambda n, b: n / b, "Each token needs two operations for a weight."),
            Slip(lambda n, b: 2 / b, "The fetched weight serves every token of the prompt."),
            Slip(lambda n, b: 2 * n * b, "Divide by the bytes of a weight."),
            Slip(lambda n, b: b / (2 * n), "Upside down: FLOPs for each byte."),
        ],
    )


def knee(answer: Callable[[float, float, float], float]) -> CheckResult:
    """A function from FLOP/s, bytes/s and bytes of a weight to the prompt length of the knee."""
    inputs = [(1e14, 1e12, 2), (989.4e12, 3.35e12, 2), (5e10, 2e10, 4)]
    return function(
        answer,
        [Case(x, x[0] / x[1] * x[2] / 2, f"knee({x[0]:.4g}, {x[1]:.3g}, {x[2]})") for x in inputs],
        "Below it the arithmetic hides behind the fetching. Above, it is the other way round.",
        [
            Slip(lambda f, w, b: f / w, "That is FLOPs for each byte. How many tokens give those?"),
            Slip(lambda f, w, b: f / w * b, "Each token does two operations with a weight."),
            Slip(lambda f, w, b: w / f * b / 2, "Upside down: a faster processor moves it up."),
            Slip(lambda f, w, b: f / w * 2 / b, "More bytes to fetch move the knee up, not down."),
        ],
    )


def predicted_knee(answer: Any, passes: Passes | None) -> CheckResult:
    """Sets a predicted knee beside the measured one. No number is wrong."""
    if answers.is_blank(answer):
        return answers.NOT_YET
    measured = roofline.knee(passes.curve("prefill")) if passes else None
    if measured is None:
        return SHORT
    values = answers.numbers(answer)
    if values is None or len(values) != 1 or not 0 < values[0] < float("inf"):
        return wrong("Write one number of tokens above 0.")
    text = f"You predicted {show(values[0])} tokens; the run's two parts meet near {measured:.0f}."
    off = abs(log2(values[0] / measured))
    if off <= 1:
        return passed(f"{text} Within a factor of 2, as good as a roofline gets.")
    return passed(
        f"{text} Off by a factor of {2**off:.1f}. The roofline takes both roofs as reached at any "
        "length; kernels for few tokens reach neither, which bends the knee into a slope."
    )


def mfu(answer: Any, passes: Passes | None, roofs: Roofs | None) -> CheckResult:
    """MFU of the longest prompt of the learner's run, between 0 and 1."""
    if answers.is_blank(answer):
        return answers.NOT_YET
    timings = passes.curve("prefill") if passes else ()
    if not timings or passes.model is None or roofs is None:
        return SHORT
    long = timings[-1]
    cost = roofline.cost_of(passes.model, long.what)
    roof = roofs.flops_per_s[cost.dtype]
    share = roofline.mfu(cost, long.median_s, roofs)
    return number(
        answer,
        share,
        "The rest went to kernels that can't keep the processor busy, to small operations between "
        "the matrices, and to the host.",
        [
            Slip(100 * share, "that is in percent; give it as a share."),
            Slip(1 / share, "upside down: achieved ÷ roof."),
            Slip(cost.flops / long.median_s, "that is the FLOP/s achieved. Divide by the roof."),
            Slip(share / 2, "half of it: two operations for each weight and token."),
            Slip(cost.flops / roof, "that is the time that the roof allows. Divide by yours."),
        ],
        tolerance=0.1,
    )


def short_prompt(answer: Any) -> CheckResult:
    """An 8-token prompt, an 8B model, an H100: what does its first token wait for?"""
    return choice(
        answer,
        "memory",
        "16 GB of weights take 4.8 ms to fetch, and the arithmetic of 8 tokens 0.13 ms. Unless the "
        "host is slower than both, which an 8B model in plain PyTorch can bring about.",
        {
            "compute": "8 tokens × 2 × 8 billion FLOPs are 0.13 ms at 989 TFLOP/s. What else must "
            "happen once in every pass?",
            "cache": "The cache is empty: the prompt is what fills it.",
        },
    )


def longer_ttft(answer: Any) -> CheckResult:
    """Above the knee, a prompt twice as long: TTFT is how many times as long?"""
    return number(
        answer,
        2,
        "A little more than 2 for long prompts: attention's part grows fourfold.",
        [
            Slip(1, "that holds below the knee, where the fetching of the weights is the limit."),
            Slip(4, "that is attention's part alone, which is small until prompts are very long."),
        ],
        tolerance=0.2,
    )


def upgrade(answer: Any) -> CheckResult:
    """A 4,000-token prompt, one token out: "flops" or "bandwidth"?"""
    return choice(
        answer,
        "flops",
        "The knee of an 8B model in 16 bits lies at a few hundred tokens on such machines. Far "
        "above it, bandwidth is idle half the time.",
        {
            "bandwidth": "At 4,000 tokens each fetched weight is used 4,000 times. Fetching it "
            "faster saves little: look at what binds above the knee.",
            "neither": "One of them binds here: 4,000 tokens are far above the knee.",
        },
    )
