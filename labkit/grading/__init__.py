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
from .lesson_04 import (
    flops_per_byte,
    knee,
    longer_ttft,
    mfu,
    predicted_knee,
    prefill_flops,
    short_prompt,
    upgrade,
)
from .lesson_05 import (
    flat_until,
    kv_equals_weights,
    limiter,
    mbu,
    most_tokens_per_s,
    step_bytes,
    twice_the_tokens,
    which_run,
)

__all__ = [
    "answer_s",
    "bits_per_weight",
    "cached_loop",
    "characters_per_token",
    "flat_until",
    "flops_per_byte",
    "forward_passes",
    "knee",
    "kv_bytes_per_token",
    "kv_equals_weights",
    "limiter",
    "longer_prompt",
    "longer_ttft",
    "mbu",
    "mfu",
    "most_tokens_per_s",
    "overlap",
    "passes_until_eos",
    "pick_greedy",
    "predicted_knee",
    "predicted_ratio",
    "prefill_flops",
    "probabilities",
    "short_prompt",
    "speed_up",
    "step_bytes",
    "tokens_per_s",
    "tokens_processed_cached",
    "tokens_processed_naive",
    "tpot",
    "twice_the_tokens",
    "upgrade",
    "weight_bytes",
    "which_run",
    "work_ratio",
]
