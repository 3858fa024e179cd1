"""Lesson 07's panels without a browser: what they serve, draw, say and refuse."""

from __future__ import annotations

import gc
import json

import numpy as np
import pytest

from labkit import batching, models, ui
from labkit.batching.slots import Slots
from labkit.records.machine import Roofs
from labkit.roofline.batching import saturation_batch
from labkit.ui.batching_load import LOADS
from labkit.ui.batching_sizes import STEPS, step_s
from labkit.ui.batching_text import slots_told, straggler

TIMEOUT_S = 60
ROOFS = Roofs("cpu", {"float32": 4e10}, 1e10, 1e10, overhead_s=0.001)
SCRIPT = "<script>alert(1)</script>"

pytestmark = pytest.mark.usefixtures("no_earlier_probe")


@pytest.fixture(scope="module")
def served(toy):
    """A finished run of the slots' panel."""
    panel = ui.batching(toy, slots=2, requests=5, answers=(2, 16))
    panel.wait(TIMEOUT_S)
    return panel


@pytest.fixture(scope="module")
def sized(toy):
    """A finished run of the batch sizes' panel."""
    panel = ui.batch_sizes(toy, most=4, context=16, roofs=ROOFS)
    panel.wait(TIMEOUT_S)
    return panel


def line(panel, name: str):
    return next(trace for trace in panel.figure.data if trace.meta == name)


# ---- slots ---------------------------------------------------------------------------------------


def test_both_policies_serve_the_same_requests_to_the_same_answers(served):
    static, continuous = served.servings
    assert (static.policy, continuous.policy) == ("static", "continuous")
    assert [t.request for t in static.requests] == [t.request for t in continuous.requests]
    assert "The answers are the same" in served.text.value
    assert "done" in served.status.value


@pytest.mark.parametrize("policy", ["static", "continuous"])
def test_the_chart_shows_each_request_in_its_slot(served, policy):
    serving = next(each for each in served.servings if each.policy == policy)
    answers, prompts = line(served, f"{policy}-answer"), line(served, f"{policy}-prompt")
    for place, times in enumerate(serving.requests):
        assert list(prompts.x[3 * place : 3 * place + 2]) == [times.start_s, times.first_token_s]
        assert list(answers.y[3 * place : 3 * place + 2]) == [times.slot + 1] * 2
    assert list(line(served, f"{policy}-who").text) == [str(n) for n in range(5)]


def test_kept_slots_are_drawn_for_static_batches_only(served):
    static, _ = served.servings
    kept = sum(t.release_s > t.last_token_s for t in static.requests)
    assert np.isnan(line(served, "static-kept, but done").x).sum() == kept > 0
    assert not line(served, "continuous-kept, but done").visible
    assert line(served, "static-kept, but done").line.dash != "solid"


def test_the_straggler_is_named(served):
    static, continuous = served.servings
    assert "kept 1 other slot for" in straggler(static)
    assert straggler(continuous) == ""


def test_the_cache_in_use_stays_below_what_is_allocated(served):
    for policy in ("static", "continuous"):
        assert max(line(served, f"{policy}-used").y) <= line(served, "allocated-used").y[0]


def test_a_run_is_exported_with_every_request_and_pass(served):
    kept = json.loads(served._write("json"))["servings"]
    assert len(kept[1]["passes"]) == len(served.servings[1].passes)
    assert served._write("csv").count("\n") == 1 + 2 * 5


def test_stop_in_the_middle_keeps_what_was_served_frees_the_cache_and_the_next_run_works(
    toy, monkeypatch
):
    panel = ui.batching(toy, slots=2, requests=20, answers=(200, 256))
    turns = batching.in_turns

    def stopped_after_a_while(services):
        for place, turn in enumerate(turns(services)):
            if place == 30:
                panel.stop()
            yield turn

    monkeypatch.setattr("labkit.batching.in_turns", stopped_after_a_while)
    servings = panel.wait(TIMEOUT_S)
    monkeypatch.undo()
    assert "stopped" in panel.status.value
    assert 0 < servings[0].tokens < 20 * 200
    assert "were stopped" in panel.text.value
    gc.collect()
    assert not [o for o in gc.get_objects() if type(o) is Slots]
    panel.count.value, panel.longest.value = 2, 8
    panel.run()
    assert all(t.done for t in panel.wait(TIMEOUT_S)[1].requests)


