"""Checks of lesson 06: how large the cache is, what copying it moves, and what fits beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..records import CheckResult, ModelShape
from ..records.model_shape import Mla
from ..roofline import kv_bytes, kv_elements, mha_kv_bytes_per_token
from .answers import Case, Slip, choice, function, number

# Shapes as of SmolLM2-135M, Mistral-7B and Gemma-2-2B: no window, windows in all layers, in half.
SMALL = ModelShape("SmolLM2-135M", "llama", 30, 576, 9, 3, 64, 1536, 49152, 8192, tied=True)
ALL = ModelShape(
    "Mistral-7B", "mistral", 32, 4096, 32, 8, 128, 14336, 32000, 32768, False, 4096, 32
)
HALF = ModelShape("Gemma-2-2B", "gemma2", 26, 2304, 8, 4, 256, 9216, 256000, 8192, True, 4096, 13)
LATENT = ModelShape(
    "DeepSeek-V3",
    "deepseek_v3",
    61,
    7168,
    128,
    128,
    192,
    18432,
    129280,
    163840,
    False,
    mla=Mla(512, 128, 64, 128, 1536),
)


def cache_bytes(answer: Callable[[ModelShape, int, int], int]) -> CheckResult:
    """A function from shape, positions and bytes of a number to a sequence's cache, with windows.

    `window` or `window − 1` positions are both right: how many stay is the library's choice.
    """
    inputs = [(SMALL, 1000, 4), (ALL, 1000, 2), (ALL, 20_000, 2), (HALF, 8000, 2)]
    cases = [Case(x, _cached(*x), f"cache_bytes({x[0].name}, {x[1]}, {x[2]})") for x in inputs]
    return function(
        answer,
        cases,
        "A layer with a window stops growing; the others go on.",
        [
            Slip(
                lambda s, n, b: _cached(replace(s, window=None, window_layers=0), n, b),
                "A layer with a window keeps no more positions than its window.",
            ),
            Slip(
                lambda s, n, b: s.layers * kv_elements(s) * min(n, s.window or n) * b,
                "Only window_layers of the layers have the window; the others keep everything.",
            ),
            Slip(
                lambda s, n, b: _cached(s, n, b) * s.heads // s.kv_heads,
                "You counted query heads. Several of them share one head of keys and values.",
            ),
            Slip(lambda s, n, b: _cached(s, n, b) / 2, "Keys and values are both kept."),
        ],
        tolerance=1e-3,
    )


def _cached(shape: ModelShape, positions: int, number_bytes: int) -> float:
    return kv_bytes(shape, positions, dtype="float32") / 4 * number_bytes


def mla_saving(answer: Any) -> CheckResult:
    """How many times smaller DeepSeek-V3's latent is than a key and a value for each head."""
    right = mha_kv_bytes_per_token(LATENT) / (LATENT.layers * kv_elements(LATENT) * 2)
    return number(
        answer,
        right,
        "One vector for all heads, from which keys and values are made again at every step: "
        "memory bought with FLOPs.",
        [
            Slip(128, "that would be one key and value for all heads. The latent is wider."),
            Slip(
                128 * (192 + 128) / 512,
                "the rotated key of 64 numbers, shared by all heads, is cached as well.",
            ),
            Slip(128 * 2 * 192 / 576, "a value of this model has 128 numbers, a key 192."),
            Slip(128 * 2 * 128 / 576, "a key of this model has 192 numbers, a value 128."),
            Slip(576 / (128 * 320), "upside down: above 1 must mean smaller."),
        ],
        tolerance=0.01,
    )


def gib(answer: Callable[[float], float]) -> CheckResult:
    """A function from bytes to GiB."""
    return function(
        answer,
        [Case((n,), n / 2**30, f"gib({n:_})") for n in (80_000_000_000, 2**30, 24_000_000_000)],
        "So a card of 80 GB shows as 74.5 GiB, and nothing was lost.",
        [
            Slip(lambda n: n / 1e9, "Those are GB, powers of 1000. A GiB is 1024³ bytes."),
            Slip(lambda n: n / 2**20, "Those are MiB. One power of 1024 is missing."),
            Slip(lambda n: n * 2**30 / 1e18, "Upside down: a GiB is more than a GB."),
            Slip(lambda n: n / 1e6 / 1024, "You mixed the two: all three steps go by 1024."),
        ],
        tolerance=1e-4,
    )


def copied_bytes(answer: Callable[[int, int], int]) -> CheckResult:
    """A function from bytes of one position and positions cached to what an append moves."""
    inputs = [(768, 100), (1024, 7), (2, 1)]
    return function(
        answer,
        [Case(x, 2 * x[0] * x[1], f"copied_bytes({x[0]}, {x[1]})") for x in inputs],
        "For one new position. A preallocated cache writes that position and copies nothing.",
        [
            Slip(lambda b, n: b * n, "Copied is read and written: each byte passes twice."),
            Slip(lambda b, n: b, "That is the new position. The old ones move to new tensors too."),
            Slip(lambda b, n: b * n * (n + 1) // 2, "That is the sum over a text. Take one step."),
        ],
    )


def largest_batch(answer: Callable[[int, int, int], int]) -> CheckResult:
    """A function from the bytes of memory, weights and one sequence's cache to what fits."""
    inputs = [(80_000_000_000, 16_060_522_496, 1_073_741_824), (100, 40, 7), (100, 40, 70)]
    cases = [
        Case(x, (x[0] - x[1]) // x[2], "largest_batch({:_}, {:_}, {:_})".format(*x)) for x in inputs
    ]
    return function(
        answer,
        cases,
        "The weights are there once, however many sequences share them.",
        [
            Slip(lambda m, w, c: m // c, "The weights stand in the same memory."),
            Slip(lambda m, w, c: m // (w + c), "Sequences share the weights: subtract them once."),
            Slip(lambda m, w, c: (m - w) / c, "A part of a sequence is none: round down."),
            Slip(lambda m, w, c: -(-(m - w) // c), "Rounded up, the last one does not fit."),
        ],
    )


def what_helps(answer: Any) -> CheckResult:
    """More users of long texts on one card: what makes most room?"""
    return choice(
        answer,
        "cache",
        "At 8 bits each sequence takes half, so nearly twice as many fit. Whether answers stay as "
        "good is another question, and speed a third.",
        {
            "weights": "That frees 8 GB once, room for 8 more sequences. Look at what is largest.",
            "bandwidth": "A faster memory holds no more bytes. This is about room.",
        },
    )
