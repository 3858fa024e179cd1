"""How much memory is free on a device, and what to do when it was not enough.

Free means what a new tensor may take now. A container's limit counts when it is tighter than the
machine's memory. Nothing here knows what a model needs (`fit` does).
"""

from __future__ import annotations

import gc
from pathlib import Path

import psutil
import torch

CGROUP = Path("/sys/fs/cgroup")
UNLIMITED = 1 << 60  # cgroup v1 writes "no limit" as a number near 2**63


def free_bytes(device: torch.device) -> int:
    """Bytes that can be allocated on `device` now."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0] + _cached_bytes(device)
    if device.type == "mps":
        return torch.mps.recommended_max_memory() - torch.mps.current_allocated_memory()
    free, limit = psutil.virtual_memory().available, cgroup_free_bytes()
    return free if limit is None else min(free, limit)


def _cached_bytes(device: torch.device) -> int:
    """Bytes torch's allocator keeps for reuse: taken for the driver, free for the next tensor."""
    return torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)


def cgroup_free_bytes(root: Path = CGROUP) -> int | None:
    """What the container may still take (cgroup v2, then v1); None where there is no limit.

    The kernel counts cached file pages as used although it drops them on demand, so they are added
    back.
    """
    for folder, limit, used, files in (
        (root, "memory.max", "memory.current", "inactive_file"),
        (root / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        limit_text, used_text = _text(folder / limit), _text(folder / used)
        if limit_text.isdigit() and used_text.isdigit() and int(limit_text) < UNLIMITED:
            cached = _stat(_text(folder / "memory.stat"), files)
            return max(0, int(limit_text) - int(used_text) + cached)
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:  # not Linux, no cgroup, or not ours to read: then there is no limit to honour
        return ""


def _stat(text: str, key: str) -> int:
    rows = (line.split() for line in text.splitlines())
    return next((int(row[1]) for row in rows if len(row) == 2 and row[0] == key), 0)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether `error` says that memory ran out, in the words of CUDA, MPS, the CPU or Python."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    text = str(error).lower()
    return "out of memory" in text or "can't allocate memory" in text


def release_memory(device: torch.device) -> None:
    """Give dead tensors' memory back. Drop every reference first, tracebacks too."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()
