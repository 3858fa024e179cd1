"""The GPU's check on the toy and a CPU: what is written, what it says, and that it ends in time."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from labkit import gpu_check, models, records
from labkit.cli import main
from labkit.gpu_check import CPU, GPU, Plan, affordable, fitting_model
from labkit.models.fit import Fit
from labkit.records import Rate, Roofs

DEVICE = torch.device("cpu")
CURVE = {"float32": (Rate(1, 1e9), Rate(64, 1e10))}
ROOFS = Roofs("cpu", {"float32": 4e10}, 1e10, 1e10, overhead_s=0.001, attention_by_rows=CURVE)
RUNGS = ("naive", "cached")
TOY = Plan(("toy",), 8, (6, 3), prompts=(1, 8), together=(1, 2), contexts=(16, 32), rungs=RUNGS)


@pytest.fixture(autouse=True)
def known_roofs(monkeypatch):
    """No test waits for a probe."""
    monkeypatch.setattr(gpu_check.probing, "probe", lambda device, progress: ROOFS)
    monkeypatch.setattr(gpu_check.experiments.probing, "known_roofs", lambda device: ROOFS)


@pytest.fixture(scope="module")
def toy():
    return models.load("toy", device="cpu")


# ---- what is written -----------------------------------------------------------------------------


def test_every_file_says_what_was_measured_where_and_with_which_versions(tmp_path):
    outcome = gpu_check.check(DEVICE, tmp_path / "new", TOY)
    assert outcome.cut_short == ()
    machine = gpu_check.measure.this_machine(DEVICE).name
    files = {path.stem: json.loads(path.read_text()) for path in (tmp_path / "new").iterdir()}
    assert {f"{name}.json" for name in files} == set(gpu_check.FILES)
    rows = [files["roofs"], *files["race"]["traces"]]
    rows += [trace for rung in files["ladder"]["ladder"]["rungs"] for trace in rung["traces"]]
    rows += [files[part]["passes"] for part in ("prefill", "decode")]
    for row in rows:
        assert row["machine"]["name"] == machine
        assert row["versions"]["torch"] == torch.__version__
        assert row["roofs"]["read_bytes_per_s"] == 1e10


def test_the_race_can_be_read_back_as_a_recorded_run(tmp_path):
    measured = gpu_check.check(DEVICE, tmp_path, TOY).traces
    read = records.parse((tmp_path / "race.json").read_text())
    assert [replace(trace, origin="measured") for trace in read] == list(measured)
    assert {trace.origin for trace in read} == {"recorded"}
    assert [len(trace.steps) for trace in read] == [6, 6]


def test_prefills_and_decode_steps_are_those_of_the_plan(tmp_path):
    outcome = gpu_check.check(DEVICE, tmp_path, TOY)
    assert [t.what.new_tokens for t in outcome.prefill.curve("prefill")] == [1, 8]
    assert [t.what.batch for t in outcome.decode.curve("together")] == [1, 2]
    assert [t.what.context for t in outcome.decode.curve("context")] == [16, 32]
    assert {t.what.dtype for t in outcome.decode.timings} == {"float32"}


# ---- time and room -------------------------------------------------------------------------------


def test_without_time_each_part_stops_after_a_step_and_what_there_is_is_written(tmp_path):
    outcome = gpu_check.check(DEVICE, tmp_path, TOY, budget_s=0.0)
    assert outcome.cut_short == ("race", "prefill", "decode", "ladder")
    assert len(outcome.traces[0].steps) == 1
    assert outcome.prefill.timings == ()
    assert len(list(tmp_path.iterdir())) == len(gpu_check.FILES)


def test_the_race_is_as_long_as_the_roofs_promise_it_can_be(toy):
    assert affordable((64, 32, 8), 10, toy, ROOFS, seconds=1e6) == 64
    assert affordable((64, 32, 8), 10, toy, ROOFS, seconds=0.15) == 32
    assert affordable((64, 32, 8), 10, toy, ROOFS, seconds=0.0) == 8


def test_a_gpu_without_room_for_8b_gets_the_largest_that_fits(monkeypatch):
    def fits(shape, dtype, device, *sizes):
        return Fit(1, 0, 0, free_bytes=0 if shape.name == "Llama-3.1-8B" else 100)

    monkeypatch.setattr(gpu_check.models, "fits", fits)
    assert fitting_model(GPU, DEVICE) == "Llama-3.2-3B"
    with pytest.raises(models.ModelError, match="does not fit"):
        fitting_model(replace(GPU, models=("Llama-3.1-8B",)), DEVICE)


def test_the_plans_stay_within_their_models():
    for plan in (GPU, CPU):
        for name in plan.models:
            assert max(*plan.prompts, *plan.contexts) <= models.choices()[name].max_context


# ---- the command ---------------------------------------------------------------------------------


def test_the_command_prints_measured_beside_predicted(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(gpu_check, "CPU", TOY)
    assert main(["gpu-check", "--device", "cpu", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "decode at 16, 2 together" in out
    assert "of its roof" in out
    assert "identical so far" in out
    assert "roofs.json, race.json" in out
    assert "cut short" not in out


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
def test_without_a_gpu_the_command_says_what_to_do(capsys):
    assert main(["gpu-check"]) == 2
    assert "--device cpu" in capsys.readouterr().err
