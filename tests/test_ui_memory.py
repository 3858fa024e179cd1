"""Lesson 06's panels without a browser: what they compute, count, time and refuse."""

from __future__ import annotations

import json

import numpy as np
import pytest
from toys import MACHINE, SHAPE

from labkit import catalog, roofline, ui
from labkit.caches import CacheCount
from labkit.records.machine import Roofs
from labkit.records.sweep import Sweep, SweepPoint
from labkit.ui.growth import growth_contexts, growth_told
from labkit.ui.memory import all_dots, model_curves
from labkit.ui.memory_plan import batch_curve, parts_gb, plan
from labkit.ui.memory_text import both, kind, kind_with_windows, plan_told, proof_told

TIMEOUT_S = 60
ROOFS = Roofs("cpu", {"float32": 4e10}, 1e10, 1e10, overhead_s=0.001)
SHAPE_OF_TOY = catalog.model("toy")

pytestmark = pytest.mark.usefixtures("no_earlier_probe")


def line(panel, name: str):
    return next(trace for trace in panel.figure.data if trace.meta == name)


def curve(curves, name: str):
    return next(c for c in curves if c.name == name)


# ---- the cache of any model


@pytest.mark.parametrize(
    ("model", "word"),
    [
        ("Llama-2-7B", "MHA"),
        ("Llama-3.1-8B", "GQA"),
        ("Falcon-7B", "MQA"),
        ("DeepSeek-V3", "MLA"),
        ("Mistral-7B", "all windows"),
        ("Gemma-2-9B", "half windows"),
    ],
)
def test_kinds_of_sharing(model, word):
    assert kind_with_windows(catalog.model(model)) == word


def test_windows_do_not_change_how_heads_share():
    assert kind(catalog.model("Mistral-7B")) == "GQA"


def test_sharing_orders_the_curves_and_mha_is_heads_over_kv_heads_times_as_large():
    curves = model_curves(catalog.model("Llama-3.1-8B"), 8192, 1, "bfloat16")
    own = curve(curves, "MHA: a pair for each query head")
    here, one = curve(curves, "as it is"), curve(curves, "MQA: one pair for all heads")
    np.testing.assert_allclose(own.y, 4 * here.y)
    np.testing.assert_allclose(here.y, 8 * one.y)
    assert curve(curves, "chosen").y[0] == pytest.approx(131_072 * 8192 / 1e9)


def test_windows_flatten_the_curve_and_without_them_it_goes_on():
    curves = model_curves(catalog.model("Mistral-7B"), 8192, 1, "bfloat16")
    here, without = curve(curves, "as it is"), curve(curves, "without windows")
    assert here.y[-1] == here.y[-10]
    assert without.y[-1] > 100 * here.y[-1]


def test_every_model_has_its_dot_in_its_place():
    shapes = list(catalog.models().values())
    curves = all_dots(shapes, 4096, 2, "bfloat16")
    assert sorted(y for c in curves for y in c.y) == list(range(len(shapes)))
    falcon = next(c for c in curves if c.name == "MQA")
    shape = catalog.model("Falcon-7B")
    assert falcon.x[0] == pytest.approx(roofline.kv_bytes(shape, 4096, 2) / 1e9)
    assert shapes[int(falcon.y[0])] is shape


def test_the_calculator_shows_the_arithmetic_and_follows_the_controls():
    panel = ui.kv_calculator()
    assert "× 32 layers × 8 KV heads × 128 numbers × 2 bytes = 131,072 bytes" in panel.text.value
    assert "1.07 GB (1.00 GiB)" in panel.text.value
    panel.dtype.value = "float8"
    assert "× 1 bytes = 65,536" in panel.text.value
    panel.batch.value = 2
    assert "2 × 8,192 positions take 1.07 GB" in panel.text.value
    panel.model.value = "DeepSeek-V3"
    assert "(512 latent + 64 rotated)" in panel.text.value


def test_llama_70b_at_its_full_context_is_as_published():
    assert "42.9 GB" in both(roofline.kv_bytes(catalog.model("Llama-3.1-70B"), 131_072))


