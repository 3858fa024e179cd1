"""Right and likely wrong answers to the exercises of lesson 08, and the climb they judge."""

from __future__ import annotations

from toys import trace_of

from labkit.records.ladder import Ladder, Rung

# 100 ms a token, then 25: four times as fast.
LADDER = Ladder(
    (
        Rung("naive", "", "", (trace_of(200, *[100] * 3),)),
        Rung("cached", "", "", (trace_of(200, *[25] * 3),)),
    )
)


def stand(guesses, chosen):
    right = 0
    while right < len(guesses) and guesses[right] == chosen[right]:
        right += 1
    return right


def expected(a, k):
    return sum(a**i for i in range(k + 1))


RIGHT = [
    ("fastest_rung", 4),
    ("fastest_rung", 100),
    ("step_without_host", lambda s, d: s * d),
    ("int8_step_s", lambda w, kv, b: (w / 4 + kv) / b),
    ("attention_saves", "memory"),
    ("accepted", stand),
    ("tokens_per_pass", expected),
    ("break_even", 120 / 50),
    ("which_first", "compile"),
]

WRONG = [
    ("fastest_rung", "much", "one number"),
    ("fastest_rung", -1, "one number"),
    ("step_without_host", lambda s, d: s * (1 - d), "goes away"),
    ("step_without_host", lambda s, d: s / d, "longer than before"),
    ("int8_step_s", lambda w, kv, b: (w + kv) / 4 / b, "Only the weights"),
    ("int8_step_s", lambda w, kv, b: (w / 2 + kv) / b, "4 bytes a number"),
    ("int8_step_s", lambda w, kv, b: (w / 8 + kv) / b, "8 bits are 1 byte"),
    ("attention_saves", "flops", "every key"),
    ("attention_saves", "both", "FLOPs stay"),
    (
        "accepted",
        lambda g, c: sum(a == b for a, b in zip(g, c, strict=False)),
        "text that is not there",
    ),
    ("accepted", lambda g, c: stand(g, c) + 1, "no guess"),
    ("accepted", lambda g, c: sum(a in c for a in g), "same place"),
    ("tokens_per_pass", lambda a, k: 1 + a * k, "all before it"),
    ("tokens_per_pass", lambda a, k: expected(a, k) - 1, "on top"),
    ("tokens_per_pass", lambda a, k: 1 + a**k, "last guess only"),
    ("break_even", 1.4, "token of its own"),
    ("break_even", 0.417, "upside down"),
    ("which_first", "quantise", "15 %"),
    ("which_first", "flash", "single row"),
]

OTHERS = {"fastest_rung": [LADDER]}
