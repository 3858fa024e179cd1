"""Checks of lesson 05: the bytes of a decode step, the bound that follows, and what interventions
show.

`Passes` are the timed decode steps of the learner's own run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import roofline
from ..records import CheckResult
from ..records.machine import Roofs
from ..records.passes import Passes
from . import answers
from .answers import Case, Slip, choice, function, number, passed, show, wrong

SHORT = CheckResult("not yet", "The run is too short for this: let it time all steps.")


def step_bytes(answer: Callable[[float, float, int, int], float]) -> CheckResult:
    """A function from weight bytes, KV bytes a position, context and batch to bytes read."""
    inputs = [(538e6, 46_080, 1000, 1), (16e9, 131_072, 8000, 1), (16e9, 131_072, 2000, 32)]
    return function(
        answer,
        [Case(x, x[0] + x[1] * x[2] * x[3], f"step_bytes({_args(x)})") for x in inputs],
        "The weights once for all sequences, the cache once for each: a batch shares the first.",
        [
            Slip(lambda w, kv, c, b: w, "Attention reads keys and values of all positions too."),
            Slip(lambda w, kv, c, b: w + kv * c, "Every sequence has a cache of its own."),
            Slip(
                lambda w, kv, c, b: b * (w + kv * c),
                "One pass serves the whole batch: the weights are fetched once.",
            ),
            Slip(lambda w, kv, c, b: w + kv, "The cache of all positions is read, not one's."),
            Slip(lambda w, kv, c, b: w * c, "The weights are fetched once a step, not a position."),
        ],
    )


def _args(x: tuple) -> str:
    return ", ".join(f"{value:.4g}" for value in x)


def most_tokens_per_s(answer: Callable[[float, float], float]) -> CheckResult:
    """A function from a step's bytes and bytes/s to the most tokens in a second, one sequence."""
    inputs = [(538e6, 20e9), (16e9, 3.35e12), (13.5e9, 2.04e12)]
    return function(
        answer,
        [Case((n, w), w / n, f"most_tokens_per_s({n:.3g}, {w:.3g})") for n, w in inputs],
        "No program can be faster for one sequence: every token moves those bytes.",
        [
            Slip(lambda n, w: n / w, "That is seconds for each token. Turn it round."),
            Slip(lambda n, w: w / n / 8, "Both are in bytes; the 8 of bits is one too many."),
            Slip(lambda n, w: 1e3 * w / n, "A second has no 1,000 in it here."),
        ],
    )


def mbu(answer: Any, passes: Passes | None, roofs: Roofs | None) -> CheckResult:
    """MBU of the learner's first step over context, between 0 and 1."""
    if answers.is_blank(answer):
        return answers.NOT_YET
    timings = passes.curve("context") if passes else ()
    if not timings or passes.model is None or roofs is None:
        return SHORT
    first = timings[0]
    cost = roofline.cost_of(passes.model, first.what)
    share = roofline.mbu(cost, first.median_s, roofs)
    return number(
        answer,
        share,
        "Near 1, the step does little but fetch. Far below, something else takes its time.",
        [
            Slip(100 * share, "that is in percent; give it as a share."),
            Slip(1 / share, "upside down: achieved ÷ roof."),
            Slip(
                cost.bytes / first.median_s, "that is the bandwidth achieved. Divide by the roof."
            ),
        ],
        tolerance=0.1,
    )


def twice_the_tokens(answer: Any) -> CheckResult:
    """Far below the ridge: two sequences in a step take how many times as long as one?"""
    return number(
        answer,
        1,
        "The weights are fetched once for both. That is the whole case for batching.",
        [
            Slip(2, "that would hold if arithmetic were the limit."),
            Slip(0.5, "the step gets no faster; the time *for each token* halves."),
        ],
        tolerance=0.15,
    )


def flat_until(answer: Any, passes: Passes | None) -> CheckResult:
    """Sets a predicted number of tokens, from which time must rise, beside the measured knee."""
    if answers.is_blank(answer):
        return answers.NOT_YET
    measured = roofline.knee(passes.curve("together")) if passes else None
    if measured is None:
        return SHORT
    values = answers.numbers(answer)
    if values is None or len(values) != 1 or not 0 < values[0] < float("inf"):
        return wrong("Write one number of tokens above 0.")
    text = f"You said {show(values[0])}; the two parts of your curve meet near {measured:.0f}."
    if 0.5 <= values[0] / measured <= 2:
        return passed(f"{text} Within a factor of 2.")
    return passed(
        f"{text} The ridge supposes that a few tokens run as near to the roofs as many. Where the "
        "measured curve rises from the start, they don't."
    )


def kv_equals_weights(answer: Callable[[float, float, int], float]) -> CheckResult:
    """A function from weight bytes, KV bytes a position and batch to the context of equality."""
    inputs = [(538e6, 46_080, 1), (16e9, 131_072, 1), (16e9, 131_072, 64)]
    return function(
        answer,
        [Case(x, x[0] / (x[1] * x[2]), f"kv_equals_weights({_args(x)})") for x in inputs],
        "Beyond it a step reads more cache than weights; a batch brings it nearer.",
        [
            Slip(lambda w, kv, b: w / kv, "Every sequence of the batch has its own cache."),
            Slip(lambda w, kv, b: w * b / kv, "The weights are shared; the caches are not."),
            Slip(lambda w, kv, b: kv * b / w, "Upside down: positions are asked for."),
        ],
    )


def limiter(answer: Any) -> CheckResult:
    """Half the bytes, twice the tokens: the step takes the same in both. What does it wait for?"""
    return choice(
        answer,
        "host",
        "Neither bytes nor FLOPs move it, so the device is not what is waited for. Fewer, larger "
        "launches help: a compiled step, a CUDA graph.",
        {
            "memory": "Then half the bytes would take about half the time.",
            "compute": "Then twice the tokens would take about twice the time.",
        },
    )


def which_run(answer: Any) -> CheckResult:
    """Three steps' times in the lesson: 40 ms as it is, 21 ms with half the bytes, 41 with two."""
    return choice(
        answer,
        "memory",
        "Half the bytes took half the time, and a second token took none: the bytes are the limit.",
        {
            "compute": "A second token doubles the arithmetic, and took 1 ms more.",
            "host": "The host has the same to do with half the bytes, yet the time halved.",
        },
    )
