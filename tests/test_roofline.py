"""Predicted times against hand arithmetic, lesson by lesson, and against published figures."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_shapes import HAND

from labkit import catalog, roofline
from labkit.records.estimate import Estimate
from labkit.records.machine import Roofs
from labkit.records.workload import Workload, dtype_bytes

# 1e9 FLOP/s, 1e6 bytes/s read and 2e6 copied: numbers that keep the arithmetic in sight.
SLOW = Roofs("cpu", {"float32": 1e9}, read_bytes_per_s=1e6, copy_bytes_per_s=2e6, overhead_s=0.01)


# ---- times ---------------------------------------------------------------------------------------


def test_a_step_takes_the_larger_of_compute_and_memory_and_the_hosts_time():
    cost = roofline.decode_step(HAND, 11, dtype="float32")
    estimate = roofline.predict(cost, SLOW)
    steady, copied = cost.bytes - cost.kv_copy_bytes, cost.kv_copy_bytes
    assert estimate.memory_s == pytest.approx(steady / 1e6 + copied / 2e6)
    assert estimate.compute_s == pytest.approx(cost.flops / 1e9)
    assert estimate.seconds == pytest.approx(estimate.memory_s + 0.01)


def test_a_device_that_runs_behind_the_host_hides_the_smaller_of_the_two():
    cost = roofline.decode_step(HAND, 11, dtype="float32")
    queued = replace(SLOW, device="cuda", overhead_s=1.0)
    assert roofline.predict(cost, queued).seconds == 1.0
    assert roofline.predict(cost, replace(queued, overhead_s=None)).seconds < 1.0


@pytest.mark.parametrize(
    ("estimate", "limiter"),
    [
        (Estimate(3.0, 2.0, 1.0), "compute"),
        (Estimate(2.0, 3.0, None), "memory-bandwidth"),
        (Estimate(1.0, 2.0, 3.0), "host-overhead"),
    ],
)
def test_the_largest_of_the_three_binds(estimate, limiter):
    assert estimate.limiter == limiter


def test_the_ridge_is_where_compute_and_weights_take_equally_long():
    roofs = replace(SLOW, flops_per_s={"float32": 1e7})
    assert roofline.ridge_point(roofs, "float32") == 10
    tokens = roofline.ridge_tokens(HAND, roofs, "float32")
    assert tokens == pytest.approx(10 * 4 / 2, rel=0.25)  # head and norms are read besides
    few, many = (
        roofline.predict(roofline.decode_step(HAND, 1, batch, "float32"), roofs)
        for batch in (int(tokens / 2), int(tokens * 2))
    )
    assert few.limiter == "memory-bandwidth"
    assert many.limiter == "compute"


@pytest.mark.parametrize("overhead_s", [0.001, 0.020])
def test_below_the_crossover_naive_costs_what_cached_costs(overhead_s):
    shape = catalog.model("Llama-3.1-8B")
    gpu = replace(roofline.datasheet_roofs(catalog.machine("H100-SXM")), overhead_s=overhead_s)
    n = int(roofline.crossover(shape, gpu))

    def ratio(length: int) -> float:
        naive = roofline.predict(roofline.naive_step(shape, length), gpu)
        return naive.seconds / roofline.predict(roofline.decode_step(shape, length), gpu).seconds

    assert ratio(n // 2) == pytest.approx(1, abs=0.03)
    assert ratio(4 * n) > 3


def test_host_overhead_moves_the_crossover_only_where_it_can_be_hidden():
    shape = catalog.model("SmolLM2-135M")
    cpu = replace(SLOW, flops_per_s={"float32": 1e11}, read_bytes_per_s=2e10)
    gpu = replace(cpu, device="cuda")
    slow = {"overhead_s": 1.0}
    there, slower = (roofline.crossover(shape, r, "float32") for r in (cpu, replace(cpu, **slow)))
    assert there == slower
    assert roofline.crossover(shape, replace(gpu, **slow), "float32") > 10 * there


def test_predicted_curves_have_one_estimate_for_each_token_and_the_shapes_that_we_teach():
    shape = catalog.model("SmolLM2-135M")
    cpu = Roofs("cpu", {"float32": 1e11}, read_bytes_per_s=2e10, overhead_s=0.005)
    work = Workload(prompt_tokens=64, new_tokens=100, dtype="float32")
    naive = [e.seconds for e in roofline.predict_naive(shape, work, cpu)]
    cached = [e.seconds for e in roofline.predict_cached(shape, work, cpu)]
    assert len(naive) == len(cached) == 100
    assert naive == sorted(naive)
    assert naive[-1] > 2 * naive[0]
    assert naive[0] == pytest.approx(cached[0], rel=0.05)  # both passes run over the prompt
    assert max(cached[1:]) < 1.1 * min(cached[1:])


def test_ttft_is_flat_up_to_the_knee_and_then_rises_in_proportion():
    shape, gpu = catalog.model("Llama-3.1-8B"), catalog.machine("H100-SXM")
    roofs = roofline.datasheet_roofs(gpu)
    lengths = (16, 64, 4096, 8192)
    a, b, c, d = (roofline.predict(roofline.prefill(shape, n), roofs) for n in lengths)
    assert b.seconds == pytest.approx(a.seconds, rel=0.05)
    assert 2 < d.seconds / c.seconds < 2.2
    assert (a.limiter, d.limiter) == ("memory-bandwidth", "compute")


# ---- published figures ---------------------------------------------------------------------------


def test_gpt_fasts_llama_on_an_a100_reaches_60_to_100_percent_of_the_bound():
    """104.9 tokens/s in bfloat16, batch 1, prompt 5: README of gpt-fast, section Benchmarks."""
    roofs = roofline.datasheet_roofs(catalog.machine("A100-80GB"))
    step = roofline.decode_step(catalog.model("Llama-2-7B"), context=105, slots=205)
    assert 0.60 < 104.9 * roofline.predict(step, roofs).seconds < 1.00


def test_llama_3_1_70b_caches_42_9_gb_for_its_whole_context():
    """2 · 80 layers · 8 KV heads · 128 · 131,072 positions · 2 bytes."""
    assert roofline.kv_bytes(catalog.model("Llama-3.1-70B"), 131_072) == 42_949_672_960


def test_gpt2s_cache_is_as_large_as_its_weights_near_6700_tokens():
    """124.4 M weights ÷ (2 · 12 layers · 768) = 6,751: beyond its own context of 1,024."""
    found = roofline.context_where_kv_equals_weights(catalog.model("GPT-2"))
    assert found == pytest.approx(6751, abs=1)


def test_mla_caches_576_numbers_a_layer_where_full_heads_would_cache_40960():
    """DeepSeek-V3 report, arXiv:2412.19437, section 4.2: rank 512 + 64; 128 heads of 192 + 128."""
    shape = catalog.model("DeepSeek-V3")
    assert roofline.kv_bytes_per_token(shape) == 61 * 576 * 2
    assert roofline.mha_kv_bytes_per_token(shape) == 61 * 40_960 * 2


# ---- what a user can get wrong -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        (lambda: roofline.decode_step(HAND, 0), "give 1 or more"),
        (lambda: roofline.decode_step(HAND, 5, batch=0), "give 1 or more"),
        (lambda: roofline.prefill(HAND, -3), "give 1 or more"),
        (lambda: roofline.forward(HAND, 5, 3), "not before the new tokens"),
        (lambda: roofline.decode_step(HAND, 1001), "at most 1000 positions"),
        (lambda: roofline.decode_step(HAND, 9, slots=8), "give 9 or more"),
        (lambda: roofline.decode_step(HAND, 9, dtype="fp16"), "choose one of float32"),
        (lambda: roofline.kv_bytes(HAND, -1), "give 0 or more"),
        (lambda: roofline.largest_context(HAND, 10), "choose a smaller model"),
        (lambda: roofline.largest_batch(HAND, 1e9, 2000), "takes 1 to 1000"),
        (lambda: roofline.predict(roofline.prefill(HAND, 5), SLOW), "known: float32"),
        (lambda: roofline.ridge_point(Roofs("cpu", {"float32": 1e9}), "float32"), "probe"),
        (lambda: Workload(prompt_tokens=0, new_tokens=5), "give 1 or more"),
        (lambda: Workload(prompt_tokens=5, new_tokens=5, kv_dtype="half"), "choose one of"),
        (lambda: dtype_bytes("int3"), "choose one of"),
    ],
)
def test_what_cannot_be_computed_says_what_to_change(wrong, remedy):
    with pytest.raises(ValueError, match=remedy):
        wrong()
