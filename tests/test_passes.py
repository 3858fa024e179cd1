"""Single passes: what is timed, the shape of predicted curves, what-if, and the proof."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from toys import FAMILIES, MACHINE, SHAPE, tiny_model, trace_of

from labkit import catalog, models, roofline
from labkit.generate import last_logits
from labkit.records.estimate import Estimate
from labkit.records.machine import Rate, Roofs
from labkit.records.passes import Pass, Passes, Timing, passes_to_csv, passes_to_json
from labkit.records.workload import Workload
from labkit.roofline.prove import Trial, in_cache, prove, trials
from labkit.roofline.whatif import (
    UPGRADES,
    Observed,
    Shares,
    calibrate,
    helpful,
    observed,
    outlook,
    upgraded,
)
from labkit.sweeps_passes import REPEATS, PassRun, fork, passes_of, time_all

LLAMA = catalog.model("Llama-3.1-8B")
GPU = roofline.datasheet_roofs(catalog.machine("H100-SXM"))
CPU = Roofs("cpu", {"float32": 1e11, "bfloat16": 1e11}, read_bytes_per_s=2e10, overhead_s=0.002)
SMOL = catalog.model("SmolLM2-135M")


def loaded_of(family: str) -> models.Loaded:
    model = tiny_model(family)
    text = type("NoText", (), {"eos_ids": ()})()
    return models.Loaded(model, text, SHAPE, family, "shape", torch.device("cpu"), torch.float32)


# ---- what is timed -------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_a_decode_step_is_timed_again_and_again_at_the_same_position(family):
    run = PassRun("context", Pass(1, 50), loaded_of(family))
    run.warm_up()
    cache = run._cache
    held = [layer.keys.shape[2] for layer in cache.layers]
    for _ in range(3):
        run.time()
    assert [layer.keys.shape[2] for layer in cache.layers] == held
    assert len(run.wall_ns) == 3


@pytest.mark.parametrize("family", FAMILIES)
def test_a_forked_cache_gives_the_logits_of_the_whole_sequence(family):
    run = PassRun("context", Pass(1, 50), loaded_of(family))
    run.prepare()
    model = run.loaded.model
    with torch.inference_mode():
        first = last_logits(model, run._ids, past=49, cache=fork(run._cache))
        again = last_logits(model, run._ids, past=49, cache=fork(run._cache))
    torch.testing.assert_close(first, again)


def test_a_batch_has_as_many_rows_and_a_cache_for_each():
    run = PassRun("together", Pass(1, 16, batch=3), loaded_of("llama"))
    run.prepare()
    assert run._ids.shape == (3, 1)
    assert run._cache.layers[0].keys.shape[::2] == (3, 15)


def test_all_passes_are_tried_in_turns_and_the_first_call_is_kept_apart():
    loaded = loaded_of("llama")
    runs = [PassRun("prefill", Pass(n, n), loaded) for n in (1, 8)]
    shares = list(time_all(runs))
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
    timings = passes_of(runs, loaded, None).timings
    assert [len(timing.wall_ns) for timing in timings] == [REPEATS, REPEATS]
    assert all(timing.first_call_ns > 0 for timing in timings)


def test_a_long_pass_is_tried_twice_only():
    run = PassRun("prefill", Pass(8, 8), loaded_of("llama"))
    run.wall_ns = [1_500_000_000]
    assert not run.enough
    run.wall_ns *= 2
    assert run.enough


def test_a_timing_is_its_median_and_a_file_keeps_every_try():
    timing = Timing("prefill", Pass(8, 8), (3_000_000, 1_000_000, 2_000_000), 9_000_000)
    assert timing.median_s == pytest.approx(0.002)
    assert timing.percentile_s(100) == pytest.approx(0.003)
    passes = Passes("toy", SHAPE, MACHINE, (timing,))
    assert passes.at("prefill", Pass(8, 8)) is timing
    assert passes.at("prefill", Pass(9, 9)) is None
    lines = passes_to_csv(passes).splitlines()
    assert lines[1] == "prefill,8,8,1,float32,0,9000000"
    assert len(lines) == 5
    assert '"wall_ns": [3000000, 1000000, 2000000]' in passes_to_json(passes)


# ---- the shape of the lessons' curves, as the roofline predicts them -----------------------------

both = pytest.mark.parametrize(
    ("shape", "roofs", "dtype"), [(LLAMA, GPU, "bfloat16"), (SMOL, CPU, "float32")]
)


@pytest.mark.parametrize(
    ("shape", "roofs", "dtype"), [(LLAMA, GPU, "bfloat16"), (SMOL, CPU, "float32")]
)
def test_ttft_is_flat_up_to_the_knee_and_linear_after_it(shape, roofs, dtype):
    def seconds(tokens):
        return roofline.expected(shape, Pass(tokens, tokens, dtype=dtype), roofs).seconds

    knee = int(roofline.ridge_tokens(shape, roofs, dtype))
    assert seconds(knee // 2) == pytest.approx(seconds(1), rel=0.05)
    assert seconds(8 * knee) / seconds(4 * knee) == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize(
    ("shape", "roofs", "dtype"), [(LLAMA, GPU, "bfloat16"), (SMOL, CPU, "float32")]
)
def test_a_step_is_flat_up_to_the_ridge_and_rises_after_it(shape, roofs, dtype):
    def seconds(batch):
        return roofline.expected(shape, Pass(1, 16, batch, dtype), roofs).seconds

    ridge = int(roofline.ridge_tokens(shape, roofs, dtype))
    assert seconds(ridge // 2) == pytest.approx(seconds(1), rel=0.1)
    assert seconds(8 * ridge) / seconds(4 * ridge) == pytest.approx(2, rel=0.15)


def test_a_step_over_context_grows_by_the_cache_alone():
    short, long = (roofline.cost_of(SMOL, Pass(1, c)) for c in (100, 1100))
    kv = roofline.kv_bytes_per_token(SMOL, "float32")
    assert long.bytes - short.bytes == 3 * 1000 * kv  # read once; copied: read and written
    said = [roofline.expected(SMOL, Pass(1, c), CPU).seconds for c in (100, 1100)]
    assert said[1] - said[0] == pytest.approx(3 * 1000 * kv / 2e10)


def test_the_knee_is_where_the_flat_and_the_rising_part_meet():
    ms = {1: 50, 16: 52, 256: 640, 1024: 2560}
    timings = [Timing("prefill", Pass(n, n), (t * 1_000_000,)) for n, t in ms.items()]
    assert roofline.knee(timings) == pytest.approx(50 / 2.5)
    assert roofline.knee(timings[:1]) is None


def test_mfu_and_mbu_are_shares_of_the_roofs_and_none_without_them():
    cost = roofline.cost_of(SMOL, Pass(1, 64))
    assert roofline.mbu(cost, cost.bytes / 1e10, CPU) == pytest.approx(0.5)
    assert roofline.mfu(cost, cost.flops / 1e10, CPU) == pytest.approx(0.1)
    assert roofline.mfu(cost, 1.0, Roofs("cpu")) is None


# ---- what if -------------------------------------------------------------------------------------

WORK = Workload(4000, 200)


def run_on_a100(share: float) -> Observed:
    """A run that reached that share of both roofs of an A100."""
    roofs = roofline.datasheet_roofs(catalog.machine("A100-80GB"))
    best = outlook(LLAMA, WORK, roofs)
    return Observed(LLAMA, roofs, WORK, best.ttft_s / share, best.tpot_s / share, "A100")


def test_a_run_tells_which_share_of_the_roofs_each_phase_reached():
    run = run_on_a100(0.6)
    found = calibrate(replace(run, tpot_s=2 * run.tpot_s))
    assert found.prefill == pytest.approx(0.6)
    assert found.decode == pytest.approx(0.3)


def test_on_its_own_machine_a_run_is_predicted_as_it_was():
    run = run_on_a100(0.6)
    there = outlook(LLAMA, WORK, run.roofs, shares=calibrate(run))
    assert there.ttft_s == pytest.approx(run.ttft_s)
    assert there.tpot_s == pytest.approx(run.tpot_s)


def test_elsewhere_each_phase_follows_its_own_roof():
    run = run_on_a100(0.6)
    there = outlook(LLAMA, WORK, GPU, shares=calibrate(run))
    assert run.ttft_s / there.ttft_s == pytest.approx(989.4 / 312, rel=0.01)
    assert run.tpot_s / there.tpot_s == pytest.approx(3350 / 2039, rel=0.01)


def helps(work: Workload, roofs: Roofs) -> dict:
    then = {name: outlook(LLAMA, work, upgraded(roofs, name)) for name in UPGRADES}
    return helpful(outlook(LLAMA, work, roofs), then)


def test_flops_help_a_long_prompt_and_bandwidth_helps_decode():
    assert helps(WORK, GPU) == {"ttft": "FLOP/s", "tpot": "bandwidth"}
    assert helps(Workload(8, 8), GPU)["ttft"] == "bandwidth"


def test_no_upgrade_helps_where_the_host_is_the_limit():
    assert helps(WORK, replace(GPU, overhead_s=1.0)) == {"ttft": None, "tpot": None}


def test_an_upgrade_speeds_up_the_curves_of_the_probe_too():
    curve = {"float32": (Rate(1, 10.0),)}
    roofs = replace(CPU, flops_by_rows=curve, attention_by_rows=curve, read_by_bytes=curve)
    faster, wider = (upgraded(roofs, name) for name in UPGRADES)
    assert faster.flops_by_rows["float32"][0].per_s == 20
    assert faster.attention_by_rows["float32"][0].per_s == 20
    assert faster.read_by_bytes == curve
    assert wider.read_by_bytes["float32"][0].per_s == 20
    assert wider.flops_by_rows == curve
    with pytest.raises(ValueError, match="bandwidth"):
        upgraded(roofs, "colour")


def test_a_host_bound_run_tells_nothing_of_the_roofs():
    run = replace(run_on_a100(1), roofs=replace(GPU, overhead_s=2.0), ttft_s=2.0, tpot_s=2.0)
    assert calibrate(run) == Shares(None, None)


def test_a_naive_run_or_one_without_a_second_token_is_refused():
    with pytest.raises(ValueError, match="with a cache"):
        observed(trace_of(10, 10, arm="naive"), CPU)
    with pytest.raises(ValueError, match="2 tokens"):
        observed(trace_of(10), CPU)
    with pytest.raises(ValueError, match="probe the machine"):
        observed(trace_of(10, 10))
    with pytest.raises(ValueError, match="above 0"):
        replace(run_on_a100(1), tpot_s=0.0)


# ---- the proof -----------------------------------------------------------------------------------


def steps(*seconds: float) -> list:
    """The unchanged step of the 8B, half its bytes, twice its tokens, twice its context."""
    base = Pass(1, 512, dtype="float32")
    changes = ({}, {"dtype": "bfloat16"}, {"batch": 2}, {"context": 1024})
    costs = [roofline.cost_of(LLAMA, replace(base, **change)) for change in changes]
    return [(f"step {i}", cost, s) for i, (cost, s) in enumerate(zip(costs, seconds, strict=True))]


@pytest.mark.parametrize(
    ("seconds", "limiter"),
    [
        ((0.040, 0.0205, 0.041, 0.0405), "memory-bandwidth"),
        ((0.040, 0.040, 0.080, 0.041), "compute"),
        ((0.040, 0.041, 0.040, 0.040), "host-overhead"),
        ((0.040, 0.010, 0.160, 0.400), "undetermined"),
    ],
)
def test_the_account_that_the_times_follow_is_supported(seconds, limiter):
    assert prove(trials(steps(*seconds), None)).limiter == limiter


def test_with_roofs_the_time_of_the_unchanged_step_speaks_too():
    estimate = Estimate(compute_s=0.001, memory_s=0.040, overhead_s=0.002)
    pair = [Trial("as it is", estimate, 0.045), Trial("tokens", estimate, 0.044)]
    assert prove(pair).limiter == "memory-bandwidth"


def test_half_the_bytes_that_take_longer_are_left_out():
    """Then slower kernels ran. What is left can't tell bytes from the host, and says so."""
    found = prove(trials(steps(0.040, 0.090, 0.040, 0.040), None))
    assert found.limiter == "undetermined"
    assert "both fit" in found.reason


def test_no_bandwidth_verdict_for_a_step_that_fits_in_the_cache():
    proof = prove(trials(steps(0.040, 0.0205, 0.041, 0.0405), None))
    assert in_cache(proof, 3e6, 32_000_000).limiter == "undetermined"
    assert in_cache(proof, 3e9, 32_000_000) is proof
    assert in_cache(proof, 3e6, None) is proof


def test_a_proof_needs_a_change():
    with pytest.raises(ValueError, match="at least one"):
        prove(trials(steps(0.1, 0.1, 0.1, 0.1)[:1], None))