# ---- formula and tensors


def test_the_proof_panel_weighs_every_kind_and_they_agree():
    panel = ui.cache_proof()
    counts = panel.wait(TIMEOUT_S)
    assert len(counts) == 6 * len(panel.CONTEXTS)
    assert all(count.formula_bytes == count.tensor_bytes for count in counts)
    assert "agree, all to the byte" in panel.text.value
    assert list(line(panel, "GQA").y) == [c.tensor_bytes / 1e3 for c in counts if c.kind == "GQA"]
    assert line(panel, "all windows").y[-1] == line(panel, "all windows").y[-2]
    assert len(json.loads(panel._write("json"))["counts"]) == len(counts)
    assert panel._write("csv").splitlines()[0] == "kind,context,formula_bytes,tensor_bytes"


def test_a_disagreement_would_be_said():
    assert "disagree on 1" in proof_told(
        [CacheCount("GQA", 8, 100, 101), CacheCount("MQA", 8, 5, 5)]
    )


# ---- two caches timed


def test_the_growth_panel_times_both_caches_at_five_contexts(toy):
    panel = ui.cache_growth(toy, longest=512, rounds=2)
    sweeps = {sweep.name: sweep for sweep in panel.wait(TIMEOUT_S)}
    assert set(sweeps) == {
        "growing: step",
        "growing: append",
        "preallocated: step",
        "preallocated: append",
    }
    assert [p.length for p in sweeps["growing: step"].points] == growth_contexts(512)
    shown = line(panel, "growing: append").y
    np.testing.assert_allclose(shown, [p.median_s * 1e3 for p in sweeps["growing: append"].points])
    assert panel.export.ready


def test_the_copy_moves_all_that_was_cached_twice():
    """1,001 positions of 384 bytes before the append make 2 · 384 kB; in 1 ms: 0.77 GB/s."""

    def sweep(name, ms):
        return Sweep(name, (SweepPoint(1001, (ms * 10**6,)),), "toy", "float32", MACHINE)

    names = ["growing: step", "growing: append", "preallocated: step", "preallocated: append"]
    sweeps = [sweep(n, ms) for n, ms in zip(names, (4, 1, 3, 0), strict=True)]
    text = growth_told(sweeps, SHAPE, {"growing: step": {1001: 0.005}})
    assert "+25%" in text
    assert "768 MB/s" in text
    assert "1.00 ms there, 25% of" in text
    assert "0.75 times" in text


@pytest.mark.parametrize(
    ("fixed_ms", "says"),
    [
        ((5, 5, 5), "from 200 on the preallocated"),
        ((9, 9, 9), "The growing cache&#x27;s step was the shorter one at every"),
        ((1, 1, 1), "The preallocated cache&#x27;s step was the shorter one at every"),
        ((1, 9, 1), "at 100, 300 positions"),
    ],
)
def test_which_cache_wins_where_is_said(fixed_ms, says):
    def sweep(name, times):
        points = [
            SweepPoint(n, (ms * 10**6,)) for n, ms in zip((100, 200, 300), times, strict=True)
        ]
        return Sweep(name, tuple(points), "toy", "float32", MACHINE)

    sweeps = [sweep("growing: step", (4, 6, 8)), sweep("growing: append", (1, 2, 3))]
    sweeps += [sweep("preallocated: step", fixed_ms), sweep("preallocated: append", (0, 0, 0))]
    assert says in growth_told(sweeps, SHAPE, {})


def test_the_growth_panel_predicts_before_it_runs(toy):
    panel = ui.cache_growth(toy, longest=512, roofs=ROOFS)
    grown, fixed = (line(panel, f"{name}: step, predicted") for name in ("growing", "preallocated"))
    assert grown.line.dash == "dash"
    assert fixed.y[0] == pytest.approx(fixed.y[-1])  # every slot is read at every length
    assert grown.y[-1] > fixed.y[-1] > grown.y[0]
    copied = line(panel, "growing: append, predicted")
    moved = 2 * roofline.kv_bytes(SHAPE_OF_TOY, 511, dtype="float32")
    assert copied.y[-1] == pytest.approx(1e3 * moved / 1e10)
    assert "Predicted from this machine" in panel.text.value
    assert len(line(panel, "preallocated: append, predicted").x) == 0
    panel.longest.value = 1024
    assert list(grown.x) == growth_contexts(1024)


