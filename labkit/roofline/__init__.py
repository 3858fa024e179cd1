"""The lab's theory: bytes and FLOPs from a model's shape, and the time that they must take.

Standard library only. Reading order: `weights` (what a pass reads), `cache` (what it remembers),
`work` (both, and FLOPs, for prefill, decode and naive steps), `times` (on a machine's roofs, or
kernel by kernel where a probe has measured curves: `kernels`), `achieved` (measured passes against
those), `whatif` and `prove` (what a change would do, or did),
`batching` (what many sequences in a step give).
"""

from ..records.kv_cache import kv_bytes, kv_elements
from .achieved import cost_of, expected, knee, mbu, mfu
from .cache import (
    context_for,
    context_where_kv_equals_weights,
    kv_bytes_per_token,
    largest_batch,
    largest_context,
    mha_kv_bytes_per_token,
)
from .times import (
    crossover,
    datasheet_roofs,
    predict,
    predict_cached,
    predict_naive,
    ridge_point,
    ridge_tokens,
)
from .weights import experts_hit, matrix_parameters, parameters, weight_bytes
from .work import (
    attention_flops,
    decode_step,
    forward,
    length_where_attention_equals_linear,
    naive_step,
    prefill,
    query_key_pairs,
    score_bytes,
)

__all__ = [
    "attention_flops",
    "context_for",
    "context_where_kv_equals_weights",
    "cost_of",
    "crossover",
    "datasheet_roofs",
    "decode_step",
    "expected",
    "experts_hit",
    "forward",
    "knee",
    "kv_bytes",
    "kv_bytes_per_token",
    "kv_elements",
    "largest_batch",
    "largest_context",
    "length_where_attention_equals_linear",
    "matrix_parameters",
    "mbu",
    "mfu",
    "mha_kv_bytes_per_token",
    "naive_step",
    "parameters",
    "predict",
    "predict_cached",
    "predict_naive",
    "prefill",
    "query_key_pairs",
    "ridge_point",
    "ridge_tokens",
    "score_bytes",
    "weight_bytes",
]
