"""The shape of each lesson's curve, measured: what rises, what stays flat. No milliseconds.

A model small enough to be quick and large enough that its products, not Python, take the time. The
bounds are wide, since other work may disturb a pass; each curve would have to change its kind to
cross them.
"""

from __future__ import annotations

import pytest
import torch
from transformers import AutoModelForCausalLM

from labkit import caches, experiments, models, roofline, sweeps
from labkit.experiments import RaceRequest
from labkit.models.shapes import config_of
from labkit.records import ModelShape
from labkit.records.passes import Pass
from labkit.sweeps_passes import PassRun, time_all

SHAPE = ModelShape("curves", "llama", 4, 256, 8, 8, 32, 1024, 2048, 8192, tied=True)


@pytest.fixture(scope="module")
def loaded() -> models.Loaded:
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config_of(SHAPE)).eval()
    text = models.load("toy").tokenizer
    return models.Loaded(model, text, SHAPE, "curves", "shape", torch.device("cpu"), torch.float32)


def seconds(loaded: models.Loaded, *passes: Pass) -> list[float]:
    """The fastest try of each: what other work adds is never negative."""
    runs = [PassRun("curve", what, loaded) for what in passes]
    for _ in time_all(runs):
        pass
    return [min(run.wall_ns) * 1e-9 for run in runs]


def later_step(loaded: models.Loaded, arm: str, prompt: int) -> float:
    """The fastest of a few steps right behind a prompt of that length."""
    request = RaceRequest(loaded, prompt=prompt, new_tokens=5, arms=(arm,))
    (run,) = experiments.prepare(request, loaded)
    for _ in experiments.steps(request, [run]):
        pass
    return min(run.trace().itl_s)


def test_a_naive_step_rises_with_the_text_and_a_cached_one_stays_near_flat(loaded):
    naive = [later_step(loaded, "naive", prompt) for prompt in (64, 1024)]
    cached = [later_step(loaded, "cached", prompt) for prompt in (64, 1024)]
    assert naive[1] > 4 * naive[0]
    assert cached[1] < 3 * cached[0]
    assert naive[1] > 4 * cached[1]


def test_ttft_is_flat_for_short_prompts_and_doubles_with_long_ones(loaded):
    one, four, long, longer = seconds(loaded, *(Pass(n, n) for n in (1, 4, 512, 1024)))
    assert four < 3 * one
    assert 1.5 < longer / long < 4
    assert longer > 10 * one


def test_a_step_is_nearly_free_for_more_tokens_and_in_the_end_rises_with_them(loaded):
    one, four, many, most = seconds(loaded, *(Pass(1, 16, batch) for batch in (1, 4, 128, 512)))
    assert four < 3 * one
    assert most > 2 * many
    assert most > 5 * one


def test_appending_to_a_growing_cache_rises_with_its_bytes_and_to_a_preallocated_one_does_not(
    loaded,
):
    found = {}
    for repeat in caches.decode_step(loaded, (512, 4096), rounds=5):
        key = (repeat.name, repeat.length)
        found[key] = min(repeat.wall_ns, found.get(key, repeat.wall_ns))
    bytes_ratio = roofline.kv_bytes(SHAPE, 4096) / roofline.kv_bytes(SHAPE, 512)
    grown = found["growing: append", 4096] / found["growing: append", 512]
    assert 2 < grown < 4 * bytes_ratio
    assert found["preallocated: append", 4096] < 0.5 * found["growing: append", 4096]


def test_attention_grows_faster_than_the_rest_of_a_naive_pass(loaded):
    found = {}
    for repeat in sweeps.naive_pass(loaded, (128, 1024), rounds=3):
        key = (repeat.name, repeat.length)
        found[key] = min(repeat.wall_ns, found.get(key, repeat.wall_ns))
    attention, rest = (
        found[part, 1024] / found[part, 128] for part in (sweeps.ATTENTION, sweeps.REST)
    )
    assert attention > rest
