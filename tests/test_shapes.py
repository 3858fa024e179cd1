"""A shape becomes the model that it describes, and a model's config becomes its shape again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_shapes import BY_FAMILY, SHAPES, build
from transformers import BertConfig, LlamaConfig, MistralConfig, Qwen3Config

from labkit import catalog
from labkit.models.shapes import FAMILIES, config_of, shape_of
from labkit.roofline import parameters, weight_bytes

by_family = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.family)


def test_every_family_has_a_small_shape():
    assert set(BY_FAMILY) == set(FAMILIES)


@by_family
def test_config_and_back_gives_the_same_shape(shape):
    assert shape_of(config_of(shape), shape.name) == shape


def test_config_and_back_gives_the_same_shape_for_every_known_model():
    for shape in catalog.models().values():
        assert shape_of(config_of(shape), shape.name) == shape


@by_family
def test_weight_bytes_equal_the_models_tensors_tied_ones_once(shape):
    tensors = build(shape).parameters()  # torch yields a shared tensor once
    assert weight_bytes(shape, "float32") == sum(t.numel() * t.element_size() for t in tensors)


def test_known_models_have_the_parameters_that_their_cards_state():
    published = {  # safetensors metadata of the model cards
        "GPT-2": 124_439_808,
        "GPT-2-XL": 1_557_611_200,
        "SmolLM2-135M": 134_515_008,
        "SmolLM2-360M": 361_821_120,
        "SmolLM2-1.7B": 1_711_376_384,
        "TinyLlama-1.1B": 1_100_048_384,
        "Llama-2-7B": 6_738_415_616,
        "Llama-2-13B": 13_015_864_320,
        "Llama-2-70B": 68_976_648_192,
        "Llama-3.2-1B": 1_235_814_400,
        "Llama-3.2-3B": 3_212_749_824,
        "Llama-3.1-8B": 8_030_261_248,
        "Llama-3.1-70B": 70_553_706_496,
        "Llama-3.1-405B": 405_853_388_800,
        "Qwen2.5-0.5B": 494_032_768,
        "Qwen2.5-7B": 7_615_616_512,
        "Qwen3-0.6B": 596_049_920,
        "Qwen3-8B": 8_190_735_360,
        "Qwen3-32B": 32_762_123_264,
        "Mistral-7B": 7_241_732_096,
        "Gemma-2-2B": 2_614_341_888,
        "Gemma-2-9B": 9_241_705_984,
        "Mixtral-8x7B": 46_702_792_704,
        "DeepSeek-V2-Lite": 15_706_484_224,
        # Its card counts 58 router biases of 256 numbers besides, which choose but don't compute.
        "DeepSeek-V3": 671_026_419_200 - 58 * 256,
    }
    assert {name: parameters(catalog.model(name)) for name in published} == published


def test_a_config_may_leave_kv_heads_and_head_size_out():
    config = LlamaConfig(hidden_size=64, num_attention_heads=4)
    shape = shape_of(config, "plain")
    assert (shape.kv_heads, shape.head_dim) == (4, 16)


def test_windows_are_read_from_the_config():
    assert shape_of(MistralConfig(sliding_window=None), "v0.3").window is None
    mixed = Qwen3Config(
        num_hidden_layers=4, use_sliding_window=True, sliding_window=64, max_window_layers=1
    )
    shape = shape_of(mixed, "mixed")
    assert (shape.window, shape.window_layers) == (64, 3)


def test_an_unknown_family_names_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown family 'bert'.*llama.*qwen3"):
        shape_of(BertConfig(), "BERT")


def test_a_shape_that_its_family_cannot_have_is_refused():
    llama = BY_FAMILY["llama"]
    with pytest.raises(ValueError, match="a llama can't have qk_norm of this shape"):
        config_of(replace(llama, qk_norm=True))
    with pytest.raises(ValueError, match="a llama can't have window, window_layers"):
        config_of(replace(llama, window=64, window_layers=2))


def test_a_variant_that_would_be_counted_wrong_is_refused():
    with pytest.raises(ValueError, match="only with attention_bias=False"):
        shape_of(LlamaConfig(attention_bias=True), "with biases")
