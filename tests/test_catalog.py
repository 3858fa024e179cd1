"""The data files: complete, plausible, sourced; and refused with the reason when they are not."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from small_shapes import BY_FAMILY

from labkit import catalog
from labkit.records.machine import Machine
from labkit.records.model_shape import Experts, ModelShape

SHAPE = {
    "name": "one",
    "family": "llama",
    "layers": 2,
    "hidden": 32,
    "heads": 4,
    "kv_heads": 2,
    "head_dim": 8,
    "mlp": 64,
    "vocab": 100,
    "max_context": 1000,
    "tied": False,
    "source": "by hand",
}


def test_there_are_20_models_of_every_kind_of_attention_and_25_machines():
    shapes = catalog.models().values()
    assert len(shapes) >= 20
    assert any(s.kv_heads == s.heads and not s.mla for s in shapes)  # MHA
    assert any(1 < s.kv_heads < s.heads for s in shapes)  # GQA
    assert any(s.kv_heads == 1 for s in shapes)  # MQA
    assert any(s.mla for s in shapes)
    assert any(s.window for s in shapes)
    assert any(s.experts for s in shapes)
    assert len(catalog.machines()) >= 25
    assert {m.device for m in catalog.machines().values()} == {"cpu", "cuda", "mps"}


def test_every_row_names_its_source():
    for row in (*catalog.models().values(), *catalog.machines().values()):
        assert row.source


def test_the_models_that_the_lessons_use_are_there():
    for name in ("toy", "SmolLM2-135M", "Llama-3.1-8B", "Qwen3-0.6B", "Qwen3-8B", "Llama-2-7B"):
        assert catalog.model(name).name == name
    for name in ("Mistral-7B", "GPT-2", "Gemma-2-2B", "Llama-3.1-405B"):
        assert catalog.model(name).name == name


def test_peaks_are_dense_not_the_doubled_sparse_figures():
    """NVIDIA's H100 SXM datasheet states 1,979 teraFLOPS for bfloat16 *with sparsity*."""
    assert catalog.machine("H100-SXM").peak_flops_per_s["bfloat16"] == pytest.approx(989.4e12)
    assert catalog.machine("L4").peak_flops_per_s["float16"] == pytest.approx(121e12)


def test_amx_does_1024_operations_a_cycle_in_bfloat16_and_2048_in_int8():
    """Intel's product brief of AMX; a multiply and an add are two operations there as here."""
    xeon = catalog.machine("Xeon-8480+")
    cycles_per_s = xeon.cores * 2.0e9
    assert xeon.peak_flops_per_s["bfloat16"] == 1024 * cycles_per_s
    assert xeon.peak_flops_per_s["int8"] == 2048 * cycles_per_s


def test_machines_are_plausible():
    """Peak FLOPs for each byte of bandwidth: 1 to 800; fewer bits are never slower than more."""
    for machine in catalog.machines().values():
        peaks = machine.peak_flops_per_s
        half = peaks.get("bfloat16") or peaks.get("float16") or peaks["float32"]
        assert 1 < half / machine.bandwidth_bytes_per_s < 800, machine.name
        assert peaks["float32"] <= half <= peaks.get("int8", half), machine.name
        assert machine.memory_bytes < 1e13, machine.name


def test_an_unknown_name_offers_the_nearest_ones():
    with pytest.raises(ValueError, match=r"Llama-3\.1-8B"):
        catalog.model("llama 3.1 8b")
    with pytest.raises(ValueError, match="RTX-4090"):
        catalog.machine("rtx4090")
    with pytest.raises(ValueError, match="choose from: T4, V100"):
        catalog.machine("?")


def load(tmp_path, *rows: dict):
    path = tmp_path / "models.json"
    path.write_text(json.dumps(rows))
    return catalog.read_rows(path, ModelShape)


def test_a_good_row_loads(tmp_path):
    assert load(tmp_path, SHAPE)["one"].kv_heads == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kv_heads": 3}, "row 1: one: 4 heads .*give kv_heads that divides heads"),
        ({"layers": 0}, "layers is 0; give 1 or more"),
        ({"window": 64}, "both window and window_layers"),
        ({"window": 64, "window_layers": 3}, "give 0 to 2"),
        ({"window": 1, "window_layers": 2}, "give 2 tokens or more"),
        ({"experts": {"count": 2, "active": 3, "mlp": 9}}, "at least 1 and at most all"),
        ({"mla": {"kv_rank": 4, "nope_dim": 4, "rope_dim": 4, "v_dim": 4}}, "kv_heads = heads"),
        ({"colour": "red"}, "has no field .*colour"),
        ({"source": ""}, "add `source`"),
        ({"heads": "four"}, "heads: expected a whole number"),
    ],
)
def test_a_wrong_row_is_named_with_what_to_change(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        load(tmp_path, SHAPE | change)


def test_a_missing_file_a_missing_field_and_a_name_twice_are_said(tmp_path):
    with pytest.raises(ValueError, match="install from a checkout"):
        catalog.read_rows(tmp_path / "none.json", ModelShape)
    with pytest.raises(ValueError, match=r"row 1: .*'vocab'"):
        load(tmp_path, {key: value for key, value in SHAPE.items() if key != "vocab"})
    with pytest.raises(ValueError, match="row 2: the name one is taken"):
        load(tmp_path, SHAPE, SHAPE)


def test_impossible_machines_and_mixtures_are_refused():
    row = {"name": "m", "device": "cuda", "memory_bytes": 1}
    with pytest.raises(ValueError, match="use cpu, cuda or mps"):
        Machine(**(row | {"device": "gpu"}))
    with pytest.raises(ValueError, match="above 0"):
        Machine(**row, bandwidth_bytes_per_s=-1.0)
    with pytest.raises(ValueError, match="leave a layer"):
        replace(BY_FAMILY["llama"], experts=Experts(4, 2, 10, dense_layers=3))


def test_the_physics_needs_no_torch():
    code = "import sys, labkit.catalog, labkit.roofline; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- machines as their drivers name them ---------------------------------------------------------


@pytest.mark.parametrize(
    ("system_name", "row"),
    [
        ("NVIDIA A100-SXM4-80GB", "A100-80GB"),
        ("NVIDIA A100-SXM4-40GB", "A100-40GB"),
        ("Tesla T4", "T4"),
        ("NVIDIA GeForce RTX 4090", "RTX-4090"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX-6000-Ada"),
        ("Apple M1 Max", "M1-Max"),
        ("Apple M1", "M1"),
        ("11th Gen Intel(R) Core(TM) i5-1135G7 @ 2.40GHz", "Core-i5-1135G7"),
        ("AMD EPYC 9654 96-Core Processor", "EPYC-9654"),
        ("NVIDIA H100 80GB HBM3", "H100-SXM"),
        ("NVIDIA H100 PCIe", "H100-PCIe"),
        ("NVIDIA H100 NVL", None),
        ("NVIDIA H200", "H200"),
        ("NVIDIA GeForce RTX 4090 D", None),
        ("Apple M1 Pro", None),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
        ("NVIDIA GeForce RTX 4080 SUPER", None),
        ("NVIDIA A10G", None),
        ("AMD EPYC", None),
        ("", None),
    ],
)
def test_a_machine_is_known_by_all_words_of_its_row_and_no_other_variants(system_name, row):
    found = catalog.known_as(system_name)
    assert (found.name if found else None) == row
