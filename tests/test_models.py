"""One function loads every kind of model; what can't be loaded is refused with a remedy."""

from __future__ import annotations

import os
import subprocess
import sys
import weakref

import pytest
import torch
from small_shapes import BY_FAMILY
from test_models_text import word_text
from toys import tiny_model

from labkit import models
from labkit.models import fit, loading, store
from labkit.models.errors import NoDevice, OutOfMemory, TooLarge, UnknownModel

CPU = torch.device("cpu")


def weights(loaded) -> torch.Tensor:
    return loaded.model.model.layers[1].mlp.down_proj.weight


def test_the_toy_is_ready_to_generate():
    toy = models.load("toy", "cpu")
    assert (toy.name, toy.kind, toy.device, toy.dtype) == ("toy", "shape", CPU, torch.float32)
    assert not toy.model.training
    ids = torch.tensor([toy.tokenizer.encode("hi")])
    assert toy.model(input_ids=ids).logits.shape == (1, 2, toy.shape.vocab)
    assert toy.tokenizer.eos_ids == ()


def test_a_built_model_has_the_parameters_of_its_shape():
    toy = models.load("toy", "cpu")
    assert toy.model.num_parameters() == models.parameters(toy.shape)
    assert toy.model.lm_head.weight is toy.model.model.embed_tokens.weight


def test_weights_follow_the_seed_and_the_callers_random_numbers_go_on():
    torch.manual_seed(7)
    first = models.load("toy", "cpu", seed=1)
    drawn = torch.rand(3)
    torch.manual_seed(7)
    assert torch.equal(drawn, torch.rand(3))
    assert torch.equal(weights(first), weights(models.load("toy", "cpu", seed=1)))
    assert not torch.equal(weights(first), weights(models.load("toy", "cpu", seed=2)))


def test_dtype_and_attention_are_as_asked():
    toy = models.load("toy", "cpu", "bfloat16", attention="eager")
    assert {parameter.dtype for parameter in toy.model.parameters()} == {torch.bfloat16}
    assert toy.model.config._attn_implementation == "eager"
    assert models.load("toy", "cpu").model.config._attn_implementation == "sdpa"


@pytest.mark.parametrize("family", sorted(BY_FAMILY))
def test_a_shape_of_every_family_is_built_and_runs(family, monkeypatch):
    monkeypatch.setattr(loading.catalog, "models", lambda: {"small": BY_FAMILY[family]})
    monkeypatch.setattr(loading.catalog, "model", lambda name: BY_FAMILY[family])
    small = models.load("small", "cpu")
    ids = torch.tensor([small.tokenizer.encode("hello")])
    assert small.model(input_ids=ids).logits.isfinite().all()


def test_the_plain_layout_can_be_had():
    assert models.load("toy", "cpu", layout="plain").model.lm_head.weight.is_contiguous()
    assert not models.load("toy", "cpu").model.lm_head.weight.is_contiguous()


def test_a_local_folder_is_a_model_and_nothing_is_printed(tmp_path, capfd):
    tiny_model("qwen3").save_pretrained(tmp_path)
    word_text().tokenizer.save_pretrained(tmp_path)
    capfd.readouterr()
    loaded = models.load(str(tmp_path), "cpu")
    assert capfd.readouterr() == ("", "")
    assert (loaded.kind, loaded.shape.family, loaded.shape.layers) == ("hub", "qwen3", 2)
    ids = torch.tensor([loaded.tokenizer.encode("why sky")])
    ours, saved = loaded.model(input_ids=ids).logits, tiny_model("qwen3")(input_ids=ids).logits
    torch.testing.assert_close(ours, saved)


def test_a_family_the_lab_cant_count_loads_without_a_shape(tmp_path):
    from transformers import AutoModelForCausalLM, OPTConfig

    sizes = {"hidden_size": 32, "word_embed_proj_dim": 32, "ffn_dim": 64, "vocab_size": 101}
    config = OPTConfig(**sizes, num_hidden_layers=1, num_attention_heads=2)
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    word_text().tokenizer.save_pretrained(tmp_path)
    assert models.load(str(tmp_path), "cpu").shape is None


