"""The probe: what it times, which repeats count, what it makes of them, and how long it is kept."""

from __future__ import annotations

import importlib
import json
from datetime import UTC, datetime, timedelta

import pytest
import torch

from labkit import measure, probing
from labkit.cli import main
from labkit.measure.probe_tasks import MB, Sizes, count, matrices_of, read_a_layer, tasks
from labkit.records import Rate, Roofs

CPU = torch.device("cpu")
TINY = Sizes(
    16, (1, 4, 8), (1, 4, 8), (4000, 40_000), layer_bytes=2048, heads=4, kv_heads=2, head_dim=8
)
probe_module = importlib.import_module("labkit.measure.probe")


# ---- what is timed -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def all_tasks():
    return list(tasks(TINY, (torch.float32,), CPU, cache_bytes=MB))


def test_every_task_is_counted_and_runs(all_tasks):
    assert len(all_tasks) == count(TINY, dtypes=1)
    with torch.inference_mode():
        for task in all_tasks:
            task.call()


def test_products_count_two_flops_for_each_row_and_weight(all_tasks):
    products = [task for task in all_tasks if task.curve == "products"]
    assert [(task.size, task.work) for task in products] == [
        (n, 2 * n * 16 * 16) for n in (1, 4, 8)
    ]


def test_attention_is_causal_and_one_row_reads_a_whole_context(all_tasks):
    flops = {task.size: task.work for task in all_tasks if task.curve == "attention"}
    per_pair = 4 * 4 * 8  # 2 · heads · (key + value)
    assert flops == {1: per_pair * 1024, 4: per_pair * 10, 8: per_pair * 36}


def test_numbers_are_random_and_not_zeros(all_tasks):
    for task in all_tasks:
        if task.curve in ("products", "attention"):
            for tensor in task.call.args:
                assert tensor.float().std() > 0.5
                assert (tensor == 0).sum() < tensor.numel() / 100


@pytest.mark.parametrize("cache_mb", [1, 40])
def test_reads_go_through_twice_the_last_level_cache(cache_mb):
    reads = [
        task
        for task in tasks(TINY, (torch.float32,), CPU, cache_bytes=cache_mb * MB)
        if task.curve == "reads"
    ]
    assert all(task.work >= 0.99 * 2 * cache_mb * MB for task in reads)
    assert [task.size for task in reads] == pytest.approx([4000, 40_000], rel=0.15)


def test_the_pool_is_cut_into_up_and_down_matrices_that_share_no_number():
    pool = torch.arange(24 * 4 * 5, dtype=torch.float32)
    matrices = matrices_of(pool, n_bytes=24 * 4 * 4)
    assert [tuple(matrix.shape) for matrix in matrices[:2]] == [(16, 6), (6, 16)]
    assert len(torch.cat([matrix.flatten() for matrix in matrices]).unique()) == pool.numel()


def test_a_copy_makes_a_new_tensor_one_position_longer(all_tasks):
    (copy,) = [task for task in all_tasks if task.curve == "copies"]
    kept = copy.call()
    positions = 2048 // (2 * 8 * 4)
    assert {tuple(keys.shape) for keys in kept} == {(2, positions + 1, 8)}
    assert copy.work == 2 * len(kept) * 2048


# ---- which repeats count -------------------------------------------------------------------------


@pytest.fixture
def fake_times(monkeypatch):
    """Each timing takes the next of these seconds, whatever is called; then the last for ever."""

    def fake(*seconds: float) -> None:
        left = list(seconds)

        def timed(call, device, times=1):
            call()
            return round((left.pop(0) if len(left) > 1 else left[0]) * 1e9)

        monkeypatch.setattr(probe_module, "timed", timed)

    return fake


def test_a_rate_is_that_of_the_median_repeat(fake_times):
    fake_times(0.1, 0.05, 0.02, 0.04, 0.03, 0.9)  # the first one sets how many fit into a repeat
    work = measure.Probe(CPU, quick=True, sizes=TINY)
    next(work.steps())
    assert work.roofs().copy_bytes_per_s == pytest.approx(_copied() / 0.04)


def _copied() -> int:
    every = tasks(TINY, (torch.float32,), CPU, measure.this_machine(CPU).cache_bytes)
    return next(task.work for task in every if task.curve == "copies")


def test_the_hosts_time_is_a_passs_median_without_the_reads_between_its_layers(monkeypatch):
    asked = []
    seconds = {("pass", 4): 0.020, ("pass", 16): 0.056, ("reads", 4): 0.008, ("reads", 16): 0.032}

    def rounds(calls, number, device):
        for late in range(number):
            for key, call in calls.items():
                call()
                yield key, round((seconds[key] if late else 1.0) * 1e9)

    def one_pass(layers, between):
        asked.append(layers)
        return between

    monkeypatch.setattr(probe_module, "in_rounds", rounds)
    work = measure.Probe(CPU, one_pass, quick=True, sizes=TINY)
    next(work.steps())
    roofs = work.roofs()
    assert asked == [4, 16]
    assert (roofs.layers, roofs.overhead_s) == (16, pytest.approx(0.024))
    assert roofs.layer_overhead_s == pytest.approx((0.024 - 0.012) / 12)
    assert roofs.for_layers(30).overhead_s == pytest.approx(0.024 + 14 * 0.001)


