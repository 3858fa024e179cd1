"""The panels of lessons 04 and 05, what-if, and the race's prediction, without a browser."""

from __future__ import annotations

import json

import numpy as np
import pytest

from labkit import catalog, roofline, ui
from labkit.records.machine import Roofs
from labkit.records.workload import Workload
from labkit.roofline.arms import Said, off_by, predict_arm
from labkit.ui.decode import charted, ledger, proof_passes
from labkit.ui.prefill import lengths_up_to
from labkit.ui.race_said import nothing_said, told

TIMEOUT_S = 60
ROOFS = Roofs("cpu", {"float32": 4e10, "bfloat16": 4e10}, 1e10, 1e10, overhead_s=0.001)
SCRIPT = "<script>alert(1)</script>"

pytestmark = pytest.mark.usefixtures("no_earlier_probe")


@pytest.fixture(scope="module")
def measured(toy):
    """One finished run of lesson 05's panel, with its proof."""
    panel = ui.decode(toy, together=4, longest=64, roofs=ROOFS)
    panel.context.value = 16
    panel.wait(TIMEOUT_S)
    panel.wait_proof(TIMEOUT_S)
    return panel


def line(panel, name: str):
    return next(trace for trace in panel.figure.data if trace.meta == name)


# ---- lesson 04 -----------------------------------------------------------------------------------


def test_lengths_are_few_short_ones_then_doubled():
    assert lengths_up_to(64) == [1, 4, 16, 32, 64]
    assert lengths_up_to(100) == [1, 4, 16, 32, 64, 100]
    assert lengths_up_to(2) == [1, 2]


def test_prefill_draws_the_prediction_before_it_runs_anything(toy):
    panel = ui.prefill(toy, longest=64, roofs=ROOFS)
    assert list(line(panel, "ttft-predicted").x) == [1, 4, 16, 32, 64]
    said = roofline.predict(roofline.prefill(toy.shape, 64, dtype="float32"), ROOFS)
    assert line(panel, "ttft-predicted").y[-1] == pytest.approx(said.seconds * 1e3)
    assert line(panel, "ttft-predicted").line.dash == "dash"
    assert line(panel, "ttft-measured").visible is False
    assert "Predicted" in panel._text.value
    assert panel.figure.layout.title.text == "nothing measured yet"


def test_prefill_measures_each_length_and_says_so(toy):
    panel = ui.prefill(toy, longest=64, roofs=ROOFS)
    passes = panel.wait(TIMEOUT_S)
    timings = passes.curve("prefill")
    assert [timing.what.new_tokens for timing in timings] == [1, 4, 16, 32, 64]
    np.testing.assert_allclose(line(panel, "ttft-measured").y, [1e3 * t.median_s for t in timings])
    rates = [roofline.cost_of(toy.shape, t.what).flops / t.median_s for t in timings]
    np.testing.assert_allclose(line(panel, "roofline-measured").y, rates)
    assert "measured on" in panel.figure.layout.title.text
    assert "<table" in panel._text.value
    assert "done" in panel.status.value


def test_prefill_without_roofs_measures_and_predicts_nothing(toy):
    panel = ui.prefill(toy, longest=16)
    panel.wait(TIMEOUT_S)
    assert line(panel, "ttft-predicted").visible is False
    assert line(panel, "roofline").visible is False
    assert "unknown" in panel._text.value


def test_a_prompt_beyond_the_context_is_refused_with_the_remedy(toy):
    panel = ui.prefill(toy, longest=1_000_000)
    with pytest.raises(ValueError, match="shorten it"):
        panel.wait(TIMEOUT_S)
    assert "shorten it" in panel.status.value


def test_another_choice_forgets_the_run_that_was_of_the_last_one(toy):
    panel = ui.prefill(toy, longest=16, roofs=ROOFS)
    panel.wait(TIMEOUT_S)
    panel._longest.value = 64
    assert panel.passes is None
    assert line(panel, "ttft-measured").visible is False


def test_a_finished_panel_keeps_no_model_in_memory(toy):
    panel = ui.prefill(toy, longest=16)
    panel.wait(TIMEOUT_S)
    assert panel._runs == []
    assert panel._loaded is None


def test_passes_are_exported_with_every_try(toy):
    panel = ui.prefill(toy, longest=16)
    assert not panel.export.ready
    passes = panel.wait(TIMEOUT_S)
    assert panel.export.ready
    kept = json.loads(panel._write("json"))["passes"]
    assert kept["timings"][0]["wall_ns"] == list(passes.timings[0].wall_ns)
    assert panel._write("csv").count("\n") == 1 + sum(1 + len(t.wall_ns) for t in passes.timings)


# ---- lesson 05 -----------------------------------------------------------------------------------


