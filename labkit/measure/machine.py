"""Where a run takes place: the processor, its memory, and the versions of the software on it.

Knows what the system reports, not how fast the machine really is.
"""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

import psutil
import torch

from ..records import Machine


def this_machine(device: torch.device) -> Machine:
    """The card of the machine that holds `device`. What the system doesn't tell is None."""
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        return Machine(
            name=properties.name,
            device="cuda",
            memory_bytes=properties.total_memory,
            cores=properties.multi_processor_count,
            cache_bytes=getattr(properties, "L2_cache_size", None),
        )
    return Machine(
        name=cpu_name(),
        device=device.type,
        memory_bytes=psutil.virtual_memory().total,
        cores=usable_cores(),
        cache_bytes=last_level_cache_bytes(),
    )


def cpu_name() -> str:
    """The processor's marketing name where the system tells it, else its architecture."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def usable_cores() -> int | None:
    """Cores that this process may use, which in a container can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def last_level_cache_bytes() -> int | None:
    """Size of the largest cache that core 0 sees (Linux); None elsewhere."""
    sizes = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    kib = [int(path.read_text().strip().removesuffix("K")) for path in sizes]
    return max(kib) * 1024 if kib else None


@cache
def versions() -> dict[str, str]:
    """Versions of what decides the speed. Cached: they can't change while the process lives."""
    found = {name: version(name) for name in ("torch", "transformers", "labkit")}
    return {"python": platform.python_version(), "system": platform.platform(), **found}