def test_each_read_between_layers_goes_to_other_weights():
    read = read_a_layer(CPU)
    assert not torch.equal(read(), read())
    assert read_a_layer(torch.device("meta"))() is None


def test_larger_tasks_of_a_kind_are_left_out_after_one_that_takes_too_long(fake_times):
    fake_times(0.001, 0.9)  # everything takes 0.9 s
    work = measure.Probe(CPU, quick=True, sizes=TINY)
    shares = list(work.steps())
    assert shares[-1] == 1
    assert len(work.roofs().flops_by_rows["float32"]) == 1
    assert len(work.roofs().read_by_bytes["float32"]) == 1


def test_the_spread_is_half_of_what_lies_between_fastest_and_slowest(fake_times):
    fake_times(0.1, 0.08, 0.10, 0.10, 0.10, 0.12)
    work = measure.Probe(CPU, quick=True, sizes=TINY)
    next(work.steps())
    assert work.roofs().spread == pytest.approx(0.2)


def test_roofs_are_the_best_points_of_their_curves():
    work = measure.Probe(CPU, quick=True, sizes=TINY)
    for _ in work.steps():
        pass
    roofs = work.roofs()
    assert set(roofs.flops_per_s) == {"float32"}
    products, reads = roofs.flops_by_rows["float32"], roofs.read_by_bytes["float32"]
    assert [rate.size for rate in products] == [1, 4, 8]
    assert roofs.flops_per_s["float32"] == max(rate.per_s for rate in products)
    assert roofs.read_bytes_per_s == max(rate.per_s for rate in reads)
    assert [rate.size for rate in roofs.attention_by_rows["float32"]] == [1, 4, 8]
    assert roofs.overhead_s is None  # no pass was handed in


def test_a_probe_that_has_not_begun_knows_nothing():
    assert measure.Probe(CPU, sizes=TINY).roofs().read_bytes_per_s is None


# ---- the pass, and remembering -------------------------------------------------------------------


def test_a_pass_is_a_decode_step_and_never_runs_out():
    reads = []
    step = probing.one_pass(CPU)(2, lambda: reads.append(0))
    step()
    assert len(reads) == 2 + 2  # the prefill's layers, the step's layers
    seen = [step() for _ in range(130)]  # two texts and a bit
    assert {forward.tokens_in for forward in seen} == {1}
    assert len(seen[0].cache.layers) == 2
    assert seen[0].cache.layers[0].keys.dtype == torch.float32


ROOFS = Roofs(
    "cpu",
    {"float32": 1e11},
    2e10,
    flops_by_rows={"float32": (Rate(1, 1e9), Rate(64, 1e11))},
    layers=16,
    overhead_s=0.003,
)


def test_roofs_are_remembered_for_this_machine_and_these_threads(tmp_path, monkeypatch):
    assert probing.known_roofs(CPU, tmp_path) is None
    probing.remember(CPU, ROOFS, tmp_path)
    assert probing.known_roofs(CPU, tmp_path) == ROOFS
    monkeypatch.setattr(torch, "get_num_threads", lambda: 77)
    assert probing.known_roofs(CPU, tmp_path) is None
    probing.remember(CPU, ROOFS, tmp_path)
    assert probing.known_roofs(CPU, tmp_path) == ROOFS
    monkeypatch.undo()
    assert probing.known_roofs(CPU, tmp_path) == ROOFS  # both are kept


@pytest.mark.parametrize(
    ("field", "value"), [("torch", "1.0"), ("machine", "another"), ("measured_at", None)]
)
def test_roofs_of_another_torch_machine_or_day_do_not_count(field, value, tmp_path):
    probing.remember(CPU, ROOFS, tmp_path)
    file = tmp_path / probing.FILE
    (row,) = json.loads(file.read_text())
    old = (datetime.now(UTC) - timedelta(hours=25)).isoformat()
    file.write_text(json.dumps([row | {field: value or old}]))
    assert probing.known_roofs(CPU, tmp_path) is None


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"machine": "x"}]', "not JSON"])
def test_a_broken_file_is_no_roofs_and_is_replaced(text, tmp_path):
    (tmp_path / probing.FILE).write_text(text)
    assert probing.known_roofs(CPU, tmp_path) is None
    probing.remember(CPU, ROOFS, tmp_path)
    assert probing.known_roofs(CPU, tmp_path) == ROOFS


def test_a_folder_that_cannot_be_written_to_costs_nothing(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    probing.remember(CPU, ROOFS, blocked)
    assert probing.known_roofs(CPU, blocked) is None


# ---- the command ---------------------------------------------------------------------------------


@pytest.fixture
def small_probe(monkeypatch, tmp_path):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    monkeypatch.setattr(probe_module, "sizes_for", lambda device: TINY)
    return tmp_path / probing.FILE


def test_the_command_prints_the_roofs_and_keeps_them(small_probe, capsys):
    assert main(["probe", "--device", "cpu"]) == 0
    out = capsys.readouterr().out
    assert "products in float32" in out
    assert "a pass of 16 layers" in out
    assert small_probe.exists()


def test_the_command_gives_every_point_as_json_and_a_quick_probe_is_not_kept(small_probe, capsys):
    assert main(["probe", "--device", "cpu", "--quick", "--json"]) == 0
    roofs = json.loads(capsys.readouterr().out)
    assert [rate["size"] for rate in roofs["flops_by_rows"]["float32"]] == [1, 4, 8]
    assert not small_probe.exists()
