"""Right and likely wrong answers to the exercises of lesson 07, and the runs they need."""

from __future__ import annotations

from toys import MACHINE

from labkit.records.serving import Request, RequestTimes, ServedPass, Serving


def serving(policy: str, last_s: float, made: list[int], slots: int = 2) -> Serving:
    """Two requests of 11 tokens that arrive at 0, get their first token after 1 s, end together."""
    ids = tuple(range(11))
    requests = tuple(
        RequestTimes(Request(n, 0.0, 4, 11), n, 0.0, 1.0, last_s, last_s, ids) for n in range(2)
    )
    passes = [ServedPass("prefill", 0.0, 10**9, 2, 8)]
    for place, tokens in enumerate(made):
        passes.append(ServedPass("decode", 1.0 + place, 10**9, tokens, slots))
    return Serving(policy, slots, requests, tuple(passes), "toy", None, "float32", MACHINE)


STATIC = serving("static", 22.0, [1] * 20)
CONTINUOUS = serving("continuous", 11.0, [2] * 10)
BATCHES = (serving("static", 11.0, [1] * 10, 1), serving("static", 11.0, [3] * 10, 4))


def saturate(w, flops, kv, f, b):
    return (w / b) / max(flops / f, kv / b)


def wasted(steps, slots):
    batches = [steps[i : i + slots] for i in range(0, len(steps), slots)]
    return 1 - sum(steps) / sum(slots * max(batch) for batch in batches)


RIGHT = [
    ("saturation", saturate),
    ("saturation", lambda w, flops, kv, f, b: min(w / b * f / flops, w / kv)),
    ("batch_gain", 3),
    ("batch_gain", 100),
    ("wasted_slots", wasted),
    ("gain", 2),
    ("gain", 50),
    ("equal_lengths", "nothing"),
    ("in_flight", lambda rate, stay: rate * stay),
    ("slots_needed", 24),
    ("overload", "grows"),
]

WRONG = [
    ("saturation", lambda w, flops, kv, f, b: w / b * f / flops, "brings a cache"),
    ("saturation", lambda w, flops, kv, f, b: w / kv, "brings arithmetic"),
    ("saturation", lambda w, flops, kv, f, b: w / b / (flops / f + kv / b), "not the sum"),
    ("saturation", lambda *x: 1 / saturate(*x), "Upside down"),
    ("batch_gain", "three", "one number above 0"),
    ("batch_gain", -2, "one number above 0"),
    ("wasted_slots", lambda steps, n: 1 - wasted(steps, n), "share that was used"),
    (
        "wasted_slots",
        lambda steps, n: 1 - sum(steps) / (len(steps) * max(steps)),
        "its own longest answer",
    ),
    ("gain", "twice", "one number above 0"),
    ("gain", 0, "one number above 0"),
    ("equal_lengths", "the same", "No slot waits"),
    ("equal_lengths", "more", "better use"),
    ("in_flight", lambda rate, stay: rate / stay, "fuller"),
    ("in_flight", lambda rate, stay: stay / rate, "More arrivals"),
    ("in_flight", lambda rate, stay: rate, "How long"),
    ("slots_needed", 4, "one second"),
    ("slots_needed", 1.5, "upside down"),
    ("overload", "settles", "can ever leave"),
    ("overload", "stays", "line gets longer"),
]

OTHERS = {"gain": [STATIC, CONTINUOUS], "batch_gain": [BATCHES]}
