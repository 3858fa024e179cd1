"""Right and likely wrong answers to the exercises of lesson 06."""

from __future__ import annotations


def cache(s, n, b, window=None):
    """With windows; `window` is how many positions a windowed layer keeps."""
    kept = min(n, window if window is not None else (s.window or n))
    full = s.layers - s.window_layers
    return 2 * s.kv_heads * s.head_dim * b * (full * n + s.window_layers * kept)


def one_short(s, n, b):
    return cache(s, n, b, (s.window or n + 1) - 1)


RIGHT = [
    ("cache_bytes", cache),
    ("cache_bytes", one_short),
    ("mla_saving", 71.1),
    ("mla_saving", 128 * (192 + 128) / 576),
    ("gib", lambda n: n / 1024**3),
    ("copied_bytes", lambda b, n: 2 * b * n),
    ("largest_batch", lambda m, w, c: (m - w) // c),
    ("largest_batch", lambda m, w, c: int((m - w) / c)),
    ("what_helps", "cache"),
]

WRONG = [
    ("cache_bytes", lambda s, n, b: cache(s, n, b, n), "no more positions than its window"),
    (
        "cache_bytes",
        lambda s, n, b: 2 * s.layers * s.kv_heads * s.head_dim * b * min(n, s.window or n),
        "keep everything",
    ),
    ("cache_bytes", lambda s, n, b: cache(s, n, b) * s.heads // s.kv_heads, "query heads"),
    ("cache_bytes", lambda s, n, b: cache(s, n, b) / 2, "both kept"),
    ("mla_saving", 128, "latent is wider"),
    ("mla_saving", 80, "rotated key"),
    ("mla_saving", 576 / 40960, "upside down"),
    ("gib", lambda n: n / 1e9, "powers of 1000"),
    ("gib", lambda n: n / 1024**2, "MiB"),
    ("gib", lambda n: n / 1e6 / 1024, "mixed"),
    ("copied_bytes", lambda b, n: b * n, "passes twice"),
    ("copied_bytes", lambda b, n: b, "old ones move"),
    ("largest_batch", lambda m, w, c: m // c, "same memory"),
    ("largest_batch", lambda m, w, c: m // (w + c), "subtract them once"),
    ("largest_batch", lambda m, w, c: (m - w) / c, "round down"),
    ("what_helps", "weights", "what is largest"),
    ("what_helps", "bandwidth", "about room"),
]
