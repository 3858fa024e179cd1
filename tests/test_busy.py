"""The share of a step in which the device computes, of made-up steps and of real ones."""

from __future__ import annotations

import importlib
import time
from types import SimpleNamespace

import pytest
import torch

from labkit import experiments, models
from labkit.experiments import RaceRequest
from labkit.measure import Arm, device_share
from labkit.records import Rate, Roofs, from_csv, from_json, to_csv, to_json

CPU = torch.device("cpu")
busy = importlib.import_module("labkit.measure.busy")


def arm_of(work, steps: int = 20) -> Arm:
    """An arm whose every step is `work()`."""

    def start():
        for _ in range(steps):
            work()
            yield SimpleNamespace()

    return Arm("made up", start)


def multiply() -> None:
    ones = torch.ones(300, 300)
    for _ in range(5):
        ones @ ones


def test_a_step_that_only_computes_is_busy_and_one_that_mostly_sleeps_is_not():
    assert device_share(arm_of(multiply), CPU) > 0.6
    assert device_share(arm_of(lambda: (multiply(), time.sleep(0.1))), CPU) < 0.4


def test_a_step_without_an_operator_is_never_busy():
    assert device_share(arm_of(lambda: time.sleep(0.001)), CPU) == 0


def test_making_views_is_no_computing():
    ones = torch.ones(4, 4)

    def views() -> None:
        for _ in range(200):
            ones.t()

    assert device_share(arm_of(views), CPU) == 0


def test_the_prefill_is_not_watched(monkeypatch):
    watched = []
    monkeypatch.setattr(
        busy, "_share_on_cpu", lambda tokens, device: watched.append(next(tokens)) or 0.5
    )
    arm = Arm("counting", lambda: iter(range(10)))
    assert device_share(arm, CPU) == 0.5
    assert watched == [2, 3, 4]


def test_an_arm_that_ends_too_early_and_a_device_that_cannot_tell_are_unknown():
    assert device_share(arm_of(multiply, steps=3), CPU) is None
    assert device_share(arm_of(multiply), torch.device("mps")) is None


def test_slow_steps_are_not_repeated_for_long(monkeypatch):
    monkeypatch.setattr(busy, "ENOUGH_S", 0.0)
    made = []
    device_share(arm_of(lambda: made.append(multiply())), CPU)
    assert len(made) == busy.UNTIMED_STEPS + 2  # one step as it is, one watched


# ---- with a run ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def toy() -> models.Loaded:
    return models.load("toy", device="cpu")


ROOFS = Roofs(
    "cpu",
    {"float32": 1e11},
    2e10,
    1e10,
    overhead_s=0.02,
    flops_by_rows={"float32": (Rate(1, 1e9), Rate(64, 1e11))},
    read_by_bytes={"float32": (Rate(1e6, 1e10),)},
    layers=16,
    layer_overhead_s=0.001,
)


@pytest.fixture
def traces(toy, monkeypatch):
    monkeypatch.setattr(experiments.probing, "known_roofs", lambda device: ROOFS)
    request = RaceRequest(toy, prompt=5, new_tokens=12)
    runs = experiments.prepare(request, toy)
    assert all(run.trace().device_share is None for run in runs)
    for _ in experiments.steps(request, runs):
        pass
    return [run.trace() for run in runs]


def test_a_race_ends_with_each_arms_share_and_no_further_step(traces):
    for trace in traces:
        assert 0 < trace.device_share <= 1
        assert len(trace.steps) == 12


def test_a_trace_keeps_the_roofs_with_its_own_models_overhead(traces, toy):
    for trace in traces:
        assert trace.roofs == ROOFS.for_layers(toy.shape.layers)
        assert trace.roofs.overhead_s == pytest.approx(0.02 - 14 * 0.001)


def test_roofs_and_share_survive_json_and_csv(traces):
    assert from_json(to_json(traces)) == traces
    assert from_csv(to_csv(traces)) == traces


def test_a_stopped_race_has_no_share(toy):
    request = RaceRequest(toy, prompt=5, new_tokens=12)
    runs = experiments.prepare(request, toy)
    next(iter(experiments.steps(request, runs)))
    assert runs[0].trace().device_share is None