def test_the_ledger_adds_up_to_the_bytes_of_the_step(measured):
    bars = ledger(catalog.model("Llama-3.1-8B"), measured.step)
    cost = roofline.cost_of(catalog.model("Llama-3.1-8B"), measured.step)
    chosen = next(bars[label] for label in bars if "◂" in label)
    assert sum(chosen.values()) == cost.bytes
    assert chosen["logits"] == 4 * 128_256


def test_the_ledger_follows_the_sliders_at_once(toy):
    panel = ui.decode(toy, roofs=ROOFS)
    before = line(panel, "KV cache read").y[-1]
    panel.batch.value = 4
    assert line(panel, "KV cache read").y[-1] == pytest.approx(4 * before)
    assert line(panel, "weights of the layers").y[-1] == pytest.approx(
        line(panel, "weights of the layers").y[0]
    )
    assert "4 tokens at context 512" in panel._text.value


def test_decode_times_three_charts_and_keeps_them_beside_the_proof(measured):
    passes = measured.passes
    assert [t.what.batch for t in passes.curve("together")] == [1, 2, 4]
    assert [t.what.context for t in passes.curve("context")] == [64]
    assert [t.what.dtype for t in passes.curve("formats")] == ["float32", "bfloat16"]
    assert len(passes.curve("prove")) == 4
    assert list(line(measured, "together-measured").x) == [1, 2, 4]
    assert len(line(measured, "formats-measured").y) == 2


def test_the_proof_changes_one_thing_at_a_time(measured):
    step = measured.step
    base, half, tokens, context = [what for _, what in proof_passes(step)]
    assert base == step
    assert (half.dtype, half.batch, half.context) == ("bfloat16", step.batch, step.context)
    assert (tokens.dtype, tokens.batch, tokens.context) == ("float32", 2, step.context)
    assert (context.dtype, context.batch, context.context) == ("float32", 1, 2 * step.context)


def test_the_toy_is_never_called_memory_bound_since_it_fits_in_the_cache(measured):
    proof = measured.wait_proof(TIMEOUT_S)
    assert proof.limiter in ("host-overhead", "undetermined")
    assert "if memory binds" in measured._text.value


def test_charts_stop_at_what_was_asked():
    request = ui.decode("toy", together=8, longest=256).read()
    passes = charted(request, "float32")
    assert max(what.batch for curve, what in passes if curve == "together") == 8
    assert max(what.context for curve, what in passes if curve == "context") == 256


def test_a_context_that_does_not_fit_the_model_is_refused(toy):
    panel = ui.decode(toy, together=1, longest=131_072)
    with pytest.raises(ValueError, match="shorten it"):
        panel.wait(TIMEOUT_S)


# ---- what if -------------------------------------------------------------------------------------


@pytest.fixture
def what_if():
    """An 8B on an A100: 4,000 tokens in 0.4 s, then 12 ms a token."""
    return ui.what_if_metrics(0.4, 0.012, "Llama-3.1-8B", "A100-80GB", Workload(4000, 200))


def bars(panel, metric: str) -> list[float]:
    return list(line(panel, f"{metric}-predicted").x)


def test_on_the_runs_own_machine_the_run_is_predicted(what_if):
    assert bars(what_if, "ttft")[0] == pytest.approx(400)
    assert bars(what_if, "tpot")[0] == pytest.approx(12)


def test_a_choice_is_answered_at_once_each_phase_by_its_own_roof(what_if):
    what_if.machine.value = "H100-SXM"
    assert bars(what_if, "ttft")[0] == pytest.approx(400 * 312 / 989.4, rel=0.01)
    assert bars(what_if, "tpot")[0] == pytest.approx(12 * 2039 / 3350, rel=0.01)
    assert "To shorten TTFT: more FLOP/s" in what_if.text.value
    assert "To shorten TPOT: more bandwidth" in what_if.text.value


def test_fewer_bits_shorten_tpot_and_not_ttft(what_if):
    what_if.dtype.value = "int4"
    assert bars(what_if, "tpot")[0] < 5
    assert bars(what_if, "ttft")[0] == pytest.approx(400, rel=0.01)


def test_a_host_that_is_slower_than_the_device_takes_the_gain(what_if):
    what_if.machine.value = "B200"
    what_if.host_ms.value = 30
    assert bars(what_if, "tpot") == [30, 30, 30]
    assert "To shorten TPOT: neither" in what_if.text.value


def test_what_would_not_fit_is_said(what_if):
    what_if.machine.value = "T4"
    what_if.dtype.value = "float16"
    assert "would not fit" in what_if.text.value


def test_a_format_that_the_machine_lacks_is_said_with_those_it_has(what_if):
    what_if.machine.value = "T4"
    assert "no FLOP/s known for bfloat16" in what_if.text.value


