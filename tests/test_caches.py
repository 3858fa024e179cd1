"""The cache's bytes, kind by kind, and the steps that append to it."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from transformers import DynamicCache, StaticCache

from labkit import caches, roofline
from labkit.measure.clock import cache_bytes
from labkit.sweeps import BadSweep


def test_the_formula_equals_the_tensors_for_every_kind_and_length():
    counted = list(caches.counts((16, 100)))
    assert {count.kind for count in counted} == set(caches.kinds())
    assert all(count.formula_bytes == count.tensor_bytes for count in counted)


def test_kinds_order_from_mha_down_to_mla():
    at = {kind: roofline.kv_bytes(shape, 16) for kind, shape in caches.kinds().items()}
    assert at["MHA"] == 4 * at["GQA"] == 8 * at["MQA"]
    assert at["MLA"] < at["MQA"]


def test_windows_stop_growing_and_half_of_them_halve_the_growth():
    shapes = caches.kinds()
    grown = {
        kind: roofline.kv_bytes(shapes[kind], 512) - roofline.kv_bytes(shapes[kind], 256)
        for kind in ("GQA", "half windows", "all windows")
    }
    assert grown["all windows"] == 0
    assert 2 * grown["half windows"] == grown["GQA"]


def test_a_filled_cache_is_as_large_as_one_that_a_prefill_filled(toy):
    cache = DynamicCache(config=toy.model.config)
    caches.fill(cache, caches.one_position(toy), 50)
    assert cache_bytes(cache) == roofline.kv_bytes(toy.shape, 50, dtype="float32")
    assert cache.get_seq_length() == 50


def test_steps_and_appends_alone_are_timed_in_turns_in_both_caches(toy):
    made = list(caches.decode_step(toy, [16, 64], rounds=2))
    steps = [
        f"{cache}: {part}" for cache in ("growing", "preallocated") for part in ("step", "append")
    ]
    assert Counter((r.name, r.length) for r in made) == {(s, n): 2 for s in steps for n in (16, 64)}
    for steps, appends in zip(made[::4], made[2::4], strict=True):
        assert 0 < appends.wall_ns < steps.wall_ns


def test_a_step_at_a_context_finds_all_earlier_positions_in_either_cache(toy, monkeypatch):
    seen, real = [], caches.generate.last_logits

    def watched(model, ids, mask=None, past=0, cache=None):
        seen.append((past, int(cache.get_seq_length())))
        return real(model, ids, mask, past, cache)

    monkeypatch.setattr(caches.generate, "last_logits", watched)
    list(caches.decode_step(toy, [16], rounds=1))
    steps = [pair for pair in seen if pair[0]]
    assert steps == [(15, 15), (15, 15), (17, 17), (17, 17)]  # warm-up: a step and an append each


def test_both_caches_lead_to_the_same_logits(toy):
    """The same keys and values in either: what is timed does the same work."""
    from labkit.generate import last_logits

    grown = DynamicCache(config=toy.model.config)
    fixed = StaticCache(config=toy.model.config, max_cache_len=40)
    ids = torch.arange(9)[None]
    with torch.inference_mode():
        for cache in (grown, fixed):
            last_logits(toy.model, ids, cache=cache)
        token = torch.tensor([[3]])
        logits = [last_logits(toy.model, token, past=9, cache=cache) for cache in (grown, fixed)]
    torch.testing.assert_close(*logits)


def test_appending_grows_one_cache_and_writes_into_the_other(toy):
    new = caches.one_position(toy)
    grown = DynamicCache(config=toy.model.config)
    fixed = StaticCache(config=toy.model.config, max_cache_len=40)
    for cache in (grown, fixed):
        caches.fill(cache, new, 9)
        caches.append(cache, new)
        assert int(cache.get_seq_length()) == 10
    assert [cache.layers[0].keys.shape[2] for cache in (grown, fixed)] == [10, 40]
    torch.testing.assert_close(fixed.layers[1].keys[:, :, 9], new[1][0][:, :, 0])


@pytest.mark.parametrize(("at", "rounds", "says"), [([8192], 5, "8,192"), ([8], 0, "1 or more")])
def test_what_can_not_be_timed_is_refused(toy, at, rounds, says):
    with pytest.raises(BadSweep, match=says):
        caches.decode_step(toy, at, rounds)
