"""Checks of lesson 00: sizes of the default model, and the two latencies read off a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean, median
from typing import Any

from ..records import CheckResult, Trace
from .answers import Case, Slip, function, not_ready, number

PARAMETERS = 134_515_008  # SmolLM2-135M; its output head is its embedding, so it counts once
DOWNLOAD_BYTES = 92_871_040


def weight_bytes(answer: Any) -> CheckResult:
    """Bytes that the default model's weights take in float32."""
    return number(
        answer,
        PARAMETERS * 4,
        "Every one of these bytes takes part in making every token.",
        [
            Slip(PARAMETERS * 32, "that is the number of bits. A byte has 8."),
            Slip(PARAMETERS * 2, "that would be a 16-bit format. float32 has 32 bits."),
            Slip(PARAMETERS * 4 / 1e6, "that is in megabytes; the question asks for bytes."),
            Slip(PARAMETERS, "that counts the parameters. Each takes more than one byte."),
            Slip(DOWNLOAD_BYTES, "that is the download, whose weights have fewer bits each."),
        ],
    )


def bits_per_weight(answer: Any) -> CheckResult:
    """Average bits of a weight in the file that was downloaded."""
    return number(
        answer,
        DOWNLOAD_BYTES * 8 / PARAMETERS,
        "The download holds rounded weights; the lab widens them to float32 when it prepares them. "
        "The rounding stays, only the format is wider.",
        [
            Slip(DOWNLOAD_BYTES / PARAMETERS, "that is in bytes. A byte has 8 bits."),
            Slip(PARAMETERS / DOWNLOAD_BYTES, "that is weights for each byte, upside down."),
            Slip(32, "that is what a weight takes in memory, not in the download."),
        ],
        tolerance=0.03,
    )


def tpot(answer: Callable[[Sequence[float]], float]) -> CheckResult:
    """A function from the seconds of each forward pass, the prefill first, to TPOT in seconds."""
    runs = [[0.9, 0.1, 0.1, 0.4], [0.25, 0.05, 0.07, 0.06], [0.02, 0.03]]
    return function(
        answer,
        [Case((list(run),), mean(run[1:]), f"tpot({run})") for run in runs],
        "The first token stays out: it has its own name, TTFT, and its own cost.",
        [
            Slip(mean, "The prefill is in your mean. TPOT starts after the first token."),
            Slip(
                lambda s: sum(s[1:]) / len(s),
                "You divided by all tokens. The gaps between n tokens are n − 1.",
            ),
            Slip(
                lambda s: median(s[1:]),
                "That is the median gap. TPOT is the mean: it times the gaps makes the total.",
            ),
            Slip(lambda s: s[0], "That is TTFT, the first pass."),
        ],
    )


def tokens_per_s(answer: Any, trace: Trace) -> CheckResult:
    """Tokens that one second of decode gives, from the learner's own run."""
    if waiting := not_ready(answer, trace):
        return waiting
    gap_s = trace.tpot_s
    return number(
        answer,
        1 / gap_s,
        "One user's speed while the text streams; TTFT is waited for before that, and apart.",
        [
            Slip(trace.tokens_per_s, "the wait for the first token is in there; use TPOT alone."),
            Slip(gap_s, "that is seconds for each token. Turn it round."),
            Slip(1e-3 / gap_s, "that is tokens for each millisecond. A second has 1,000."),
            Slip(1e3 / gap_s, "TPOT is already in seconds; the 1,000 is one too many."),
        ],
    )


def answer_s(answer: Callable[[float, float, int], float]) -> CheckResult:
    """A function from TTFT, TPOT and a number of tokens to the seconds of the whole answer."""
    inputs = [(0.5, 0.1, 100), (2.0, 0.02, 11), (0.3, 0.05, 1)]
    return function(
        answer,
        [Case((a, b, n), a + (n - 1) * b, f"answer_s({a}, {b}, {n})") for a, b, n in inputs],
        "A long answer is nearly all TPOT, a short one after a long prompt nearly all TTFT.",
        [
            Slip(
                lambda a, b, n: a + n * b,
                "The first token comes at the end of TTFT, so n − 1 gaps are left.",
            ),
            Slip(lambda a, b, n: n * b, "The wait for the first token is missing."),
            Slip(lambda a, b, n: n * (a + b), "TTFT is paid once, not for each token."),
        ],
    )


def characters_per_token(answer: Any, trace: Trace) -> CheckResult:
    """Characters of the generated text for each of its tokens."""
    if waiting := not_ready(answer, trace):
        return waiting
    text, tokens = trace.text(), len(trace.steps)
    return number(
        answer,
        len(text) / tokens,
        "So tokens per second are not words per second; and another tokenizer has another ratio, "
        "which is why speeds of two models compare badly in tokens.",
        [
            Slip(tokens / max(len(text), 1), "that is tokens for each character, upside down."),
            Slip(len(text), "that is all characters. Divide by the number of tokens."),
            Slip(len(text.split()) / tokens, "that is words for each token. Count characters."),
        ],
    )
