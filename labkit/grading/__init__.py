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
from .lesson_02 import (
    causal_pairs,
    exponent,
    matrix_bytes,
    meeting_length,
    token_ratio,
    twice_as_long,
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
from .lesson_06 import (
    cache_bytes,
    copied_bytes,
    gib,
    largest_batch,
    mla_saving,
    what_helps,
)
from .lesson_09 import classify, even_tokens, hidden_wait, whole_speed_up

__all__ = [
    "answer_s",
    "bits_per_weight",
    "cache_bytes",
    "cached_loop",
    "causal_pairs",
    "characters_per_token",
    "classify",
    "copied_bytes",
    "even_tokens",
    "exponent",
    "flat_until",
    "flops_per_byte",
    "forward_passes",
    "gib",
    "hidden_wait",
    "knee",
    "kv_bytes_per_token",
    "kv_equals_weights",
    "largest_batch",
    "limiter",
    "longer_prompt",
    "longer_ttft",
    "matrix_bytes",
    "mbu",
    "meeting_length",
    "mfu",
    "mla_saving",
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
    "token_ratio",
    "tokens_per_s",
    "tokens_processed_cached",
    "tokens_processed_naive",
    "tpot",
    "twice_as_long",
    "twice_the_tokens",
    "upgrade",
    "weight_bytes",
    "what_helps",
    "which_run",
    "whole_speed_up",
    "work_ratio",
]