def test_a_batch_that_can_not_fit_is_refused_in_the_panel_and_the_next_run_works(toy, monkeypatch):
    panel = ui.batching(toy, slots=2, requests=2, answers=(2, 8))
    monkeypatch.setattr("labkit.models.fit.free_bytes", lambda device: 1000)
    with pytest.raises(models.ModelError, match=r"KV cache .* would"):
        panel.wait(TIMEOUT_S)
    assert "would not fit" in panel.status.value
    monkeypatch.undo()
    panel.run()
    assert len(panel.wait(TIMEOUT_S)) == 2


def test_nothing_is_said_before_a_run(toy):
    panel = ui.batching(toy)
    assert "Nothing was measured yet" in panel.text.value
    assert panel.figure.layout.title.text == "nothing measured yet"
    assert slots_told([]) == panel.text.value


# ---- batch sizes ---------------------------------------------------------------------------------


def test_batches_of_each_size_decode_full(sized):
    assert [serving.slots for serving in sized.batches] == [1, 2, 4]
    for serving in sized.batches:
        assert serving.wasted_slots == 0
        assert [each.kind for each in serving.passes].count("decode") == STEPS
    shown = line(sized, "measured")
    np.testing.assert_allclose(shown.x, [1e3 * step_s(s) for s in sized.batches])
    np.testing.assert_allclose(shown.y, [s.slots / step_s(s) for s in sized.batches])
    assert list(shown.text) == ["1", "2", "4"]
    assert "<table" in sized.text.value


def test_the_prediction_is_drawn_dashed_before_anything_runs(toy):
    panel = ui.batch_sizes(toy, most=8, context=16, roofs=ROOFS)
    said = line(panel, "predicted")
    assert list(said.text) == ["1", "2", "4", "8"]
    assert said.line.dash == "dash"
    batch = saturation_batch(toy.shape, 16, ROOFS, "float32")
    assert f"{batch:.0f} sequences" in line(panel, "saturation").text[1]
    assert f"at {batch:.0f} sequences" in panel.text.value
    assert not line(panel, "measured").visible


def test_without_roofs_nothing_is_predicted(toy):
    panel = ui.batch_sizes(toy, most=2, context=16)
    assert panel.said() == []
    assert panel.saturation() is None
    assert "No prediction" in panel.text.value


def test_another_choice_forgets_the_run_that_was_of_the_last_one(toy):
    panel = ui.batch_sizes(toy, most=2, context=16, roofs=ROOFS)
    panel.wait(TIMEOUT_S)
    assert panel.export.ready
    panel.context.value = 32
    assert panel.batches == ()
    assert not panel.export.ready


def test_a_context_beyond_the_model_is_refused_with_the_remedy(toy):
    panel = ui.batch_sizes(toy, most=1, context=100_000, roofs=ROOFS)
    with pytest.raises(ValueError, match="can attend to"):
        panel.wait(TIMEOUT_S)
    assert panel.said() == []


# ---- load ----------------------------------------------------------------------------------------


def test_each_load_is_served_by_both_policies_at_its_share_of_the_servers_rate(toy):
    panel = ui.load(toy, slots=2, requests=4, answers=(2, 4))
    assert "Nothing was measured yet" in panel.text.value
    loads = panel.wait(TIMEOUT_S)
    assert [load for load, _ in loads] == [load for load in LOADS for _ in range(2)]
    rates = [serving.per_s / load for load, serving in loads]
    assert rates == pytest.approx([rates[0]] * len(rates))
    static = [s.ttft_s() for _, s in loads if s.policy == "static"]
    np.testing.assert_allclose(line(panel, "static-median").y, static)
    assert "TTFT, 95 %" in panel.text.value
    assert panel._write("csv").count("\n") == 1 + 4 * len(loads)


@pytest.mark.parametrize("make", [ui.batching, ui.batch_sizes, ui.load])
def test_a_models_name_is_never_taken_for_html(make):
    panel = make(SCRIPT)
    shown = [panel.status.value, panel.text.value, panel.figure.layout.title.text]
    assert not any("<script" in text for text in shown)
    assert repr(panel) in ("Batching()", "BatchSizes()", "Load()")