def test_metrics_that_beat_the_roof_are_doubted():
    panel = ui.what_if_metrics(0.01, 0.001, "Llama-3.1-8B", "A100-80GB", Workload(4000, 200))
    assert "can&#x27;t be" in panel.text.value


def test_a_run_of_the_race_can_be_asked_what_if(toy):
    trace = ui.race(toy, prompt=32, new_tokens=4, arms=["cached"]).wait(TIMEOUT_S)[0]
    panel = ui.what_if(trace, ROOFS)
    assert "the run (measured)" in list(line(panel, "ttft-given").y)
    assert repr(panel) == "WhatIf()"


# ---- the race's prediction -----------------------------------------------------------------------


def test_the_race_draws_both_arms_before_it_runs(toy):
    race = ui.race(toy, prompt=100, new_tokens=8, roofs=ROOFS)
    for arm in ("naive", "cached"):
        said = predict_arm(arm, toy.shape, Workload(100, 8, 1, "float32"), ROOFS)
        drawn = line(race, f"{arm}-said-ms")
        np.testing.assert_allclose(drawn.y, np.array(said.step_s) * 1e3)
        assert drawn.line.dash == "dash"
        assert drawn.line.width < line(race, f"{arm}-ms").line.width
        assert "predicted" in drawn.name
    assert "n* =" in race._said.text.value
    assert "Predicted against measured" not in race._said.text.value


def test_the_race_says_by_how_much_it_was_wrong(toy):
    race = ui.race(toy, prompt=100, new_tokens=8, roofs=ROOFS)
    cached = race.wait(TIMEOUT_S)[1]
    said = predict_arm("cached", toy.shape, Workload(100, 8, 1, "float32"), ROOFS)
    assert f"cached {off_by(said, cached.step_s):+.0%}" in race._said.text.value
    race._prompt.length.value = 200
    assert "Predicted against measured" not in race._said.text.value


def test_the_race_also_predicts_another_model_elsewhere(toy):
    race = ui.race(toy, prompt=100, new_tokens=8, roofs=ROOFS)
    assert line(race, "cached-also-ms").visible is False
    race._said.also.model.value = "Llama-3.1-8B"
    drawn = line(race, "cached-also-ms")
    shape, gpu = catalog.model("Llama-3.1-8B"), catalog.machine("H100-SXM")
    there = predict_arm("cached", shape, Workload(100, 8), roofline.datasheet_roofs(gpu))
    np.testing.assert_allclose(drawn.y, np.array(there.step_s) * 1e3)
    assert drawn.name == "cached, also predicted"
    assert "Llama-3.1-8B in bfloat16 on H100-SXM" in race.figure.layout.title.text


def test_without_roofs_the_race_says_that_it_predicts_nothing(toy):
    race = ui.race(toy, prompt=100, new_tokens=8)
    assert "“Measure the roofs” on lesson 00's card" in race._said.text.value
    assert line(race, "naive-said-ms").visible is False


def test_without_a_shape_the_race_does_not_ask_for_roofs():
    assert "shape is not known" in nothing_said(None, ROOFS)


def test_the_error_is_the_median_over_the_tokens():
    assert off_by(Said("cached", (1.1, 2.0, 0.9)), [1.0, 1.0, 1.0]) == pytest.approx(0.1)
    assert off_by(Said("cached", ()), [1.0]) is None


@pytest.mark.parametrize(
    ("star", "says"), [(5, "part at once"), (50, "at token 40"), (500, "ends before")]
)
def test_where_the_curves_part_is_said_in_tokens_of_the_run(star, says):
    assert says in told([Said("naive", (1.0,))], star, Workload(10, 100), [])


def test_the_duration_of_the_run_is_predicted_over_all_arms_and_tokens():
    said = [Said("naive", (1.0, 2.0)), Said("cached", (1.0, 0.5))]
    assert "All passes together: 4.5 s." in told(said, None, Workload(10, 2), [])


def test_the_preallocated_arm_reads_all_slots_from_the_start():
    shape = catalog.model("SmolLM2-135M")
    steps = predict_arm("preallocated", shape, Workload(100, 50, 1, "float32"), ROOFS).step_s
    assert steps[1] == steps[-1]
    with pytest.raises(ValueError, match="no prediction"):
        predict_arm("magic", shape, Workload(1, 1, 1, "float32"), ROOFS)


@pytest.mark.parametrize("make", [ui.prefill, ui.decode, ui.race])
def test_a_models_name_is_never_taken_for_html(make):
    panel = make(SCRIPT)
    shown = [panel.status.value, panel._text.value, panel.figure.layout.title.text]
    assert not any("<script" in text for text in shown)
