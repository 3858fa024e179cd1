"""Which device and number format to use, from what this machine has.

Knows names and availability only: not how fast a device is (that is measured) and not how much
memory is free on it (`memory`).
"""

from __future__ import annotations

import torch

from .errors import NoDevice

REMEDY = {
    "cuda": "Install a CUDA build of PyTorch and an NVIDIA driver, or use device='cpu'.",
    "mps": "MPS needs a Mac with Apple silicon; use device='cpu'.",
}


def devices() -> list[torch.device]:
    """The devices of this machine, the one most likely to be fastest first, the CPU last."""
    found = [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        found.append(torch.device("mps"))
    return [*found, torch.device("cpu")]


def default_device() -> torch.device:
    """The first of `devices()`."""
    return devices()[0]


def dtypes(device: torch.device) -> tuple[torch.dtype, ...]:
    """The formats worth using on `device`, its default first.

    float32 comes first on a CPU: most CPUs lack fast 16-bit arithmetic, so there bfloat16 only
    saves memory. GPUs without native bfloat16 (before Ampere) get float16.
    """
    if device.type == "cpu":
        return torch.float32, torch.bfloat16
    if device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.float16, torch.float32
    return torch.bfloat16, torch.float16, torch.float32


def resolve_device(device: torch.device | str | None) -> torch.device:
    """`device` as one of `devices()`; None means the default. Raises NoDevice."""
    if device is None:
        return default_device()
    try:
        asked = torch.device(device)
    except RuntimeError as error:
        raise NoDevice(f"{device!r} is no device; this machine has {_names()}.") from error
    for found in devices():
        if found.type == asked.type and asked.index in (None, found.index or 0):
            return found
    remedy = REMEDY.get(asked.type, "Use one of these.")
    raise NoDevice(f"There is no {asked} here; this machine has {_names()}. {remedy}")


def resolve_dtype(dtype: torch.dtype | str | None, device: torch.device) -> torch.dtype:
    """`dtype` ("bfloat16", torch.bfloat16) as one that makes sense on `device`. Raises NoDevice."""
    fitting = dtypes(device)
    if dtype is None:
        return fitting[0]
    for known in fitting:
        if dtype in (known, dtype_name(known)):
            return known
    names = ", ".join(map(dtype_name, fitting))
    raise NoDevice(f"{dtype!r} is not offered on {device.type}: use one of {names}.")


def dtype_name(dtype: torch.dtype) -> str:
    """torch.float32 as "float32"."""
    return str(dtype).removeprefix("torch.")


def _names() -> str:
    return ", ".join(map(str, devices()))
