"""Devices and number formats, on this machine and on machines imitated here."""

from __future__ import annotations

import pytest
import torch

from labkit.models.devices import default_device, devices, resolve_device, resolve_dtype
from labkit.models.errors import NoDevice

CPU, CUDA, MPS = torch.device("cpu"), torch.device("cuda", 0), torch.device("mps")


@pytest.fixture
def machine(monkeypatch):
    """Call it with what the machine shall have."""

    def set_machine(gpus: int = 0, mps: bool = False, bfloat16: bool = True) -> None:
        monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **options: bfloat16)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    return set_machine


def test_a_gpu_is_the_default_and_the_cpu_comes_last(machine):
    machine(gpus=2)
    assert devices() == [CUDA, torch.device("cuda", 1), CPU]
    assert default_device() == CUDA
    machine(mps=True)
    assert devices() == [MPS, CPU]
    machine()
    assert default_device() == CPU


def test_a_device_may_be_named_with_or_without_its_number(machine):
    machine(gpus=2)
    assert resolve_device("cuda") == CUDA
    assert resolve_device("cuda:1") == torch.device("cuda", 1)
    assert resolve_device("cpu:0") == resolve_device(CPU) == CPU
    assert resolve_device(None) == CUDA


@pytest.mark.parametrize("wish", ["cuda", "cuda:3", "mps", "xpu", "no such thing"])
def test_a_missing_device_is_refused_with_what_there_is(machine, wish):
    machine()
    with pytest.raises(NoDevice, match="this machine has cpu"):
        resolve_device(wish)


def test_no_cuda_says_what_to_install(machine):
    machine()
    with pytest.raises(NoDevice, match="CUDA build of PyTorch"):
        resolve_device("cuda")


def test_the_default_dtype_is_the_one_the_device_is_fast_in(machine):
    machine(gpus=1)
    assert resolve_dtype(None, CPU) == torch.float32
    assert resolve_dtype(None, CUDA) == torch.bfloat16
    machine(gpus=1, bfloat16=False)
    assert resolve_dtype(None, CUDA) == torch.float16


def test_a_dtype_may_be_a_name_and_an_odd_one_is_refused_with_the_choices():
    assert resolve_dtype("bfloat16", CPU) == torch.bfloat16
    assert resolve_dtype(torch.float32, CPU) == torch.float32
    with pytest.raises(NoDevice, match="use one of float32, bfloat16"):
        resolve_dtype("int8", CPU)