def test_a_context_beyond_the_model_is_refused(toy):
    panel = ui.cache_growth(toy, longest=8192)
    with pytest.raises(ValueError, match="8,192"):
        panel.wait(TIMEOUT_S)
    assert "shorter" in panel.status.value


# ---- what fits


def test_a_plan_is_memory_less_weights_shared_by_sequences():
    made = plan("Llama-3.1-8B", "A100-80GB", 8192)
    assert made.largest_batch == (80_000_000_000 - 16_060_522_496) // 1_073_741_824 == 59
    assert made.room_bytes == 80_000_000_000 - 16_060_522_496 - 1_073_741_824
    assert made.largest_context == 131_072


def test_a_larger_context_fits_fewer_sequences():
    made = plan("Llama-3.1-8B", "A100-80GB", 8192)
    curve = batch_curve(made, "bfloat16", "bfloat16")
    assert np.all(np.diff(curve.y) <= 0)
    assert curve.y[0] / curve.y[-1] == pytest.approx(1024, rel=0.3)


def test_what_is_too_much_is_a_part_of_its_own():
    fits = parts_gb(plan("Llama-3.1-8B", "A100-80GB", 8192))
    assert set(fits) == {"weights", "cache", "free"}
    assert sum(fits.values()) == pytest.approx(80)
    over = parts_gb(plan("Llama-3.1-8B", "A100-80GB", 8192, batch=60))
    assert set(over) == {"weights", "cache", "too much"}
    assert over["weights"] + over["cache"] == pytest.approx(80)


def test_gb_and_gib_stand_side_by_side():
    text = plan_told(plan("Llama-3.1-8B", "A100-80GB", 8192))
    assert "80.0 GB" in text
    assert "74.5 GiB" in text


def test_quantised_weights_make_room_and_a_quantised_cache_doubles_the_batch():
    wide = plan("Llama-3.1-8B", "RTX-4090", 8192)
    assert (
        plan("Llama-3.1-8B", "RTX-4090", 8192, dtype="int8").largest_batch == wide.largest_batch + 7
    )
    half = plan("Llama-3.1-8B", "RTX-4090", 8192, kv_dtype="float8").largest_batch
    assert half in (2 * wide.largest_batch, 2 * wide.largest_batch + 1)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"model": "Llama-3.1-70B"}, "choose a smaller model"),
        ({"model": "GPT-2"}, "GPT-2 takes 1 to 1024"),
    ],
)
def test_what_can_not_be_is_refused_with_the_arithmetic_and_then_forgotten(change, says):
    panel = ui.memory_plan()
    for name, value in change.items():
        getattr(panel, name).value = value
    assert says in panel.text.value
    panel.model.value = "Llama-3.1-8B"
    assert "It fits" in panel.text.value


def test_a_batch_that_is_too_large_is_drawn_and_said_not_to_fit():
    panel = ui.memory_plan()
    panel.batch.value = 60
    assert "It does not fit" in panel.text.value
    assert line(panel, "too much").visible
    assert not line(panel, "free").visible


def test_a_window_beyond_which_memory_stays_the_same():
    short, long = (plan("Mistral-7B", "A100-80GB", n).cache_bytes for n in (8192, 16384))
    assert short == long


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (ui.kv_calculator, "KvCalculator()"),
        (ui.cache_proof, "CacheProof()"),
        (lambda: ui.cache_growth("toy"), "CacheGrowth()"),
        (ui.memory_plan, "MemoryPlan()"),
    ],
)
def test_panels_have_a_constant_repr(make, name):
    assert repr(make()) == name
