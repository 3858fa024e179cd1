"""Weights, cache and FLOPs: against hand arithmetic and against what torch itself counts."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from small_shapes import BY_FAMILY, HAND, SHAPES, build
from torch.utils.flop_counter import FlopCounterMode
from transformers import DynamicCache

from labkit import catalog, roofline
from labkit.records.model_shape import Experts, ModelShape

by_family = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.family)


@torch.inference_mode()
def run(shape: ModelShape, prompt: int, more: int = 0, batch: int = 2) -> DynamicCache:
    """Fills a cache with a prompt and then with `more` single tokens."""
    model = build(shape)
    cache = DynamicCache(config=model.config)
    ids = torch.randint(0, shape.vocab, (batch, prompt + more))
    ends = range(prompt, prompt + more + 1)
    for start, end in zip((0, *ends), ends, strict=False):
        model(input_ids=ids[:, start:end], cache=cache, use_cache=True, logits_to_keep=1)
    return cache


def tensor_bytes(cache: DynamicCache) -> int:
    tensors = [t for layer in cache.layers for t in (layer.keys, layer.values)]
    return sum(t.numel() * t.element_size() for t in tensors)


# ---- weights -------------------------------------------------------------------------------------


def test_hand_counted_weights():
    norms = 2 * 2 * 32 + 32
    assert roofline.matrix_parameters(HAND) == 2 * 9216
    assert roofline.parameters(HAND) == 2 * 9216 + 2 * 3200 + norms


def test_a_tied_matrix_counts_once():
    tied = replace(HAND, tied=True)
    assert roofline.parameters(HAND) - roofline.parameters(tied) == 3200


def test_four_bits_are_an_eighth_of_32():
    assert roofline.weight_bytes(HAND, "float32") == 8 * roofline.weight_bytes(HAND, "int4")


def test_one_token_hits_its_active_experts_and_many_hit_all():
    mixture = replace(HAND, experts=Experts(count=8, active=2, mlp=64))
    assert roofline.experts_hit(mixture, 1) == pytest.approx(2)
    assert roofline.experts_hit(mixture, 2) == pytest.approx(3.5)  # 8 · (1 − (6/8)²)
    assert roofline.experts_hit(mixture, 1000) == pytest.approx(8)
    one, many = (roofline.decode_step(mixture, 5, batch).linear_bytes for batch in (1, 1000))
    assert many > 3 * one


# ---- cache ---------------------------------------------------------------------------------------


def test_kv_bytes_count_kv_heads_not_query_heads():
    assert roofline.kv_bytes_per_token(HAND, "float32") == 2 * 2 * 2 * 8 * 4
    assert roofline.mha_kv_bytes_per_token(HAND, "float32") == 2 * 2 * 4 * 8 * 4


@by_family
@pytest.mark.parametrize(("prompt", "more"), [(5, 0), (30, 0), (5, 9)])
def test_kv_bytes_equal_the_cache_tensors(shape, prompt, more):
    cached = tensor_bytes(run(shape, prompt, more))
    assert roofline.kv_bytes(shape, prompt + more, batch=2, dtype="float32") == cached


def test_a_full_window_stops_growing_one_short_of_its_size():
    mistral = BY_FAMILY["mistral"]  # window 9 in all layers
    sizes = [roofline.kv_bytes(mistral, context) for context in (7, 8, 9, 300)]
    assert sizes[0] < sizes[1] == sizes[2] == sizes[3]


def test_context_for_is_the_inverse_of_kv_bytes():
    for shape in SHAPES:
        room = roofline.kv_bytes(shape, 100, batch=3)
        found = roofline.context_for(shape, room, batch=3)
        if shape.family == "mistral":  # 100 positions need no more room than 8
            assert found == 8
        else:
            assert found == pytest.approx(100)
    assert roofline.context_for(BY_FAMILY["mistral"], 1e9) is None


def test_what_fits_is_weights_plus_cache():
    weights, token = roofline.weight_bytes(HAND), roofline.kv_bytes_per_token(HAND)
    assert roofline.largest_context(HAND, weights + 10 * token + 1) == 10
    assert roofline.largest_context(HAND, 1e9) == HAND.max_context
    assert roofline.largest_batch(HAND, weights + 10 * token, context=5) == 2
    assert roofline.largest_batch(HAND, weights, context=5) == 0


def test_quantised_weights_leave_more_room_for_a_16_bit_cache():
    small, token = roofline.weight_bytes(HAND, "int4"), roofline.kv_bytes_per_token(HAND)
    assert roofline.largest_context(HAND, small + 10 * token, dtype="int4") == 10


# ---- FLOPs ---------------------------------------------------------------------------------------


@torch.inference_mode()
def counted_flops(shape: ModelShape, new: int, before: int, batch: int = 2) -> tuple[int, int]:
    """What torch counts for a pass over `new` tokens on top of `before` cached ones.

    In all, and in the layers' batched products: attention's scores and weighted sums.
    """
    model = build(shape)
    cache = DynamicCache(config=model.config)
    ids = torch.randint(0, shape.vocab, (batch, before + new))
    if before:
        model(input_ids=ids[:, :before], cache=cache, use_cache=True, logits_to_keep=1)
    with FlopCounterMode(display=False) as counter:
        model(input_ids=ids[:, before:], cache=cache, use_cache=True, logits_to_keep=1)
    by_module = counter.get_flop_counts()
    head = by_module[f"{type(model).__name__}.lm_head"]
    product = torch.ops.aten.bmm
    return counter.get_total_flops(), by_module["Global"][product] - head.get(product, 0)


@by_family
@pytest.mark.parametrize(("new", "before"), [(40, 0), (1, 40), (4, 40)])
def test_flops_agree_with_torchs_counter_which_knows_no_causal_mask(shape, new, before):
    ours = roofline.forward(shape, new, new + before, 2, "float32", causal=False)
    flops, batched = counted_flops(shape, new, before)
    assert ours.flops == pytest.approx(flops, rel=0.005)
    if not (shape.mla and before):  # MLA also expands its latents again, with a plain product
        assert ours.attention_flops == pytest.approx(batched, rel=0.005)


def test_hand_counted_flops_of_a_prefill():
    cost = roofline.prefill(HAND, 10, batch=3)
    assert cost.linear_flops == 3 * 10 * 2 * 2 * 9216
    assert cost.head_flops == 3 * 2 * 3200  # the last position only
    pairs = 10 * 11 // 2
    assert cost.attention_flops == 3 * 2 * 4 * pairs * 2 * (8 + 8)


def test_query_key_pairs_by_brute_force():
    for context in range(1, 14):
        for new in range(1, context + 1):
            for window in (None, 2, 5, 20):
                positions = range(context - new + 1, context + 1)
                seen = sum(min(p, window or p) for p in positions)
                assert roofline.query_key_pairs(new, context, window) == seen


def test_causal_counting_is_half_of_the_square_for_long_prompts():
    half = roofline.attention_flops(HAND, 900, 900)
    square = roofline.attention_flops(HAND, 900, 900, causal=False)
    assert half / square == pytest.approx(0.5, abs=0.001)


def test_the_attention_matrices_of_one_layer_grow_with_the_square():
    assert roofline.score_bytes(HAND, 100, "float32") == 4 * 100 * 100 * 4
    assert roofline.score_bytes(HAND, 200) == 4 * roofline.score_bytes(HAND, 100)


def test_attention_equals_the_linear_layers_where_we_say():
    length = roofline.length_where_attention_equals_linear(HAND)
    # 2 layers · 32 · 4 · L/2 pairs = 2 · 18,432  →  L ≈ 18,432 · 2 / 128
    assert length == pytest.approx(288, abs=2)
    before, at = (roofline.prefill(HAND, n) for n in (length - 1, length))
    assert before.attention_flops < before.linear_flops
    assert at.attention_flops >= at.linear_flops
    assert roofline.length_where_attention_equals_linear(catalog.model("Mistral-7B")) is None


def test_naive_and_cached_do_the_same_work_in_all():
    """Prefill of 6 and four decode steps, against one pass over 10: equal but for the head."""
    steps = [roofline.prefill(HAND, 6), *(roofline.decode_step(HAND, c) for c in range(7, 11))]
    once = roofline.naive_step(HAND, 10)
    assert sum(s.linear_flops for s in steps) == once.linear_flops
    assert sum(s.attention_flops for s in steps) == once.attention_flops


# ---- bytes ---------------------------------------------------------------------------------------


def test_hand_counted_bytes_of_a_decode_step():
    cost = roofline.decode_step(HAND, 11, batch=3, dtype="float32")
    token = 3 * 2 * (2 * 2 * 8) * 4  # batch · layers · numbers · bytes
    norms = 2 * 2 * 32 + 32
    assert cost.linear_bytes == (2 * 9216 + norms) * 4 + 3 * 32 * 4
    assert cost.head_bytes == 3200 * 4 + 3 * 100 * 4
    assert (cost.kv_read_bytes, cost.kv_write_bytes) == (11 * token, token)
    assert cost.kv_copy_bytes == 2 * 10 * token  # ten positions read and written to add one


def test_a_preallocated_cache_copies_nothing_but_reads_its_empty_slots():
    growing = roofline.decode_step(HAND, 10)
    fixed = roofline.decode_step(HAND, 10, slots=40)
    assert fixed.kv_copy_bytes == 0
    assert fixed.kv_read_bytes == 4 * growing.kv_read_bytes


def test_a_window_bounds_what_is_read():
    mistral = BY_FAMILY["mistral"]  # window 9
    one, far = (roofline.decode_step(mistral, context) for context in (9, 300))
    assert one.kv_read_bytes == far.kv_read_bytes == 9 * roofline.kv_bytes_per_token(mistral)
    four = roofline.forward(mistral, 4, 300)  # 8 that the window keeps, and the 4 new
    assert four.kv_read_bytes == 12 * roofline.kv_bytes_per_token(mistral)


def test_a_naive_step_touches_no_cache_and_a_prefill_only_writes_it():
    assert roofline.naive_step(HAND, 50).kv_bytes == 0
    first = roofline.prefill(HAND, 50)
    assert first.kv_bytes == first.kv_write_bytes == roofline.kv_bytes(HAND, 50)


def test_batch_multiplies_the_cache_but_not_the_weights():
    one, four = (roofline.decode_step(HAND, 100, batch) for batch in (1, 4))
    assert four.kv_read_bytes == 4 * one.kv_read_bytes
    assert four.weight_bytes == pytest.approx(one.weight_bytes, rel=0.03)  # logits, embedding rows


def test_quantised_weights_halve_the_weights_and_leave_the_cache_alone():
    full, half = (roofline.decode_step(HAND, 100, dtype=d) for d in ("bfloat16", "int8"))
    assert half.linear_bytes == pytest.approx(full.linear_bytes / 2, rel=0.01)
    assert half.kv_bytes == full.kv_bytes
    assert half.dtype == "bfloat16"  # what the products are computed in
