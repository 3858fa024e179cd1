"""The CPU's weight layout changes the order of bytes and nothing else."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from toys import tiny_model

from labkit.models.layout import cpu_layout, wants_cpu_layout

CPU, F32 = torch.device("cpu"), torch.float32


def test_tall_weights_lie_column_by_column_and_wide_ones_stay():
    model = nn.Sequential(nn.Linear(3, 8), nn.Linear(8, 8), nn.Linear(8, 3))
    before = [layer.weight.clone() for layer in model]
    assert cpu_layout(model) == 2
    assert [layer.weight.stride() for layer in model] == [(1, 8), (1, 8), (8, 1)]
    assert all(torch.equal(layer.weight, old) for layer, old in zip(model, before, strict=True))


def test_a_tied_head_is_turned_once_and_stays_tied():
    embedding, head = nn.Embedding(9, 4), nn.Linear(4, 9, bias=False)
    head.weight = embedding.weight
    ids, before = torch.tensor([0, 8]), embedding(torch.tensor([0, 8]))
    assert cpu_layout(nn.ModuleList([embedding, head])) == 1
    assert head.weight is embedding.weight
    assert head.weight.stride() == (1, 9)
    assert torch.equal(embedding(ids), before)


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma2"])
def test_both_layouts_generate_the_same_tokens(family):
    plain, fast = tiny_model(family), copy.deepcopy(tiny_model(family))
    cpu_layout(fast)
    ids = torch.arange(1, 13)[None]
    options = {"max_new_tokens": 64, "do_sample": False, "pad_token_id": 0}
    assert torch.equal(plain.generate(ids, **options), fast.generate(ids, **options))


def test_only_float32_on_a_cpu_is_turned():
    assert wants_cpu_layout("fast", CPU, F32)
    assert not wants_cpu_layout("plain", CPU, F32)
    assert not wants_cpu_layout("fast", CPU, torch.bfloat16)
    assert not wants_cpu_layout("fast", torch.device("cuda"), F32)
    with pytest.raises(ValueError, match="use one of fast, plain"):
        wants_cpu_layout("quick", CPU, F32)
