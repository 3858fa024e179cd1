"""Timed sweeps: what is called how often, the exponent from made-up times, and clear refusals."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import replace
from math import sqrt

import pytest
import torch
from toys import MACHINE

from labkit import catalog, measure, sweeps
from labkit.measure import repeat
from labkit.records.sweep import (
    Sweep,
    SweepPoint,
    meeting_length,
    power_law,
    sweeps_to_csv,
    sweeps_to_json,
)
from labkit.sweeps import ATTENTION, REST, WHOLE, BadSweep

CPU = torch.device("cpu")
SMALL = catalog.model("toy")


def sweep_of(seconds, lengths=(64, 128, 256, 512), name="attention") -> Sweep:
    points = tuple(SweepPoint(n, (round(seconds(n) * 1e9),)) for n in lengths)
    return Sweep(name, points, "toy", "float32", MACHINE)


# ---- exponent ------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [1, 2, 3])
def test_the_exponent_of_a_pure_power_is_that_power_without_error(power):
    law = power_law(sweep_of(lambda n: 1e-6 * n**power).points)
    assert law.exponent == pytest.approx(power, abs=1e-4)
    assert law.factor_s == pytest.approx(1e-6, rel=1e-2)
    assert law.error < 1e-3


def test_a_constant_part_pulls_the_exponent_down_at_short_lengths():
    points = sweep_of(lambda n: 1e-3 + 1e-7 * n**2).points
    assert 0.5 < power_law(points[:2]).exponent < power_law(points[2:]).exponent < 2


def test_the_error_of_the_exponent_is_that_of_a_straight_line():
    """Logs 0, 1, 2 of the length and 0, 1 + d, 2 of the time: slope 1; residuals −d/3, 2d/3, −d/3;
    error √(6d²/9 ÷ 1 ÷ 2)."""
    d = 0.3
    times = {10: 1.0, 100: 10 * 10**d, 1000: 100.0}
    law = power_law(sweep_of(times.__getitem__, times).points)
    assert law.exponent == pytest.approx(1)
    assert law.error == pytest.approx(d * sqrt(6 / 9 / 2))


def test_two_lengths_give_an_exponent_without_error_and_one_gives_none():
    points = sweep_of(lambda n: 1e-6 * n**2).points
    assert str(power_law(points[:2])) == "2.00"
    assert power_law(points[:1]) is None


def test_a_square_and_a_line_meet_where_they_are_equal():
    line = power_law(sweep_of(lambda n: 1e-3 * n).points)
    square = power_law(sweep_of(lambda n: 1e-6 * n**2).points)
    assert meeting_length(line, square) == pytest.approx(1000, rel=1e-3)
    assert meeting_length(line, line) is None


# ---- the record ----------------------------------------------------------------------------------


def test_points_stay_in_order_and_keep_every_repeat():
    sweep = replace(sweep_of(lambda n: 1.0), points=())
    for length, wall_ns in [(64, 5), (16, 2), (64, 9), (32, 4), (64, 1)]:
        sweep = sweep.add(length, wall_ns)
    assert [p.length for p in sweep.points] == [16, 32, 64]
    assert sweep.points[-1].wall_ns == (5, 9, 1)
    last = sweep.points[-1]
    assert (last.low_s, last.median_s, last.high_s) == pytest.approx((1e-9, 5e-9, 9e-9))
    assert [p.length for p in sweep.upper_half()] == [32, 64]


def test_exports_hold_every_repeat():
    sweep = sweep_of(lambda n: n * 1e-6).add(64, 7)
    assert json.loads(sweeps_to_json([sweep]))["sweeps"][0]["points"][0]["wall_ns"] == [64000, 7]
    rows = list(csv.DictReader(io.StringIO(sweeps_to_csv([sweep, sweep]))))
    assert len(rows) == 10
    assert rows[1] == {"name": "attention", "length": "64", "repeat": "1", "wall_ns": "7"}


# ---- the clock -----------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    """A clock of our own: calls move it by hand."""
    now = [0]
    monkeypatch.setattr(repeat, "perf_counter_ns", lambda: now[0])
    return now


def test_rounds_go_through_all_calls_in_turn_after_a_warm_up(clock):
    made = []

    def call(name, ns):
        made.append(name)
        clock[0] += ns

    calls = {"a": lambda: call("a", 10**7), "b": lambda: call("b", 3 * 10**7)}
    timed = list(measure.in_rounds(calls, 2, CPU))
    assert timed == [("a", 10**7), ("b", 3 * 10**7)] * 2
    assert "".join(made) == "aaabbbab"  # warm-up, a look at its length, the timing


def test_short_calls_are_timed_several_at_a_time_and_the_mean_is_given(clock):
    made = []

    def call():
        made.append(1)
        clock[0] += 500_000  # a quarter of what counts as short

    assert list(measure.in_rounds({"a": call}, 1, CPU)) == [("a", 500_000)]
    assert len(made) == 2 + 5


def test_a_stopwatch_adds_up_its_calls_and_nothing_else(clock):
    watch = measure.Stopwatch(CPU)

    def work():
        clock[0] += 3
        return "done"

    assert watch.around(work) == "done"
    clock[0] += 100
    watch.around(work)
    assert (watch.calls, watch.wall_ns()) == (2, 6)


def test_attention_is_watched_once_a_layer_and_only_while_entered(toy):
    watch = measure.Stopwatch(CPU)
    ids = torch.zeros(1, 16, dtype=torch.long)
    with measure.WatchAttention(watch):
        toy.model(ids)
    toy.model(ids)
    assert watch.calls == 2


# ---- what is timed -------------------------------------------------------------------------------


def test_lengths_double_and_can_be_closer():
    assert sweeps.lengths(64, 600) == [64, 128, 256, 512]
    assert sweeps.lengths(64, 128, per_doubling=2) == [64, 91, 128]


def test_each_kernel_is_timed_at_each_length_in_each_round():
    made = list(sweeps.attention(SMALL, list(sweeps.KERNELS), [8, 16], rounds=3))
    counted = Counter((repeat.name, repeat.length) for repeat in made)
    assert counted == {(name, length): 3 for name in sweeps.KERNELS for length in (8, 16)}


def test_the_written_out_kernel_gives_what_torch_gives():
    q, k, v = torch.randn(3, 1, 2, 9, 4).unbind(0)
    torch.testing.assert_close(sweeps.written_out(q, k, v), sweeps.causal(q, k, v))
    assert not torch.allclose(sweeps.all_pairs(q, k, v), sweeps.causal(q, k, v))


def test_a_naive_pass_is_its_attention_and_everything_else(toy):
    made = list(sweeps.naive_pass(toy, [16, 32], rounds=2))
    assert [repeat.name for repeat in made[:3]] == [WHOLE, ATTENTION, REST]
    for whole, attention, rest in zip(made[::3], made[1::3], made[2::3], strict=True):
        assert whole.wall_ns == attention.wall_ns + rest.wall_ns
        assert 0 < attention.wall_ns < whole.wall_ns
    assert [repeat.length for repeat in made[::3]] == [16, 32, 16, 32]


# ---- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda toy: sweeps.lengths(0, 5), "give 1 or more"),
        (lambda toy: sweeps.lengths(9, 5), "in this order"),
        (lambda toy: list(sweeps.attention(SMALL, [], [8])), "nothing to time: choose"),
        (lambda toy: list(sweeps.attention(SMALL, ["x"], [8])), "unknown kernel"),
        (lambda toy: list(sweeps.attention(SMALL, ["causal"], [8], 0)), "ask for 1 or more"),
        (
            lambda toy: list(sweeps.attention(SMALL, ["written out"], [10**7])),
            "shorter longest length",
        ),
        (lambda toy: sweeps.naive_pass(toy, [9000]), "8,192"),
        (lambda toy: sweeps.naive_pass(toy, [9], rounds=0), "ask for 1 or more"),
    ],
)
def test_a_sweep_that_can_not_run_is_refused_with_a_remedy(toy, ask, says):
    with pytest.raises(BadSweep, match=says):
        ask(toy)


def test_attention_that_is_not_torchs_own_is_refused_not_counted_as_nothing(toy):
    toy.model.set_attn_implementation("eager")
    try:
        with pytest.raises(BadSweep, match="sdpa"):
            list(sweeps.naive_pass(toy, [8]))
    finally:
        toy.model.set_attn_implementation("sdpa")
