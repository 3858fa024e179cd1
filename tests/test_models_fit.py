"""Bytes of weights, KV cache and workspace, worked out by hand, and what is offered instead."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from toys import tiny_model
from transformers import DynamicCache

from labkit import catalog
from labkit.models import fit
from labkit.models.shapes import shape_of

CPU = torch.device("cpu")
GB = 10**9
# toy: 2 layers, hidden 64, 4 heads and 2 KV heads of 16, MLP 128, 512 tokens, head tied
TOY = catalog.model("toy")


@pytest.fixture
def free(monkeypatch):
    """Call it with the bytes that shall be free."""

    def set_free(size: float) -> None:
        monkeypatch.setattr(fit, "free_bytes", lambda device: int(size))

    return set_free


def test_weights_of_the_toy_counted_by_hand():
    attention = 64 * 64 + 2 * 64 * 32 + 64 * 64  # queries, keys and values, output
    layer = attention + 3 * 64 * 128 + 2 * 64  # gate, up, down; two norms
    assert fit.parameters(TOY) == 512 * 64 + 2 * layer + 64


def test_a_tied_head_is_counted_once():
    untied = replace(TOY, tied=False)
    assert fit.parameters(untied) - fit.parameters(TOY) == 512 * 64


@pytest.mark.parametrize("family", ["llama", "qwen3", "gpt2", "gemma2", "mistral"])
def test_the_cache_of_a_request_is_the_live_caches_bytes(family):
    model, tokens = tiny_model(family), 30
    kept = DynamicCache(config=model.config)
    model(input_ids=torch.zeros(2, tokens, dtype=torch.long), cache=kept, use_cache=True)
    live = sum(layer.keys.nbytes + layer.values.nbytes for layer in kept.layers)
    shape = shape_of(model.config, family)
    assert fit.Request(shape, torch.float32, tokens, batch=2).fit(0).kv_bytes == live


@pytest.mark.parametrize("family", ["llama", "qwen3", "gpt2", "gemma2", "mistral"])
@pytest.mark.parametrize("lengths", [[300], [300, 100, 299]])
def test_workspace_bounds_what_a_forward_pass_allocates(family, lengths):
    model, tokens, batch = tiny_model(family), max(lengths), len(lengths)
    mask = torch.tensor([[0] * (tokens - length) + [1] * length for length in lengths])
    inputs = {"input_ids": torch.zeros_like(mask), "attention_mask": mask, "logits_to_keep": 1}
    with torch.inference_mode(), torch.profiler.profile(profile_memory=True) as profile:
        model(**inputs, use_cache=False)
    bound = fit.workspace_bytes(shape_of(model.config, family), torch.float32, tokens, batch)
    assert 0.4 * bound < peak_bytes(profile) <= bound


def peak_bytes(profile) -> int:
    """The most bytes alive at once, from the profiler's record of each allocation and release."""
    alive = peak = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            alive += event.nbytes()
            peak = max(peak, alive)
    return peak


def test_what_needs_more_than_nine_tenths_of_free_memory_does_not_fit(free):
    free(1e12)
    needed = fit.fits(TOY, torch.float32, CPU, 100, 28).needed_bytes
    free(needed / 0.9 + 1)
    assert fit.fits(TOY, torch.float32, CPU, 100, 28).ok
    free(needed / 0.9 - 1)
    assert not fit.fits(TOY, torch.float32, CPU, 100, 28).ok


def test_the_remedy_names_a_smaller_dtype_and_a_smaller_model_that_do_fit(free):
    free(24 * GB)
    result = fit.fits(catalog.model("Llama-3.1-8B"), torch.float32, CPU, 512, 128)
    assert not result.ok
    assert result.remedy == "What would fit: bfloat16; or the smaller model Llama-3.2-3B."
    assert fit.fits(catalog.model("Llama-3.1-8B"), torch.bfloat16, CPU, 512, 128).ok
    assert fit.fits(catalog.model("Llama-3.2-3B"), torch.float32, CPU, 512, 128).ok


def test_the_remedy_names_the_longest_context_and_the_largest_batch_that_fit(free):
    free(1e12)
    request = fit.Request(TOY, torch.float32, tokens=500, batch=3)
    free(request.fit(0).needed_bytes / 0.9 + 1)
    remedy = fit.fits(TOY, torch.float32, CPU, 500, 500, batch=3).remedy
    assert "500 tokens, prompt and answer together" in remedy
    assert "a batch of 1" in remedy


def test_a_loaded_model_needs_no_memory_for_its_weights_and_no_other_dtype(free):
    free(1e12)
    assert fit.fits(TOY, torch.float32, CPU, 100, 28, loaded=True).weight_bytes == 0
    free(1e6)
    remedy = fit.fits(TOY, torch.float32, CPU, 4000, 4000, loaded=True).remedy
    assert "tokens, prompt and answer together" in remedy
    assert "bfloat16" not in remedy


def test_where_nothing_would_fit_the_remedy_is_more_memory(free):
    free(0)
    assert "more memory" in fit.fits(TOY, torch.float32, CPU, 1, 1).remedy


def test_the_sum_is_shown_with_its_parts(free):
    free(24 * GB)
    text = str(fit.fits(catalog.model("Llama-3.1-8B"), torch.bfloat16, CPU, 512, 128))
    assert text.startswith("weights 16.06 + KV cache 0.08 + workspace ")
    assert text.endswith("GB; 24.00 GB are free, 90% of them usable: fits.")
