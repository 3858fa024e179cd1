"""Checks of lesson 09: the break-even answer, the classifier, a hidden wait, and Amdahl's law."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from ..records import CheckResult
from . import answers
from .answers import Case, Slip, choice, function, passed, show, wrong
from .time_limit import TookTooLong, time_limit

PREFILL, DECODE = "prefill-bound", "decode-bound"
LIMIT_S = 1.0
DRAWN = 200
CLEARLY = 1.2  # drawn cases differ at least so much: nobody's rounding decides them


@dataclass(frozen=True)
class Metrics:
    """What a dashboard shows of one request that waited for nobody."""

    ttft_s: float
    tpot_s: float
    prompt_tokens: int
    output_tokens: int

    @property
    def decode_s(self) -> float:
        """The first token comes with TTFT; the others take a TPOT each."""
        return self.tpot_s * (self.output_tokens - 1)

    def __repr__(self) -> str:
        times = f"ttft_s={self.ttft_s:.4g}, tpot_s={self.tpot_s:.4g}"
        return f"{times}, prompt_tokens={self.prompt_tokens}, output_tokens={self.output_tokens}"


# Plain ones first, then those at which one of the slips below errs.
KNOWN = (
    Metrics(0.05, 0.5, 40, 100),
    Metrics(6.0, 0.03, 12_000, 50),
    Metrics(2.0, 0.02, 900, 1500),
    Metrics(1.2, 0.04, 9000, 400),
    Metrics(0.5, 0.05, 100, 5),
    Metrics(0.3, 0.2, 3000, 2),
    Metrics(0.9, 0.0, 600, 1),
)


def _words(prefill: bool) -> str:
    return PREFILL if prefill else DECODE


SLIPS = (
    Slip(
        lambda m: _words(m.ttft_s > m.tpot_s),
        "You compare TTFT with a single token. An answer has many: how long do all of them take?",
    ),
    Slip(
        lambda m: _words(m.ttft_s > m.tpot_s * m.output_tokens),
        "The first token is in TTFT already: n tokens have n − 1 gaps.",
    ),
    Slip(
        lambda m: _words(m.prompt_tokens > m.output_tokens),
        "Lengths alone don't tell: the prompt's tokens go through together, the answer's one by "
        "one.",
    ),
    Slip(
        lambda m: _words(m.ttft_s > m.tpot_s * m.prompt_tokens),
        "You compare one token of the prompt with one of the answer. The wait is made of all.",
    ),
    Slip(
        lambda m: _words(m.ttft_s > 1),
        "A limit for TTFT alone can't do: a long wait may be followed by a longer one.",
    ),
    Slip(lambda m: _words(m.ttft_s < m.decode_s), "The two words are the wrong way round."),
)


def classify(answer: Callable[[Metrics], str]) -> CheckResult:
    """A function from `Metrics` to "prefill-bound" or "decode-bound", on some 200 cases."""
    if answers.is_blank(answer):
        return answers.NOT_YET
    if not callable(answer):
        return wrong("A function is wanted here: write its name alone, without calling it.")
    given: list[tuple[Metrics, str]] = []
    try:
        with time_limit(LIMIT_S):
            for metrics in cases():
                word, problem = answers.run(answer, (metrics,), f"classify({metrics})")
                problem = problem or _no_word(metrics, word)
                if problem:
                    return problem
                given.append((metrics, word.strip()))
    except TookTooLong:
        return wrong(f"It had not ended after {LIMIT_S:g} s: is there a loop that never ends?")
    return _judge(given)


def cases() -> list[Metrics]:
    """The known ones, then drawn ones, always the same."""
    rng = Random(9)  # noqa: S311 - exercises, no secret
    drawn = (_draw(rng) for _ in range(4 * DRAWN))
    clear = [m for m in drawn if abs(math.log(m.ttft_s / (m.decode_s or 1e-9))) > math.log(CLEARLY)]
    return [*KNOWN, *clear[:DRAWN]]


def _draw(rng: Random) -> Metrics:
    def between(low: float, high: float) -> float:
        return low * (high / low) ** rng.random()

    times = float(f"{between(0.02, 20):.3g}"), float(f"{between(0.005, 0.5):.3g}")
    return Metrics(*times, round(between(10, 20_000)), round(between(2, 2000)))


def _no_word(metrics: Metrics, given: Any) -> CheckResult | None:
    if isinstance(given, str) and given.strip() in (PREFILL, DECODE):
        return None
    return wrong(f'classify({metrics}) gave {show(given)}. Return "{PREFILL}" or "{DECODE}".')


def _judge(given: list[tuple[Metrics, str]]) -> CheckResult:
    """The first counter-example, and the slip that explains all answers, if one does."""
    errors = [(m, word) for m, word in given if word != _words(m.ttft_s > m.decode_s)]
    if not errors:
        return passed(
            f"Right on all {len(given)} cases: the larger part of the wait, whatever the lengths. "
            "Where the two are close, say so instead: the lab's own rule wants 60 %."
        )
    m, word = errors[0]
    reasons = [slip.reason for slip in SLIPS if all(slip.answer(n) == w for n, w in given)]
    return wrong(
        f'classify({m}) gave "{word}", and "{_words(m.ttft_s > m.decode_s)}" is right: '
        f"{m.ttft_s:.3g} s before the first token, {m.output_tokens - 1:,} × {m.tpot_s:.3g} s = "
        f"{m.decode_s:.3g} s after it. {len(errors)} of {len(given)} cases are wrong. "
        + "".join(reasons[:1])
    )


def even_tokens(answer: Callable[[float, float], float]) -> CheckResult:
    """A function from TTFT and TPOT to the answer's length at which both parts take as long."""
    inputs = [(0.05, 0.5), (2.0, 0.02), (0.7, 0.035)]
    return function(
        answer,
        [Case(x, 1 + x[0] / x[1], f"even_tokens({x[0]}, {x[1]})") for x in inputs],
        "Longer answers are decode's, shorter ones prefill's; the same server can be both.",
        [
            Slip(lambda first, gap: first / gap, "The first token comes with TTFT: one more."),
            Slip(lambda first, gap: gap / first, "Upside down: how many gaps fit into TTFT?"),
            Slip(lambda first, gap: 1 + gap / first, "Upside down: how many gaps fit into TTFT?"),
        ],
        tolerance=1e-3,
    )


