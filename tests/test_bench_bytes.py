"""The benchmarks of compiled steps and of fewer bytes compute what they say."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace

import pytest
import torch

from labkit import compiled as compiled_steps
from labkit import models
from labkit.bench import compiled, llama_cpp, quantised
from labkit.cli import main
from labkit.generate import preallocated


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch):
    """Steps run as they are written: what is tested is the counting, not the compiler."""
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    monkeypatch.setattr(compiled_steps, "check_compiler", lambda device: None)


@pytest.fixture(scope="module")
def toy() -> models.Loaded:
    return models.load("toy", device="cpu", layout="plain")


def test_a_compiled_step_is_set_against_the_bandwidth_of_its_own_round(toy):
    roofs = iter([SimpleNamespace(read_bytes_per_s=1e9), SimpleNamespace(read_bytes_per_s=2e9)])
    share, gain, differ, again, _, eager_ms, ms, *_ = compiled.measure(
        toy, toy, rounds=2, new_tokens=6, probe=lambda device, quick: next(roofs)
    )
    prompt = len(toy.tokenizer.encode("Why is the sky blue?", chat=True))
    needed = compiled.bytes_needed(toy.shape, prompt + 3)
    first, second = (needed / (one * 1e-3) for one in ms.repeats)
    assert share.repeats == pytest.approx((first / 1e9, second / 2e9))
    assert gain.repeats == pytest.approx(
        tuple(e / c for e, c in zip(eager_ms.repeats, ms.repeats, strict=True))
    )
    assert (differ.repeats, again.repeats) == ((0,), (0,))


def test_the_bytes_needed_hold_no_copy_and_no_empty_slot(toy):
    """Weights and logits; keys and values of 10 positions read, and of one written."""
    shape = toy.shape
    position = 2 * shape.layers * shape.kv_heads * shape.head_dim * 4
    without = compiled.bytes_needed(shape, 1) - 2 * position
    assert compiled.bytes_needed(shape, 10) == without + 11 * position


def test_the_format_that_gains_most_carries_the_promise(toy, monkeypatch):
    monkeypatch.setattr(quantised, "PREFILL", 8)
    best, *figures = quantised.measure(toy, rounds=1, new_tokens=4)
    gains = {f.name.split(":")[0]: f.median for f in figures[:3]}
    assert best.median == max(gains.values())
    assert best.at_least == 1.8
    named = {f.name: f.median for f in figures}
    mega = {kind: named[next(n for n in named if n.startswith(f"{kind}, MB"))] for kind in gains}
    assert mega["bfloat16"] > mega["int8"] > mega["int4"]


def test_llama_cpp_takes_turns_with_the_lab(toy, monkeypatch):
    monkeypatch.setattr(llama_cpp, "find_spec", lambda name: True)
    monkeypatch.setattr(llama_cpp, "float32_gguf", lambda folder: None)
    monkeypatch.setattr(
        llama_cpp, "loop_of", lambda gguf, context: lambda *a: preallocated(toy.model, *a)
    )
    ratio, differ, ours, theirs = llama_cpp.measure(toy, rounds=3, new_tokens=4)
    assert ratio.repeats == pytest.approx(
        tuple(t / o for t, o in zip(theirs.repeats, ours.repeats, strict=True))
    )
    assert differ.repeats == (0,)


def test_without_llama_cpp_the_command_says_how_to_install_it(monkeypatch, capsys, toy):
    monkeypatch.setattr(llama_cpp, "find_spec", lambda name: None)
    monkeypatch.setattr(models, "load", lambda *a, **k: toy)
    assert main(["bench", "llama-cpp"]) == 2
    assert "pip install -e '.[llama-cpp]'" in capsys.readouterr().err


@pytest.mark.skipif(importlib.util.find_spec("gguf") is None, reason="no gguf here")
def test_a_gguf_file_is_expanded_with_its_metadata(tmp_path):
    """A Q8_0 block by hand: 32 weights of 2 · 0.5, kept exactly."""
    import gguf
    import numpy as np

    weights = np.ones((2, 32), dtype=np.float32)
    writer = gguf.GGUFWriter(tmp_path / "small.gguf", "llama")
    writer.add_block_count(7)
    writer.add_token_list(["a", "b"])
    quantised_rows = gguf.quantize(weights, gguf.GGMLQuantizationType.Q8_0)
    kind = gguf.GGMLQuantizationType.Q8_0
    writer.add_tensor("w", quantised_rows, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    llama_cpp.expand(tmp_path / "small.gguf", tmp_path / "large.gguf")
    copy = gguf.GGUFReader(tmp_path / "large.gguf")
    assert copy.get_field("llama.block_count").contents() == 7
    assert copy.get_field("tokenizer.ggml.tokens").contents() == ["a", "b"]
    assert copy.tensors[0].tensor_type == gguf.GGMLQuantizationType.F32
    assert np.allclose(copy.tensors[0].data, weights, atol=1e-2)
