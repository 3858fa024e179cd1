"""Checks of lesson 02: what grows with the square of the length, what with the length, and when."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

from ..records import CheckResult, ModelShape
from ..roofline import matrix_parameters, naive_step
from .answers import Case, Slip, choice, function, number

SMALL = ModelShape("SmolLM2-135M", "llama", 30, 576, 9, 3, 64, 1536, 49152, 8192, tied=True)
LARGE = ModelShape("Llama-3.1-8B", "llama", 32, 4096, 32, 8, 128, 14336, 128256, 131072, tied=False)


def causal_pairs(answer: Callable[[int], int]) -> CheckResult:
    """A function from a number of tokens to the pairs of query and key that the mask leaves."""
    return function(
        answer,
        [Case((n,), n * (n + 1) // 2, f"causal_pairs({n})") for n in (4, 1, 1000)],
        "About half the square. Half of a square still grows with the square.",
        [
            Slip(lambda n: n * n, "Those are all pairs. A query sees no key after its own."),
            Slip(
                lambda n: n * (n - 1) // 2,
                "A position sees its own key too: the diagonal is in.",
            ),
            Slip(lambda n: n * n / 2, "Close, but the diagonal counts whole: n more halves."),
        ],
    )


def matrix_bytes(answer: Callable[[int, int, int], int]) -> CheckResult:
    """A function from heads, tokens and bytes of a number to the bytes of one layer's matrices."""
    inputs = [(9, 128, 4), (32, 64, 2), (1, 3, 2)]
    return function(
        answer,
        [Case(x, x[0] * x[1] ** 2 * x[2], "matrix_bytes({}, {}, {})".format(*x)) for x in inputs],
        "And a kernel that never writes them needs none of these bytes, but all of the FLOPs.",
        [
            Slip(lambda h, n, b: n * n * b, "That is one head. Each head has a matrix of its own."),
            Slip(
                lambda h, n, b: h * n * (n + 1) // 2 * b,
                "Written out, the matrix is a full square: the masked half is stored too.",
            ),
            Slip(lambda h, n, b: h * n * n, "Those are numbers. Each takes several bytes."),
            Slip(lambda h, n, b: h * n * b, "That is one row for each head. There are n rows."),
        ],
    )


def exponent(answer: Callable[[float, float, float, float], float]) -> CheckResult:
    """A function from two lengths and their times to p, where time grows as length to the p."""
    inputs = [(100, 1.0, 200, 4.0), (64, 0.5, 512, 4.0), (1000, 2.0, 3000, 2.0 * 3**1.5)]
    cases = [
        Case(x, log(x[3] / x[1]) / log(x[2] / x[0]), "exponent({}, {}, {}, {:.3g})".format(*x))
        for x in inputs
    ]
    return function(
        answer,
        cases,
        "The slope between two points where both axes are logarithmic.",
        [
            Slip(
                lambda a, s, b, t: (t / s) / (b / a),
                "That divides the ratios. Ask which power of the length's ratio gives the time's.",
            ),
            Slip(
                lambda a, s, b, t: log(t) / log(b),
                "That takes the second point alone; a constant factor would spoil it.",
            ),
            Slip(
                lambda a, s, b, t: log(b / a) / log(t / s), "Upside down: time's logarithm on top."
            ),
        ],
        tolerance=1e-4,
    )


def meeting_length(answer: Callable[[int, int, int, int], float]) -> CheckResult:
    """A function from matrix weights, layers, heads and head size to the length where causal
    attention has as many FLOPs as the linear layers."""
    inputs = [(matrix_parameters(s), s.layers, s.heads, s.head_dim) for s in (SMALL, LARGE)]
    return function(
        answer,
        [Case(x, x[0] / (x[1] * x[2] * x[3]), _meeting_call(x)) for x in inputs],
        "Thousands of tokens: below that length a naive pass is mostly linear layers.",
        [
            Slip(
                lambda m, layers, h, d: m / (2 * layers * h * d),
                "That counts every pair. The causal mask leaves half of them.",
            ),
            Slip(
                lambda m, layers, h, d: 2 * m / (layers * h * d),
                "Twice too long. Scores and weighted sums: both are products over the head size.",
            ),
            Slip(lambda m, layers, h, d: m / (h * d), "Every layer has attention of its own."),
            Slip(lambda m, layers, h, d: m / (layers * d), "Every head attends by itself."),
        ],
        tolerance=0.01,
    )


def _meeting_call(x: tuple) -> str:
    return "meeting_length({:,}, {}, {}, {})".format(*x)


def token_ratio(answer: Any) -> CheckResult:
    """Work of SmolLM2's naive pass for token 1,000 against token 10; 100 is near enough."""
    right = naive_step(SMALL, 1000).flops / naive_step(SMALL, 10).flops
    return number(
        answer,
        right,
        f"By FLOPs {right:.0f} times: 100 from the linear layers, a little more from attention, a "
        "little less since the output head runs once for each pass. The clock may say less.",
        [
            Slip(10_000, "that is the square of the ratio. Only attention grows so, a small part."),
            Slip(1, "that would hold with a cache. The naive pass reads all positions again."),
            Slip(1000, "the pass for token 10 is not for one position: it reads 10."),
        ],
        tolerance=0.15,
    )


def twice_as_long(answer: Any) -> CheckResult:
    """The naive loop's total work, if an answer is twice as long and texts are short."""
    return choice(
        answer,
        "four times",
        "Twice as many passes, each twice as long on average: a square, though each pass alone is "
        "nearly linear. Far beyond the meeting length it turns into eight times.",
        {
            "twice": "That counts the passes. The later passes are longer, too.",
            "eight times": "That holds where attention is nearly all of a pass, far beyond the "
            "meeting length. A short text's passes are mostly linear layers.",
        },
    )
