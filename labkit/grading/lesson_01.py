"""Checks of lesson 01: picking a token, and counting forward passes and positions.

Logits come from the learner's notebook as a tensor of any kind with `tolist`, `repeat`, `abs` and
`new_tensor`; nothing here imports torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..records import CheckResult
from .answers import Case, Slip, choice, function, not_ready, number


def pick_greedy(answer: Callable[[Any], Any], logits: Any) -> CheckResult:
    """A function from logits (B, vocab) to the id of the likeliest token of each row (B,)."""
    if waiting := not_ready(answer):
        return waiting
    two_rows = _two_rows(logits)
    inputs = [(logits + 0, "logits"), (-logits.abs(), "-logits.abs()"), (two_rows, "two rows")]
    return function(
        answer,
        [Case((x,), [_best(row) for row in x.tolist()], f"pick_greedy({n})") for x, n in inputs],
        "No softmax was needed: it would not change which logit is the largest.",
        [
            Slip(
                lambda x: [max(row) for row in x.tolist()],
                "Those are the largest logits themselves. Their places are wanted.",
            ),
            Slip(
                lambda x: _best([v for row in x.tolist() for v in row]),
                "Without a dimension, argmax looks at the whole batch as one long row.",
            ),
            Slip(
                lambda x: [row.index(min(row)) for row in x.tolist()],
                "Those are the least likely tokens.",
            ),
        ],
    )


def probabilities(answer: Callable[[Any, float], Any], logits: Any) -> CheckResult:
    """A function from logits (B, vocab) and a temperature to probabilities (B, vocab)."""
    if waiting := not_ready(answer):
        return waiting
    few = _two_rows(logits)[:, :50]
    cases = [
        Case((few + 0, t), _softmax_rows(few, 1 / t), f"probabilities(logits, {t})")
        for t in (0.5, 2.0, 1.0)
    ]
    return function(
        answer,
        cases,
        "Below 1 the temperature stretches the logits apart, above 1 it draws them together.",
        [
            Slip(
                lambda x, t: _softmax_rows(x, t),
                "You multiplied by the temperature. A high one must make the logits more alike.",
            ),
            Slip(
                lambda x, t: [p / t for row in _softmax_rows(x, 1) for p in row],
                "The temperature must act before the softmax: these do not add up to 1.",
            ),
            Slip(lambda x, t: _softmax_rows(x, 1), "The temperature has no effect yet."),
        ],
        tolerance=1e-3,
    )


def overlap(answer: Any) -> CheckResult:
    """Can step k start before step k − 1 has ended? "yes" or "no"."""
    return choice(
        answer,
        "no",
        "Step k reads the token that step k − 1 picks, and that token is known only at its end.",
        {
            "yes": "Step k reads the token that step k − 1 picks. Which id would you feed it "
            "before that is known? Guessing one and checking it later is a real technique, with "
            "its own price; the plain loop can't."
        },
    )


def forward_passes(answer: Callable[[int, int], int]) -> CheckResult:
    """A function from prompt tokens and new tokens to the number of forward passes."""
    inputs = [(5, 12), (1, 1), (700, 3)]
    return function(
        answer,
        [Case((p, n), n, f"forward_passes({p}, {n})") for p, n in inputs],
        "The prompt costs no pass of its own: the pass that reads it gives the first new token.",
        [
            Slip(
                lambda p, n: p + n,
                "The prompt's tokens are all known, so one pass reads them together.",
            ),
            Slip(
                lambda p, n: n + 1,
                "One too many: the pass over the prompt already gives the first new token.",
            ),
            Slip(lambda p, n: n - 1, "One too few: the first new token needs a pass too."),
            Slip(lambda p, n: p * n, "A pass reads many positions at once; count the passes."),
        ],
    )


def tokens_processed_naive(answer: Callable[[int, int], int]) -> CheckResult:
    """A function from prompt and new tokens to the positions that all passes read together."""
    inputs = [(5, 3), (5, 12), (1, 1), (40, 1000)]
    return function(
        answer,
        [Case((p, n), _naive(p, n), f"tokens_processed_naive({p}, {n})") for p, n in inputs],
        "n × prompt + n(n − 1)/2: the second part grows with the square of the text's length, "
        "though each single pass is only one position longer than the one before.",
        [
            Slip(
                lambda p, n: _naive(p + 1, n),
                "The first pass reads the prompt alone, and the last token is never read.",
            ),
            Slip(lambda p, n: p + n, "Each pass reads everything before it again."),
            Slip(lambda p, n: p + n - 1, "Each pass reads everything before it again."),
            Slip(lambda p, n: n * (p + n), "Early passes are shorter than the last one."),
            Slip(lambda p, n: n * p, "The new tokens are read again too, not the prompt alone."),
        ],
        tolerance=1e-9,
    )


def passes_until_eos(answer: Any, token_ids: Sequence[int]) -> CheckResult:
    """Forward passes of a reply whose last token is the end-of-sequence token."""
    if waiting := not_ready(answer):
        return waiting
    passes = len(token_ids)
    return number(
        answer,
        passes,
        "The end-of-sequence token is picked by a forward pass like every other token.",
        [
            Slip(passes - 1, "the end-of-sequence token shows no text, but a pass had to pick it."),
            Slip(passes + 1, "nothing runs after the end-of-sequence token: the loop has stopped."),
        ],
        tolerance=1e-9,
    )


# ---- what is right ------------------------------------------------------------------------------


def _naive(prompt: int, new: int) -> int:
    return sum(prompt + k for k in range(new))


def _best(row: list[float]) -> int:
    return row.index(max(row))


def _two_rows(logits: Any) -> Any:
    """The first row of (B, vocab) twice, the second time with all signs turned."""
    return logits[:1].repeat(2, 1) * logits.new_tensor([[1.0], [-1.0]])


def _softmax_rows(logits: Any, factor: float) -> list[list[float]]:
    rows = []
    for row in logits.tolist():
        top = max(x * factor for x in row)
        weights = [math.exp(x * factor - top) for x in row]
        rows.append([w / sum(weights) for w in weights])
    return rows
