"""A pass put together kernel by kernel, on curves whose numbers keep the arithmetic in sight."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_shapes import HAND

from labkit import catalog, roofline
from labkit.records import Rate, Roofs
from labkit.roofline.kernels import has_curves, kernels, rate_at

PROBED = Roofs(
    "cpu",
    {"float32": 1e9},
    read_bytes_per_s=1e6,
    copy_bytes_per_s=5e5,
    overhead_s=0.010,
    flops_by_rows={"float32": (Rate(1, 1e8), Rate(4, 4e8))},
    attention_by_rows={"float32": (Rate(1, 1e7), Rate(4, 2e7))},
    read_by_bytes={"float32": (Rate(1, 1e5),)},
    layers=10,
    layer_overhead_s=0.001,
)


def parts(cost, roofs=PROBED):
    return {kernel.name: kernel for kernel in kernels(cost, roofs, "float32")}


def test_between_two_sizes_the_time_grows_evenly():
    """10 at rate 10 takes 1 s, 30 at rate 15 takes 2 s: so 20 takes 1.5 s."""
    curve = (Rate(10, 10.0), Rate(30, 15.0))
    assert rate_at(curve, 20) == pytest.approx(20 / 1.5)
    assert (rate_at(curve, 10), rate_at(curve, 30)) == (10, 15)


def test_beyond_the_ends_the_rate_is_that_of_the_end():
    curve = (Rate(10, 10.0), Rate(30, 15.0))
    assert (rate_at(curve, 1), rate_at(curve, 300)) == (10, 15)


def test_each_kernel_has_its_own_rate():
    cost = roofline.decode_step(HAND, 11, dtype="float32")
    linear, head, attention, cache, activations = parts(cost).values()
    assert linear.compute_s == pytest.approx(cost.linear_flops / 1e8)
    assert linear.memory_s == pytest.approx(cost.linear_bytes / 1e5)
    assert head.memory_s == pytest.approx(cost.head_bytes / 1e5)
    assert attention.compute_s == pytest.approx(cost.attention_flops / 1e7)
    assert attention.memory_s == pytest.approx(cost.kv_read_bytes / 1e6)
    assert cache.memory_s == pytest.approx((cost.kv_copy_bytes + 2 * cost.kv_write_bytes) / 5e5)
    assert activations.memory_s == pytest.approx(cost.activation_bytes / 5e5)


def test_kernels_run_one_after_the_other():
    cost = roofline.decode_step(HAND, 11, dtype="float32")
    estimate = roofline.predict(cost, PROBED)
    assert estimate.device_s == pytest.approx(sum(part.seconds for part in parts(cost).values()))
    assert estimate.seconds == pytest.approx(estimate.device_s + estimate.overhead_s)


def test_a_cpu_waits_for_the_weights_of_several_rows_before_it_multiplies():
    one = roofline.decode_step(HAND, 11, dtype="float32")
    four = roofline.prefill(HAND, 4, dtype="float32")
    linear = parts(one)["linear"]
    assert linear.seconds == max(linear.compute_s, linear.memory_s)
    linear = parts(four)["linear"]
    assert linear.seconds == linear.compute_s + linear.memory_s
    linear = parts(four, replace(PROBED, device="cuda"))["linear"]
    assert linear.seconds == max(linear.compute_s, linear.memory_s)


def test_rows_are_tokens_for_products_and_new_positions_for_attention():
    cost = roofline.forward(HAND, 1, 11, batch=4, dtype="float32")
    assert parts(cost)["linear"].compute_s == pytest.approx(cost.linear_flops / 4e8)
    assert parts(cost)["attention"].compute_s == pytest.approx(cost.attention_flops / 1e7)
    assert parts(cost)["head"].compute_s == pytest.approx(cost.head_flops / 4e8)


def test_the_hosts_time_is_that_of_the_models_layers():
    cost = roofline.decode_step(HAND, 11, dtype="float32")
    assert roofline.predict(cost, PROBED).overhead_s == pytest.approx(
        0.010 + (HAND.layers - 10) * 0.001
    )


def test_roofs_without_curves_give_one_roofline_for_the_whole_pass():
    cost = roofline.decode_step(HAND, 11, dtype="float32")
    plain = replace(PROBED, flops_by_rows={})
    assert not has_curves(plain, "float32")
    estimate = roofline.predict(cost, plain)
    assert estimate.device_s == max(estimate.compute_s, estimate.memory_s)


def test_activations_of_a_llama_layer_by_hand():
    """SmolLM2: two norms of 7 and residuals of 6 passes over 576, rotation 10 × 12 heads × 64, the
    gated MLP 5 × 1536; 30 layers."""
    shape = catalog.model("SmolLM2-135M")
    per_layer = (2 * 7 + 6) * 576 + 10 * (9 + 3) * 64 + 5 * 1536
    cost = roofline.prefill(shape, 7, dtype="float32")
    assert cost.activation_bytes == 30 * per_layer * 7 * 4


def test_the_average_matrix_of_smollm2():
    """Queries and output 576 × 576, keys and values 192 × 576, three of 1536 × 576."""
    shape = catalog.model("SmolLM2-135M")
    weights = 2 * 576 * 576 + 2 * 192 * 576 + 3 * 1536 * 576
    cost = roofline.decode_step(shape, 1, dtype="float32")
    assert cost.matrix_bytes == int(weights / 7 * 4)
