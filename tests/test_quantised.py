"""Fewer bits: what a weight becomes, what it weighs, and what the model still says."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from toys import PROMPT, SHAPE, tiny_model, tokens

from labkit import compiled, generate, lean, models, quantised, roofline
from labkit.models import ModelError
from labkit.perplexity import perplexity
from labkit.roofline.quantised import matrix_bytes, quantised_step


@pytest.fixture(scope="module")
def toy() -> models.Loaded:
    return models.load("toy", device="cpu")


# ---- numbers ------------------------------------------------------------------------------------


def test_the_largest_weight_of_a_row_becomes_127():
    """Row 0 by hand: scale 2.54 / 127 = 0.02, so 1.27 is 63.5 steps, and rounds to the even 64."""
    matrix = quantised.int8(torch.tensor([[2.54, -1.0, 1.27], [0.0, 0.0, 0.0]]))
    assert matrix.values.tolist() == [[127, -50, 64], [0, 0, 0]]
    assert matrix.scale[0].item() == pytest.approx(0.02)


def test_int8_misses_a_weight_by_half_a_step_at_most():
    weight = torch.randn(8, 48)
    matrix = quantised.int8(weight)
    error = (matrix.values * matrix.scale[:, None] - weight).abs()
    assert (error <= matrix.scale[:, None] * 0.5001).all()


def test_int4_hits_weights_that_lie_on_its_16_steps():
    """−8 … 7 in each group of 32: a step of 1 and a zero of 0, which bfloat16 holds exactly."""
    weight = torch.randint(-8, 8, (16, 64)).float()
    weight[:, [0, 32]], weight[:, [1, 33]] = -8, 7
    x = torch.randint(-4, 5, (3, 64)).float()
    assert torch.equal(quantised.product(quantised.int4(weight), x), x @ weight.t())


@pytest.mark.parametrize("make", [quantised.Rows, quantised.int8, quantised.int4])
def test_one_vector_and_many_give_the_same_products(make):
    torch.manual_seed(0)
    matrix, x = make(torch.randn(32, 64)), torch.randn(3, 64)
    alone = torch.stack([quantised.times(matrix, row) for row in x])
    torch.testing.assert_close(quantised.product(matrix, x), alone, rtol=2e-2, atol=2e-2)


# ---- models -------------------------------------------------------------------------------------


def loaded_tiny() -> models.Loaded:
    model = tiny_model("llama")
    where = (torch.device("cpu"), torch.float32)
    return models.Loaded(model, None, SHAPE, "tiny", "shape", *where)


def test_quantised_weights_stand_beside_the_original_which_keeps_its_own():
    loaded = loaded_tiny()
    before = tokens(generate.cached(loaded.model, [PROMPT], 8))
    fewer = quantised.quantised(loaded, "int8")
    assert fewer.weights == "int8"
    assert isinstance(fewer.model.lm_head, quantised.QuantisedLinear)
    assert fewer.model.model.norm.weight is loaded.model.model.norm.weight
    assert isinstance(loaded.model.lm_head, nn.Linear)
    assert tokens(generate.cached(loaded.model, [PROMPT], 8)) == before


def test_every_arm_says_the_same_with_the_same_rounded_weights(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    monkeypatch.setattr(compiled, "check_compiler", lambda device: None)
    fewer = quantised.quantised(loaded_tiny(), "int8").model
    expected = tokens(generate.naive(fewer, [PROMPT], 40))
    assert tokens(generate.cached(fewer, [PROMPT], 40)) == expected
    assert tokens(lean.lean(fewer)([PROMPT], 40)) == expected


def test_bfloat16_halves_the_weights():
    fewer = quantised.quantised(loaded_tiny(), "bfloat16")
    assert fewer.dtype == fewer.model.dtype == torch.bfloat16
    whole = quantised.stored_bytes(loaded_tiny().model)
    assert 2 * quantised.stored_bytes(fewer.model) == whole


def test_a_cache_in_8_bits_is_a_quarter_of_one_in_float32():
    model = tiny_model("llama")
    *_, last = generate.cached(model, [PROMPT], 4, cache=quantised.kv8(model))
    held = sum(layer._quantized_keys[0].nbytes for layer in last.cache.layers)
    assert held == 2 * 2 * 12 * 12  # layers, KV heads, numbers of a head, positions; a byte each


@pytest.mark.parametrize(
    ("kind", "device", "words"),
    [
        ("int3", "cpu", "choose from bfloat16, int8, int4"),
        ("int4", "cpu", "multiples of 16 × 32: choose int8"),  # 48 wide
        ("int4", "cuda", "CPUs here: choose int8"),
    ],
)
def test_what_cannot_be_had_names_what_can(kind, device, words):
    loaded = models.Loaded(
        tiny_model("llama"), None, SHAPE, "tiny", "shape", torch.device(device), torch.float32
    )
    with pytest.raises(ModelError, match=words):
        quantised.quantised(loaded, kind)


# ---- bytes --------------------------------------------------------------------------------------


def test_bytes_of_scales_by_hand():
    """10 rows of 64: int8 640 + 10 · 4; int4 320 + 20 groups · 4; bfloat16 has no scales."""
    assert matrix_bytes(640, 10, "int8") == 680
    assert matrix_bytes(640, 10, "int4") == 400
    assert matrix_bytes(640, 10, "bfloat16") == 1280


def test_the_theory_counts_the_bytes_of_the_tensors():
    """Besides the weights: an embedding row, the logits, and the last norm, once each."""
    cost = quantised_step(SHAPE, context=10, dtype="int8")
    stored = quantised.stored_bytes(quantised.quantised(loaded_tiny(), "int8").model)
    assert cost.weight_bytes == stored + 4 * (SHAPE.hidden + SHAPE.vocab)


def test_without_rounding_a_step_costs_what_it_always_did():
    plain = roofline.decode_step(SHAPE, 10, dtype="float32")
    assert quantised_step(SHAPE, 10, "float32") == plain


# ---- perplexity ---------------------------------------------------------------------------------


class Even(nn.Module):
    """Finds all of 7 tokens equally likely."""

    device = torch.device("cpu")

    def forward(self, input_ids, use_cache):
        return type("Out", (), {"logits": torch.zeros(*input_ids.shape, 7)})


def test_a_model_that_knows_nothing_hesitates_between_all_tokens():
    assert perplexity(Even(), [1, 2, 3]) == pytest.approx(7)
    with pytest.raises(ValueError, match="2 tokens"):
        perplexity(Even(), [1])


def test_rounded_weights_move_the_perplexity_a_little():
    loaded = loaded_tiny()
    before, after = (
        perplexity(model, PROMPT)
        for model in (loaded.model, quantised.quantised(loaded, "int8").model)
    )
    assert before != after
    assert abs(math.log(after / before)) < 0.5
