"""A model's folder is read whole or refused, with the reason and what to do."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from test_models_text import word_text
from toys import tiny_model

from labkit.models import files
from labkit.models.errors import NotUsable, UnknownModel

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A complete folder: config, weights, tokenizer."""
    folder = tmp_path_factory.mktemp("model")
    tiny_model("llama").save_pretrained(folder)
    word_text().tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    """A copy of it, to be broken."""
    return shutil.copytree(whole, tmp_path / "copy")


def change_config(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def read(folder):
    files.read_config(folder, "it")
    model = files.read_model(folder, "it", CPU, torch.float32, "sdpa")
    return model, files.read_text(folder, "it", model)


def test_a_whole_folder_gives_the_saved_model_and_its_tokenizer(whole):
    model, text = read(whole)
    ids = torch.tensor([[1, 2, 3]])
    assert torch.equal(model(input_ids=ids).logits, tiny_model("llama")(input_ids=ids).logits)
    assert text.decode(text.encode("why sky")) == "why sky"


def test_the_models_end_tokens_win_over_the_tokenizers(folder):
    assert read(folder)[1].eos_ids == (0,)  # the toy names none, its tokenizer "<eos>"
    generation = {"eos_token_id": [3, 4]}
    (folder / "generation_config.json").write_text(json.dumps(generation))
    assert read(folder)[1].eos_ids == (3, 4)


def test_a_folder_without_a_config_is_no_model(tmp_path):
    with pytest.raises(UnknownModel, match=r"no config\.json"):
        read(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"architectures": ["LlamaForSequenceClassification"]},
        {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]},
        {"model_type": "bert", "architectures": ["BertForMaskedLM"]},
    ],
)
def test_what_is_no_causal_lm_is_refused_by_the_class_it_names(folder, changes):
    change_config(folder, **changes)
    with pytest.raises(NotUsable, match=f"{changes['architectures'][0]}.*Choose a causal LM"):
        read(folder)


def test_code_that_comes_with_a_model_is_not_run(folder):
    (folder / "evil.py").write_text("raise SystemExit('the code ran')")
    change_config(folder, model_type="evil", auto_map={"AutoConfig": "evil.EvilConfig"})
    with pytest.raises(NotUsable, match="by itself"):
        read(folder)


@pytest.mark.parametrize("text", ["{", '{"model_type": "from the future"}', "{}"])
def test_a_config_that_cant_be_read_is_refused(folder, text):
    (folder / "config.json").write_text(text)
    with pytest.raises(NotUsable, match="family that it knows"):
        read(folder)


def test_pickled_weights_are_refused_unread(folder):
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    with pytest.raises(NotUsable, match=r"no safetensors.*save_pretrained"):
        read(folder)


def test_missing_weights_are_an_error_not_random_numbers(folder):
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(NotUsable, match=r"1 are missing.*up_proj"):
        read(folder)


def test_weights_of_another_shape_are_an_error_not_random_numbers(folder):
    change_config(folder, intermediate_size=64)
    with pytest.raises(NotUsable, match=r"6 are missing or have another shape"):
        read(folder)


def test_a_damaged_weight_file_is_refused(folder):
    (folder / "model.safetensors").write_bytes(b"\xff" * 100)
    with pytest.raises(NotUsable, match="can't be read"):
        read(folder)


def test_a_missing_tokenizer_is_named(folder):
    for path in folder.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(NotUsable, match=r"no tokenizer.*tokenizer\.save_pretrained"):
        read(folder)