def hidden_wait(answer: Any) -> CheckResult:
    """The load test: what takes most of the wait, "queue", "prefill" or "decode"?"""
    return choice(
        answer,
        "queue",
        "The quickest first token shows what prefill costs: 0.4 s. The other 8.6 s of TTFT are "
        "waiting, more than the 4 s of decode.",
        {
            "prefill": "TTFT is 9 s, but somebody got a first token after 0.4 s from the same "
            "kind of prompt. What did the others do in between?",
            "decode": "101 tokens make 100 gaps of 40 ms, 4 s. There is a larger part.",
        },
    )


def whole_speed_up(answer: Callable[[float, float], float]) -> CheckResult:
    """A function from a part's share and how many times faster it gets to the whole's speed-up."""
    inputs = [(0.9, 3.0), (0.5, 2.0), (0.1, 10.0)]
    return function(
        answer,
        [Case(x, 1 / (1 - x[0] + x[0] / x[1]), f"whole_speed_up({x[0]}, {x[1]})") for x in inputs],
        "What is not touched stays. That is why the largest part comes first.",
        [
            Slip(lambda share, times: times, "That holds for the part alone; the rest stays."),
            Slip(lambda share, times: 1 + share * (times - 1), "Add up times, not speeds."),
            Slip(lambda share, times: share * times, "Add up what is left of the time first."),
            Slip(lambda share, times: 1 - share + share / times, "That is the time that is left."),
            Slip(lambda share, times: 1 / (1 - share), "That would be so if the part vanished."),
        ],
        tolerance=1e-3,
    )
