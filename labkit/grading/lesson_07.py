"""Checks of lesson 07: many users on one GPU.

`Serving`s are the learner's own runs; the rest is arithmetic about slots, loads and batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..records import CheckResult
from ..records.serving import Serving
from . import answers
from .answers import Case, Slip, choice, function, number, passed, show, wrong

SHORT = CheckResult("not yet", "The run is too short for this: let both policies serve everybody.")


def saturation(answer: Callable[[float, float, float, float, float], float]) -> CheckResult:
    """A function from the bytes and FLOPs of a step, and two roofs, to the batch of saturation."""
    inputs = [
        (538e6, 269e6, 1.5e6, 4e10, 2e10),
        (16e9, 16e9, 0.13e9, 9.9e14, 3.35e12),
        (16e9, 16e9, 4e9, 9.9e14, 3.35e12),
    ]

    def right(w, flops, kv, f, b):
        return w / b / max(flops / f, kv / b)

    return function(
        answer,
        [Case(x, right(*x), f"saturation({', '.join(f'{v:.3g}' for v in x)})") for x in inputs],
        "Short contexts saturate arithmetic, long ones bandwidth: then the caches are the load.",
        [
            Slip(
                lambda w, flops, kv, f, b: w / b / (flops / f),
                "Each sequence also brings a cache that has to be read.",
            ),
            Slip(
                lambda w, flops, kv, f, b: w / kv,
                "Each sequence also brings arithmetic, and in short contexts it takes longer.",
            ),
            Slip(
                lambda w, flops, kv, f, b: w / b / (flops / f + kv / b),
                "Reading and computing run at the same time: the longer one counts, not the sum.",
            ),
            Slip(
                lambda w, flops, kv, f, b: 1 / right(w, flops, kv, f, b),
                "Upside down: what is shared, over what each sequence adds.",
            ),
        ],
    )


def batch_gain(answer: Any, batches: Sequence[Serving]) -> CheckResult:
    """Sets a predicted gain in tokens/s, largest batch over one sequence, beside the run."""
    if answers.is_blank(answer):
        return answers.NOT_YET
    rates = [_decode_rate(serving) for serving in batches]
    if len(rates) < 2 or None in rates:
        return CheckResult("not yet", "The run is too short for this: let it time all batches.")
    return _beside(
        answer,
        rates[-1] / rates[0],
        f"{batches[-1].slots} sequences together made {{}} times the tokens a second of one",
        "One pass serves all of them, but a larger pass takes longer, on a CPU a good deal.",
    )


def _decode_rate(serving: Serving) -> float | None:
    decode = [each for each in serving.passes if each.kind == "decode"]
    total_ns = sum(each.wall_ns for each in decode)
    return sum(each.made for each in decode) / total_ns if total_ns else None


def wasted_slots(answer: Callable[[list[int], int], float]) -> CheckResult:
    """A function from the steps that each request needs, and the slots, to the share wasted."""
    runs = ([10, 40, 20, 10], [5, 50, 5, 5, 5, 5], [30, 30, 30, 30], [9, 3, 6])
    inputs = list(zip(runs, (2, 3, 4, 2), strict=True))
    return function(
        answer,
        [Case(x, _wasted(*x), f"wasted_slots({x[0]}, {x[1]})") for x in inputs],
        "The rectangle of each batch less what was asked for. Nothing depends on the model.",
        [
            Slip(lambda steps, n: 1 - _wasted(steps, n), "That is the share that was used."),
            Slip(
                lambda steps, n: 1 - sum(steps) / (len(steps) * max(steps)),
                "Each batch lasts as long as its own longest answer, not the longest of all.",
            ),
            Slip(
                lambda steps, n: 1 - sum(steps) / sum(len(b) * max(b) for b in _batches(steps, n)),
                "The last batch is not full, and its empty slots make tokens for nobody too.",
            ),
            Slip(
                lambda steps, n: sum(n * max(b) for b in _batches(steps, n)) - sum(steps),
                "Those are the wasted slots themselves. Divide by all.",
            ),
        ],
    )


def _batches(steps: Sequence[int], slots: int) -> list[Sequence[int]]:
    return [steps[start : start + slots] for start in range(0, len(steps), slots)]


def _wasted(steps: Sequence[int], slots: int) -> float:
    all_slots = sum(slots * max(batch) for batch in _batches(steps, slots))
    return 1 - sum(steps) / all_slots


def gain(answer: Any, static: Serving, continuous: Serving) -> CheckResult:
    """Sets a predicted gain of continuous over static batching beside the learner's own run."""
    if answers.is_blank(answer):
        return answers.NOT_YET
    for serving in (static, continuous):
        if not serving.passes or not all(times.done for times in serving.requests):
            return SHORT
    return _beside(
        answer,
        continuous.tokens_per_s / static.tokens_per_s,
        "continuous batching gave {} times the tokens a second of static batches",
        "At most it is 1 ÷ (1 − wasted slots); the prompts, read one by one, take some of that.",
    )


def equal_lengths(answer: Any) -> CheckResult:
    """All at once, all answers equally long: what does continuous batching gain?"""
    return choice(
        answer,
        "nothing",
        "Every slot of a batch becomes free at the same step, so there is nothing to refill early.",
        {
            "the same": "Where would the gain come from? No slot waits for a longer answer.",
            "more": "No slot waits for a longer answer, so none can be put to better use.",
        },
    )


def in_flight(answer: Callable[[float, float], float]) -> CheckResult:
    """Little's law: a function from arrivals a second and the time of a stay to people inside."""
    inputs = [(2.0, 6.0), (0.5, 30.0), (40.0, 1.5)]
    return function(
        answer,
        [Case(x, x[0] * x[1], f"in_flight({x[0]:g}, {x[1]:g})") for x in inputs],
        "Little's law. It holds for any policy and any distribution, as long as people get out.",
        [
            Slip(lambda rate, stay: rate / stay, "People who stay longer make the room fuller."),
            Slip(lambda rate, stay: stay / rate, "More arrivals make the room fuller."),
            Slip(lambda rate, stay: rate, "How long each of them stays matters as well."),
        ],
    )


def slots_needed(answer: Any) -> CheckResult:
    """4 requests a second; an answer takes 6 s in its slot. How many slots at the least?"""
    return number(
        answer,
        24,
        "Little's law for the slots alone. A few more keep the queue short when luck is bad.",
        [
            Slip(4, "that would do if each answer took one second."),
            Slip(1.5, "upside down: rate × time."),
            Slip(6, "how many arrive in those 6 s?"),
        ],
        tolerance=0.01,
    )


def overload(answer: Any) -> CheckResult:
    """More arrives than can be served, for an hour. What does the wait for a first token do?"""
    return choice(
        answer,
        "grows",
        "Each second adds more than it takes away. No faster prefill helps: it is all queue. More "
        "capacity does, or turning somebody away.",
        {
            "settles": "At a level where as much leaves as comes? More comes than can ever leave.",
            "stays": "Everybody stands behind those who came before, and that line gets longer.",
        },
    )


def _beside(answer: Any, measured: float, said: str, why: str) -> CheckResult:
    """A prediction beside what was measured; no prediction is wrong."""
    values = answers.numbers(answer)
    if values is None or len(values) != 1 or not 0 < values[0] < float("inf"):
        return wrong("Write one number above 0.")
    text = f"You said {show(values[0])}; {said.format(f'{measured:.2f}')}."
    close = 2 / 3 <= values[0] / measured <= 1.5
    return passed(f"{text} Close." if close else f"{text} {why}")
