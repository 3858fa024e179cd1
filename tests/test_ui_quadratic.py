"""Lesson 02's panels without a browser: what they compute, measure, draw and refuse."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from toys import MACHINE

from labkit import catalog, roofline, ui
from labkit.records.sweep import Sweep, SweepPoint, power_law
from labkit.sweeps import ATTENTION, REST, WHOLE
from labkit.ui import token_cost
from labkit.ui.quadratic import flop_curves, share_curve
from labkit.ui.quadratic_text import attention_told, meeting, naive_told

TIMEOUT_S = 60
SMOL = catalog.model("SmolLM2-135M")


def line(panel, name: str):
    return next(trace for trace in panel.figure.data if trace.meta == name)


def sweep_of(name: str, seconds, lengths=(64, 128, 256, 512, 1024)) -> Sweep:
    points = tuple(SweepPoint(n, (round(seconds(n) * 1e9),)) for n in lengths)
    return Sweep(name, points, "SmolLM2-135M", "float32", MACHINE)


def slope(curve) -> float:
    """The power between the last two points."""
    return float(np.log(curve.y[-1] / curve.y[-2]) / np.log(curve.x[-1] / curve.x[-2]))


# ---- the matrix


def area(curve) -> float:
    """The shoelace formula."""
    x, y = curve.x, curve.y
    return abs(np.dot(x[:-1], y[1:]) - np.dot(x[1:], y[:-1])) / 2


def test_the_picture_grows_with_the_square_and_half_of_it_is_seen():
    panel = ui.attention_matrix(length=512)
    assert area(line(panel, "seen")) == area(line(panel, "masked")) == 512**2 / 2
    panel.length.value = 1024
    assert area(line(panel, "seen")) == 4 * 512**2 / 2


def test_attention_flops_are_a_square_and_linear_flops_a_line():
    linear, causal, full = flop_curves(SMOL)
    assert slope(linear) == pytest.approx(1)
    assert slope(full) == pytest.approx(2)
    assert slope(causal) == pytest.approx(2, abs=1e-3)
    assert full.y[-1] / causal.y[-1] == pytest.approx(2, abs=1e-3)


def test_the_matrix_panel_follows_every_control_at_once():
    panel = ui.attention_matrix(length=1024)
    assert "1,048,576 pairs" in panel.text.value
    assert "18.9 MB" in panel.text.value  # 9 heads · 1,024² · 2 bytes
    panel.dtype.value = "float32"
    assert "37.7 MB" in panel.text.value
    panel.model.value = "GPT-2"
    panel.length.value = 2048
    assert "at most 1,024 tokens" in panel.text.value


# ---- attention's time


def test_the_attention_panel_draws_every_point_and_tells_the_exponent():
    panel = ui.attention_sweep("toy", ("causal", "written out"), longest=512, rounds=2)
    sweeps = panel.wait(TIMEOUT_S)
    assert [sweep.name for sweep in sweeps] == ["causal", "written out"]
    for sweep in sweeps:
        shown = line(panel, sweep.name)
        np.testing.assert_allclose(shown.y, [p.median_s * 1e3 for p in sweep.points])
        assert [p.length for p in sweep.points] == [64, 91, 128, 181, 256, 362, 512]
        assert all(len(p.wall_ns) == 2 for p in sweep.points)
        assert str(power_law(sweep.upper_half())) in panel.text.value
    assert not line(panel, "all pairs").visible
    assert "measured on" in panel.figure.layout.title.text
    assert "done" in panel.status.value


def test_the_exponent_is_fitted_to_the_longer_half():
    sweep = sweep_of("causal", lambda n: 1e-3 + 1e-8 * n**2, (8, 16, 32, 10_000, 20_000, 40_000))
    text = attention_told([sweep], {"causal": power_law(sweep.upper_half())}, SMOL)
    assert "2.00 ± 0.00 between 10,000 and 40,000" in text


def test_no_kernel_chosen_is_said_with_a_remedy():
    panel = ui.attention_sweep("toy", (), longest=512)
    with pytest.raises(ValueError, match="choose from causal"):
        panel.wait(TIMEOUT_S)
    assert "nothing to time" in panel.status.value


def test_measured_sweeps_are_exported(toy):
    panel = ui.attention_sweep("toy", longest=512, rounds=1)
    assert not panel.export.ready
    panel.wait(TIMEOUT_S)
    assert panel.export.ready
    assert json.loads(panel._write("json"))["sweeps"][0]["name"] == "causal"
    assert len(panel._write("csv").splitlines()) == 1 + 7


# ---- a naive pass


def test_naive_attention_grows_quadratically_in_the_theory_and_the_rest_linearly():
    short, long = (roofline.naive_step(SMOL, n) for n in (1024, 2048))
    assert long.attention_flops / short.attention_flops == pytest.approx(4, rel=1e-3)
    assert long.linear_flops == 2 * short.linear_flops


def test_the_predicted_share_is_half_where_flops_are_equal():
    curve = share_curve(SMOL, 4096)
    meet = roofline.length_where_attention_equals_linear(SMOL)
    assert np.interp(meet, curve.x, curve.y) == pytest.approx(50, abs=0.5)
    assert np.all(np.diff(curve.y) > 0)


def test_a_share_of_an_unknown_shape_is_not_drawn():
    assert not share_curve(None, 4096).visible


def test_the_prediction_stands_before_the_run_and_the_parts_after_it(toy):
    panel = ui.naive_split(toy, longest=256, rounds=2)
    assert len(line(panel, "share-predicted").y)
    assert not len(line(panel, "share").y)
    sweeps = {sweep.name: sweep for sweep in panel.wait(TIMEOUT_S)}
    assert set(sweeps) == {WHOLE, ATTENTION, REST}
    share = line(panel, "share").y
    assert len(share) == 3
    assert np.all((share > 0) & (share < 100))
    assert "575 tokens" in panel.text.value  # where the toy's FLOPs are equal


SPLIT = [
    sweep_of(WHOLE, lambda n: 1e-4 * n + 1e-7 * n**2),
    sweep_of(ATTENTION, lambda n: 1e-7 * n**2),
    sweep_of(REST, lambda n: 1e-4 * n),
]
SPLIT_FITS = {sweep.name: power_law(sweep.points) for sweep in SPLIT}


def test_where_the_parts_meet_comes_from_both_fits_and_says_if_it_was_measured():
    met = meeting(SPLIT, SPLIT_FITS, SMOL)
    assert met.measured == pytest.approx(1000, rel=1e-2)
    assert met.predicted == 6143
    assert "inside what was measured" in str(met)
    assert "extrapolated beyond" in str(replace(met, longest=512))
    assert "near 1,000 tokens, 0.16 times that" in naive_told(SPLIT, SPLIT_FITS, SMOL)


def test_parts_that_grow_alike_do_not_meet():
    flat = {**SPLIT_FITS, ATTENTION: SPLIT_FITS[REST]}
    assert "do not meet" in str(meeting(SPLIT, flat, SMOL))


def test_a_run_that_is_stopped_between_two_parts_still_draws(toy):
    panel = ui.naive_split(toy, longest=256)
    panel.sweeps = (SPLIT[0],)
    panel.draw()
    assert panel.text.value == ""


# ---- the cost of a token


def test_predicted_curves_naive_flat_then_rising_cached_nearly_flat():
    curves = {c.name: c for c in token_cost.cost_curves(SMALL_8B, GPU, "bfloat16", 16384)}
    naive, cached = curves["naive-each"], curves["cached-each"]
    assert naive.y[0] == pytest.approx(cached.y[0], rel=1e-3)
    short = naive.x < 100
    assert naive.y[short][-1] == pytest.approx(naive.y[0], rel=1e-2)
    assert 1 < slope(naive) < 2
    assert cached.y[-1] < 1.5 * cached.y[0]
    assert np.all(curves["naive-total"].y >= curves["cached-total"].y * 0.98)


SMALL_8B = catalog.model("Llama-3.1-8B")
GPU = catalog.machine("RTX-4090")


def test_totals_are_the_sum_over_all_tokens():
    """1 + 2 + … + 7 with only some of the tokens as points."""
    numbers = np.array([1.0, 2, 4, 7])
    total = token_cost.running_total(numbers, numbers)
    np.testing.assert_allclose(total, [1, 3, 10, 28])


def test_the_table_holds_the_tokens_that_the_model_can_reach():
    panel = ui.token_costs()
    assert "token 10,000" in panel.text.value
    panel.model.value = "GPT-2"
    assert "token 1,000" in panel.text.value
    assert "token 10,000" not in panel.text.value


def test_a_model_that_does_not_fit_is_refused_and_the_next_choice_works():
    panel = ui.token_costs()
    panel.model.value = "Llama-3.1-405B"
    assert "choose a smaller model" in panel.text.value
    assert 'role="alert"' in panel.text.value
    panel.model.value = "Llama-3.1-8B"
    assert "predicted" in panel.text.value


def test_a_name_that_is_in_no_catalogue_is_refused_with_near_ones():
    with pytest.raises(ValueError, match="RTX-4090"):
        ui.token_costs(machine="RTX-4091")


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (ui.attention_matrix, "AttentionMatrix()"),
        (ui.attention_sweep, "AttentionSweep()"),
        (lambda: ui.naive_split("toy"), "NaiveSplit()"),
        (ui.token_costs, "TokenCosts()"),
    ],
)
def test_panels_have_a_constant_repr(make, name):
    assert repr(make()) == name
