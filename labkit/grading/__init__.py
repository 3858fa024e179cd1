"""Checks of the exercises: `from labkit import grading as check`, then one line for each exercise.

Every check takes the learner's answer first and gives a `CheckResult`: "passed", "not yet" for a
blank, or "wrong" with the likely misconception. None of them raises for whatever was answered.
`answers` says how answers are judged, each `lesson_…` module what is right and what is confused.
"""

from .lesson_00 import (
    answer_s,
    bits_per_weight,
    characters_per_token,
    tokens_per_s,
    tpot,
    weight_bytes,
)
from .lesson_01 import (
    forward_passes,
    overlap,
    passes_until_eos,
    pick_greedy,
    probabilities,
    tokens_processed_naive,
)
from .lesson_03 import (
    cached_loop,
    kv_bytes_per_token,
    longer_prompt,
    predicted_ratio,
    speed_up,
    tokens_processed_cached,
    work_ratio,
)

__all__ = [
    "answer_s",
    "bits_per_weight",
    "cached_loop",
    "characters_per_token",
    "forward_passes",
    "kv_bytes_per_token",
    "longer_prompt",
    "overlap",
    "passes_until_eos",
    "pick_greedy",
    "predicted_ratio",
    "probabilities",
    "speed_up",
    "tokens_per_s",
    "tokens_processed_cached",
    "tokens_processed_naive",
    "tpot",
    "weight_bytes",
    "work_ratio",
]
