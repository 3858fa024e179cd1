"""Attention back ends: the same result, the same FLOPs, another peak of memory."""

from __future__ import annotations

import pytest
import torch
from toys import SHAPE

from labkit import attention, roofline
from labkit.attention import NoBackEnd, compare, function_of, missing, peak_bytes
from labkit.bench import attention as bench
from labkit.sweeps import BadSweep, queries_keys_values

CPU = torch.device("cpu")
HERE = attention.available(CPU, torch.float32)


def test_a_cpu_has_torchs_own_kernels_and_no_package():
    assert {"eager", "sdpa: math", "sdpa: flash"} <= set(HERE)
    assert "flash-attn package" not in HERE


@pytest.mark.parametrize("name", HERE)
def test_every_back_end_gives_the_same_result(name):
    inputs = queries_keys_values(SHAPE, 50, torch.float32, CPU)
    ours = function_of(name)(*inputs)
    torch.testing.assert_close(ours, function_of("eager")(*inputs), rtol=1e-4, atol=1e-5)


def test_flash_never_holds_the_scores():
    found = {one.back_end: one for one in compare(SHAPE, at=(1024,), rounds=1)}
    scores = roofline.score_bytes(SHAPE, 1024, "float32")
    assert found["eager"].peak_bytes >= scores
    assert found["sdpa: flash"].peak_bytes < scores / 4
    assert "1,024 tokens" in str(found["eager"])


def test_written_scores_grow_with_the_square_of_the_length_and_flash_does_not():
    found = {
        (one.back_end, one.length): one.peak_bytes
        for one in compare(SHAPE, (768, 1536), ("eager", "sdpa: flash"), rounds=1)
    }
    assert found["eager", 1536] / found["eager", 768] == pytest.approx(4, rel=0.1)
    assert found["sdpa: flash", 1536] / found["sdpa: flash", 768] < 2.5


def test_the_peak_counts_what_stands_side_by_side_and_not_what_was_freed():
    def call():
        first = torch.empty(1000, dtype=torch.float32)  # 4,000 bytes
        del first
        second, third = torch.empty(1000), torch.empty(500)
        return second.shape, third.shape

    assert peak_bytes(call, CPU) == pytest.approx(6000, abs=200)


def test_a_back_end_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(NoBackEnd, match=r"flash-attn.*this machine has eager"):
        compare(SHAPE, at=(64,), back_ends=["flash-attn package"])
    with pytest.raises(NoBackEnd, match="unknown back end"):
        compare(SHAPE, at=(64,), back_ends=["magic"])
    assert "no kernel" in missing("sdpa: memory-efficient", CPU, torch.float32)


@pytest.mark.parametrize(("at", "rounds"), [((), 1), ((0,), 1), ((64,), 0)])
def test_what_can_not_be_timed_is_refused(at, rounds):
    with pytest.raises(BadSweep):
        compare(SHAPE, at=at, rounds=rounds)


def test_the_benchmark_promises_less_memory_and_shows_every_back_end():
    saved, *shown = bench.measure("toy", rounds=1, length=256)
    assert saved.at_least == bench.AT_LEAST
    assert len(shown) == 2 * len(HERE)


def test_scores_that_would_not_fit_are_refused():
    with pytest.raises(BadSweep, match="choose a shorter"):
        compare(SHAPE, at=(10_000_000,), back_ends=["eager"])
