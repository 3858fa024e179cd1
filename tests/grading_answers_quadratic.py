"""Right and likely wrong answers to the exercises of lesson 02."""

from __future__ import annotations

from math import log

RIGHT = [
    ("causal_pairs", lambda n: n * (n + 1) // 2),
    ("causal_pairs", lambda n: sum(range(n + 1))),
    ("matrix_bytes", lambda h, n, b: h * n**2 * b),
    ("exponent", lambda a, s, b, t: log(t / s) / log(b / a)),
    ("meeting_length", lambda m, layers, h, d: m / (layers * h * d)),
    ("meeting_length", lambda m, layers, h, d: m / (layers * h * d) - 1),
    ("token_ratio", 100),
    ("token_ratio", 113.4),
    ("twice_as_long", "Four times"),
]

WRONG = [
    ("causal_pairs", lambda n: n * n, "all pairs"),
    ("causal_pairs", lambda n: n * (n - 1) // 2, "diagonal is in"),
    ("causal_pairs", lambda n: n * n / 2, "counts whole"),
    ("matrix_bytes", lambda h, n, b: n * n * b, "one head"),
    ("matrix_bytes", lambda h, n, b: h * n * (n + 1) // 2 * b, "full square"),
    ("matrix_bytes", lambda h, n, b: h * n * b, "one row"),
    ("exponent", lambda a, s, b, t: (t / s) / (b / a), "divides the ratios"),
    ("exponent", lambda a, s, b, t: log(b / a) / log(t / s), "Upside down"),
    ("exponent", lambda a, s, b, t: log(t) / log(b), "second point alone"),
    ("meeting_length", lambda m, layers, h, d: m / (2 * layers * h * d), "every pair"),
    ("meeting_length", lambda m, layers, h, d: m / (h * d), "Every layer"),
    ("meeting_length", lambda m, layers, h, d: m / (layers * d), "Every head"),
    ("token_ratio", 10_000, "square of the ratio"),
    ("token_ratio", 1, "with a cache"),
    ("twice_as_long", "twice", "later passes are longer"),
    ("twice_as_long", "eight times", "short text"),
]