def test_progress_ends_with_ready_and_may_stop_the_work():
    seen = []
    models.load("toy", "cpu", progress=lambda stage, fraction: seen.append((stage, fraction)))
    assert seen == [("building", None), ("ready", 1.0)]

    def stop(stage, fraction):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        models.load("toy", "cpu", progress=stop)


def test_the_default_comes_first_among_the_choices_and_has_a_shape():
    name, shape = next(iter(models.choices().items()))
    assert name == shape.name == models.DEFAULT
    assert models.parameters(shape) == 134_515_008
    assert len(models.choices()) >= 9


def test_an_unknown_name_is_answered_with_its_neighbours():
    with pytest.raises(UnknownModel, match="Did you mean SmolLM2-135M-Instruct"):
        models.load("SmolLM2-135M-Instuct")


def test_a_missing_device_is_refused_before_anything_is_built(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(loading, "_build", lambda choice: pytest.fail("built"))
    with pytest.raises(NoDevice, match="device='cpu'"):
        models.load("toy", "cuda")


def test_what_is_too_large_is_refused_with_the_arithmetic_before_anything_is_built(monkeypatch):
    monkeypatch.setattr(fit, "free_bytes", lambda device: 24 * 10**9)
    monkeypatch.setattr(loading, "_seeded", lambda seed, device: pytest.fail("built"))
    with pytest.raises(TooLarge, match=r"weights 32\.12 .* 24\.00 GB are free.*bfloat16"):
        models.load("Llama-3.1-8B", "cpu", "float32")


def test_out_of_memory_while_loading_frees_what_was_built(monkeypatch):
    built = []

    def build(choice):
        half = torch.nn.Linear(100, 100)
        half.itself = [half]  # a cycle, as in real models: only the collector frees it
        built.append(weakref.ref(half))
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    monkeypatch.setattr(loading, "_build", build)
    with pytest.raises(OutOfMemory, match=r"Load a smaller model .*2\.00 GiB"):
        models.load("toy", "cpu")
    assert built[0]() is None


def test_other_errors_pass_through(monkeypatch):
    def build(choice):
        raise RuntimeError("a bug of ours")

    monkeypatch.setattr(loading, "_build", build)
    with pytest.raises(RuntimeError, match="a bug of ours"):
        models.load("toy", "cpu")


def test_importing_the_package_does_not_import_transformers():
    code = "import sys, labkit.models; sys.exit('transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture(scope="module")
def smollm2():
    """The default model, where it is already on disk or may be downloaded."""
    cached = store.Store(store.cache_folder()).is_complete(store.cache_folder() / models.DEFAULT)
    if not (cached or os.environ.get("CI")):
        pytest.skip("needs the default model: run the lab once, which downloads it, or set CI=1")
    return models.load(device="cpu")


def test_the_default_model_knows_the_capital_of_france(smollm2):
    ids = torch.tensor([smollm2.tokenizer.encode("The capital of France is")])
    with torch.inference_mode():
        new = smollm2.model.generate(ids, max_new_tokens=1, do_sample=False)[0, -1:]
    assert smollm2.tokenizer.decode(new) == " Paris"


def test_the_default_model_is_the_shape_that_the_catalogue_says(smollm2):
    assert smollm2.kind == "text"
    assert smollm2.shape == models.choices()[models.DEFAULT]
    assert smollm2.model.num_parameters() == models.parameters(smollm2.shape)


def test_the_default_model_has_a_chat_template_and_an_end_token(smollm2):
    text = smollm2.tokenizer
    turn = text.encode("Why is the sky blue?", chat=True)
    assert "<|im_start|>user\nWhy is the sky blue?<|im_end|>" in text.decode(turn)
    assert text.decode(text.eos_ids) == "<|im_end|>"
