"""Free memory: the machine's, or the container's where that is less."""

from __future__ import annotations

import gc
import weakref

import psutil
import pytest
import torch

from labkit.models import memory


def write(folder, **files):
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def test_a_containers_limit_minus_its_use_is_free_and_cached_files_count_as_free(tmp_path):
    stat = "anon 300\ninactive_file 200\n"
    write(tmp_path, memory__max="1000\n", memory__current="600\n", memory__stat=stat)
    assert memory.cgroup_free_bytes(tmp_path) == 1000 - 600 + 200


def test_version_1_of_cgroups_is_read_too(tmp_path):
    files = {"memory__limit_in_bytes": "1000", "memory__usage_in_bytes": "900"}
    write(tmp_path / "memory", **files, memory__stat="total_inactive_file 50")
    assert memory.cgroup_free_bytes(tmp_path) == 150


@pytest.mark.parametrize("limit", ["max", "9223372036854771712", ""])
def test_no_limit_is_none(tmp_path, limit):
    write(tmp_path, memory__max=limit, memory__current="600", memory__stat="")
    assert memory.cgroup_free_bytes(tmp_path) is None
    assert memory.cgroup_free_bytes(tmp_path / "nothing here") is None


def test_the_lower_of_machine_and_container_counts(monkeypatch):
    monkeypatch.setattr(memory, "cgroup_free_bytes", lambda: 1234)
    assert memory.free_bytes(torch.device("cpu")) == 1234
    monkeypatch.setattr(memory, "cgroup_free_bytes", lambda: 1 << 59)
    assert memory.free_bytes(torch.device("cpu")) <= psutil.virtual_memory().total


def test_what_torch_keeps_for_reuse_on_a_gpu_is_free(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (100, 1000))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 70)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 30)
    assert memory.free_bytes(torch.device("cuda", 0)) == 140


def test_out_of_memory_is_recognised_in_every_backends_words():
    with pytest.raises(RuntimeError) as real:
        torch.empty(1 << 60, dtype=torch.int8)
    mps = RuntimeError("MPS backend out of memory (MPS allocated: 1 GB)")
    for error in (real.value, mps, torch.OutOfMemoryError("CUDA"), MemoryError()):
        assert memory.is_out_of_memory(error)
    assert not memory.is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


def test_released_memory_takes_reference_cycles_along():
    gc.disable()
    try:
        tensor = torch.zeros(10)
        gone = weakref.ref(tensor)
        cycle = [tensor]
        cycle.append(cycle)
        del tensor, cycle
        memory.release_memory(torch.device("cpu"))
        assert gone() is None
    finally:
        gc.enable()
