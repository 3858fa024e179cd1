"""Checks of lesson 08: what makes decoding faster, by how much, and when not.

A `Ladder` is the learner's own climb.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..records import CheckResult
from ..records.ladder import Ladder
from . import answers
from .answers import Case, Slip, choice, function, number, passed, show, wrong

SHORT = CheckResult("not yet", "The climb is too short for this: let it measure two rungs or more.")


def fastest_rung(answer: Any, ladder: Ladder | None) -> CheckResult:
    """Sets a predicted speed-up of the fastest rung over the first beside the measured one."""
    if answers.is_blank(answer):
        return answers.NOT_YET
    if ladder is None or len(ladder.measured) < 2:
        return SHORT
    values = answers.numbers(answer)
    if values is None or len(values) != 1 or not 0 < values[0] < float("inf"):
        return wrong("Write one number above 0: how many times as fast as the first rung.")
    best = max(ladder.measured, key=lambda rung: rung.tokens_per_s)
    times = best.tokens_per_s / ladder.measured[0].tokens_per_s
    text = f"You said {show(values[0])}; the climb says {times:.1f}, by “{best.name}”."
    if 0.5 <= values[0] / times <= 2:
        return passed(f"{text} Within a factor of 2.")
    return passed(f"{text} Which rung made the largest step, and what did it take away?")


def step_without_host(answer: Callable[[float, float], float]) -> CheckResult:
    """A function from a step's seconds and the device's share of it to seconds without the host."""
    inputs = [(0.050, 0.8), (0.020, 0.25), (0.012, 1.0)]
    return function(
        answer,
        [Case((s, d), s * d, f"step_without_host({s:g}, {d:g})") for s, d in inputs],
        "What the device computes stays. A step that it fills already gains nothing.",
        [
            Slip(lambda s, d: s * (1 - d), "That is the host's part, the one that goes away."),
            Slip(lambda s, d: s / d, "That is longer than before: multiply by the share."),
            Slip(lambda s, d: s, "The host's part, 1 − the share, goes away."),
        ],
    )


def int8_step_s(answer: Callable[[float, float, float], float]) -> CheckResult:
    """A function from float32 weight bytes, cache bytes and bytes/s to an int8 step's seconds."""
    inputs = [(538e6, 0.0, 20e9), (538e6, 94e6, 20e9), (32e9, 4.2e9, 3.35e12)]
    return function(
        answer,
        [Case(x, (x[0] / 4 + x[1]) / x[2], _call("int8_step_s", x)) for x in inputs],
        "A quarter of the weights' bytes, and the cache as it was.",
        [
            Slip(lambda w, kv, b: (w + kv) / 4 / b, "Only the weights are quantised here."),
            Slip(lambda w, kv, b: (w / 2 + kv) / b, "float32 has 4 bytes a number, int8 has 1."),
            Slip(lambda w, kv, b: w / 4 / b, "The cache is still read at each step."),
            Slip(lambda w, kv, b: (w / 8 + kv) / b, "8 bits are 1 byte: a quarter of float32's 4."),
            Slip(lambda w, kv, b: b / (w / 4 + kv), "That is steps a second. Turn it round."),
        ],
    )


def _call(name: str, x: Sequence[float]) -> str:
    return f"{name}({', '.join(f'{value:.3g}' for value in x)})"


def attention_saves(answer: Any) -> CheckResult:
    """What does a kernel that never writes the scores save: memory, FLOPs or both?"""
    return choice(
        answer,
        "memory",
        "The tiles are multiplied all the same. What is spared is the way to memory and back.",
        {
            "flops": "Every query still meets every key that it may see.",
            "both": "Every query still meets every key that it may see: the FLOPs stay.",
        },
    )


def accepted(answer: Callable[[list[int], list[int]], int]) -> CheckResult:
    """A function from the guesses and the model's own choices to how many guesses stand."""
    inputs = [
        ([5, 6, 7], [5, 6, 7, 8]),
        ([5, 6], [6, 5, 4]),
        ([5, 6, 7], [5, 9, 7, 8]),
        ([4, 4, 4], [4, 4, 5, 4]),
        ([], [3]),
    ]
    return function(
        answer,
        [Case((g, c), _stand(g, c), f"accepted({g}, {c})") for g, c in inputs],
        "The text is the model's own, up to the first guess that it would not have made.",
        [
            Slip(
                lambda g, c: sum(a == b for a, b in zip(g, c, strict=False)),
                "A right guess behind a wrong one follows from a text that is not there.",
            ),
            Slip(lambda g, c: sum(a in c for a in g), "It has to be the choice at the same place."),
            Slip(lambda g, c: _stand(g, c) + 1, "The model's own token is no guess."),
            Slip(
                lambda g, c: len(g) if list(g) == list(c)[: len(g)] else 0,
                "The guesses before the first wrong one stand.",
            ),
        ],
        tolerance=1e-9,
    )


def _stand(guesses: Sequence[int], chosen: Sequence[int]) -> int:
    for place, guess in enumerate(guesses):
        if guess != chosen[place]:
            return place
    return len(guesses)


def tokens_per_pass(answer: Callable[[float, int], float]) -> CheckResult:
    """A function from acceptance and number of guesses to expected tokens of a pass."""
    inputs = [(0.5, 2), (0.8, 4), (0.0, 8), (1.0, 3)]
    return function(
        answer,
        [Case((a, k), _expected(a, k), f"tokens_per_pass({a}, {k})") for a, k in inputs],
        "One of its own, and each guess that it and all before it were right for.",
        [
            Slip(lambda a, k: 1 + a * k, "A guess counts only if all before it were right too."),
            Slip(lambda a, k: a * k, "Guesses stand together, and the model adds a token itself."),
            Slip(lambda a, k: _expected(a, k) - 1, "The model's own token comes on top."),
            Slip(lambda a, k: 1 + a**k, "That counts the last guess only. Add up all of them."),
            Slip(lambda a, k: _expected(a, k - 1), "One guess is missing from your sum."),
        ],
    )


def _expected(acceptance: float, guesses: int) -> float:
    return sum(acceptance**place for place in range(guesses + 1))


def break_even(answer: Any) -> CheckResult:
    """A step takes 50 ms and a pass with 8 guesses 120 ms: tokens a pass that just pay."""
    return number(
        answer,
        2.4,
        "Below that many tokens a pass, each token costs more than one by one.",
        [
            Slip(1.4, "those are the guesses; the pass gives a token of its own as well."),
            Slip(50 / 120, "upside down."),
            Slip(9, "that is the most that it can give, not what pays."),
            Slip(8, "they need not all be right to pay."),
        ],
        tolerance=0.03,
    )


def which_first(answer: Any) -> CheckResult:
    """An 8B answers one user; the device computes 15 % of a step. What to try first?"""
    return choice(
        answer,
        "compile",
        "The device waits for the host most of the time, so fewer and larger launches come first.",
        {
            "quantise": "Fewer bytes shorten the 15 % that the device works, and no more.",
            "flash": "One token has a single row of scores; there is little to spare.",
        },
    )
